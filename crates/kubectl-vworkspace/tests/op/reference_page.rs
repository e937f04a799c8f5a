//! The reference page tells every command, every option and every field.

use std::path::Path;

use clap::CommandFactory;
use kubectl_vworkspace::cli::Cli;

fn file(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn page() -> String {
    file("../../docs/reference/cli-op.md")
}

#[test]
fn every_command_and_option_is_on_the_page() {
    let (root, page) = (Cli::command(), page());
    let op = root.find_subcommand("op").unwrap();
    for command in op.get_subcommands() {
        let name = command.get_name();
        assert!(page.contains(&format!("op {name}")), "op {name}");
        for option in command.get_arguments().filter_map(clap::Arg::get_long).filter(|long| *long != "help") {
            assert!(
                page.contains(&format!("`--{option}")) || page.contains(&format!(" --{option}")),
                "op {name} --{option}"
            );
        }
    }
}

#[test]
fn every_field_of_the_json_is_on_the_page() {
    let page = page();
    for recorded in
        ["list__json_is_as_recorded", "show__json_is_as_recorded", "templates__one_template_is_as_recorded-2"]
    {
        let recorded = file(&format!("tests/op/snapshots/op__{recorded}.snap"));
        let fields = recorded.lines().filter_map(|line| line.trim().strip_prefix('"')?.split_once("\": "));
        for (field, _) in fields {
            // What stands below these is somebody else's.
            if !["backupName", "warnings", "retention", "snapshotVolumes"].contains(&field) {
                assert!(
                    page.contains(&format!("`{field}`")) || page.contains(&format!("\"{field}\"")),
                    "{field}"
                );
            }
        }
    }
}
