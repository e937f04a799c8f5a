//! Charts that were made to take our memory.

use std::io::Read;
use std::process::Command;
use std::thread;

use proptest::prelude::*;

use super::*;

#[path = "../../../../../../fuzz/bodies/chart.rs"]
mod fuzz_chart;
#[path = "../../../../../../fuzz/bodies/schema.rs"]
mod fuzz_schema;

/// For all of them; the limit of the operator's pod is 256 MiB.
const MEMORY_LIMIT: usize = 48 << 20;
const ALONE: &str = "READS_HOSTILE_CHARTS";

#[test]
fn hostile_charts_take_little_memory() {
    // In a process of its own: the kernel knows the peak of a whole process only.
    if std::env::var_os(ALONE).is_none() {
        let (_, module) = module_path!().split_once("::").unwrap();
        let name = format!("{module}::hostile_charts_take_little_memory");
        let mut alone = Command::new(std::env::current_exe().unwrap());
        let alone = alone.args(["--exact", &name, "--nocapture"]).env(ALONE, "1").output().unwrap();
        let told = String::from_utf8_lossy(&alone.stdout) + String::from_utf8_lossy(&alone.stderr);
        assert!(alone.status.success() && told.contains("1 passed"), "{told}");
        return;
    }
    let charts = hostile();
    let before = peak_memory();
    for (name, archive) in charts {
        thread::scope(|scope| {
            for _ in 0..ArtifactRef::AT_ONCE {
                scope.spawn(|| fuzz_chart::run(&archive));
            }
        });
        let taken = peak_memory() - before;
        println!("{name}: {} KiB more than {} KiB", taken >> 10, before >> 10);
        assert!(taken < MEMORY_LIMIT, "{name}: {} MiB", taken >> 20);
    }
}

/// The most memory that this process has had.
fn peak_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// For each way in which a small file can become large.
fn hostile() -> Vec<(&'static str, Vec<u8>)> {
    let many = |one: &str, size: usize| vec![one; size / (one.len() + 1)].join(",");
    let numbered = |one: fn(usize) -> String, count: usize| (0..count).map(one).collect::<Vec<_>>().join(",");
    let two_mib = (2 << 20) - 100;
    let schema = |text: String| {
        chart(&[("web/Chart.yaml", CHART.as_bytes()), ("web/values.schema.json", text.as_bytes())])
    };
    let yaml = |text: String| chart(&[("web/Chart.yaml", format!("{CHART}{text}\n").as_bytes())]);
    let deep = format!("{}{{}}{}", r#"{"allOf":["#.repeat(30), "]}".repeat(30));
    let long_key = format!(
        r#"{{"properties":{{"{}":{{"properties":{{{}}}}}}}}}"#,
        "k".repeat(two_mib - 10_000),
        numbered(|number| format!(r#""{number}":{{"deprecated":true}}"#), 250)
    );
    vec![
        ("empty schemas", schema(format!(r#"{{"allOf":[{}]}}"#, many("{}", two_mib)))),
        (
            "many keys",
            schema(format!(
                r#"{{"properties":{{{}}}}}"#,
                numbered(|number| format!(r#""{number}":{{}}"#), two_mib / 12)
            )),
        ),
        ("deep schemas", schema(format!(r#"{{"allOf":[{}]}}"#, many(&deep, two_mib)))),
        ("a long key with many below it", schema(long_key)),
        ("empty lists", schema(format!("[{}]", many("[]", two_mib)))),
        ("empty lists below a keyword", schema(format!(r#"{{"properties":[{}]}}"#, many("[]", two_mib)))),
        ("empty objects", schema(format!(r#"{{"x":{{"y":[{}]}}}}"#, many("{}", two_mib)))),
        ("empty texts", schema(format!(r#"{{"enum":[{}]}}"#, many(r#""""#, two_mib)))),
        ("a long description", schema(format!(r#"{{"description":"{}"}}"#, "a ".repeat(two_mib / 2)))),
        ("nesting without end", schema("[".repeat(two_mib))),
        ("a long name", extended(b'L')),
        ("a long extension", extended(b'x')),
        ("YAML lists", yaml(format!("x: [{}]", many("[]", 250_000)))),
        ("YAML keys", yaml(numbered(|number| format!("{number}:"), 25_000).replace(',', "\n"))),
        ("an anchored YAML list", yaml(format!("x: &x [{}]\ny: *x", many("[]", 250_000)))),
        ("YAML anchors", yaml(format!("x: [{}]", numbered(|number| format!("&a{number} []"), 20_000)))),
        ("nested YAML anchors", yaml(format!("x: {}", "&a [".repeat(60_000)))),
        ("YAML nesting", yaml(format!("x: {}", "[".repeat(250_000)))),
        ("a long YAML text", yaml(format!("description: {}", "x ".repeat(125_000)))),
    ]
}

/// An archive with 60 MiB that describe the entry after them.
fn extended(kind: u8) -> Vec<u8> {
    let size = 60 << 20;
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::new(kind));
    header.set_size(size);
    header.set_cksum();
    builder.append(&header, std::io::repeat(b'x').take(size)).unwrap();
    builder.into_inner().unwrap().finish().unwrap()
}

/// Pieces that bring the readers into every state they have.
const PIECES: [&str; 30] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    " ",
    "\\",
    "true",
    "false",
    "null",
    "1",
    "-0.5e3",
    "\"a\":",
    "\"$ref\":",
    "\"#\"",
    "\"#/$defs/a\"",
    "\"#/properties/a/allOf/0\"",
    "\"$defs\":{",
    "\"definitions\":{",
    "\"properties\":{",
    "\"allOf\":[",
    "\"deprecated\":true",
    "\"description\":\"x\"",
    "é",
    "\"a\":{",
    "{}",
    "[]",
    "\n",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_schema_ends_the_program(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60)) {
        fuzz_schema::run(pieces.concat().as_bytes());
    }

    #[test]
    fn no_archive_ends_the_program(
        path in "(web/)?(Chart.yaml|values.schema.json|x)",
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60),
    ) {
        fuzz_chart::run(pieces.concat().as_bytes());
        let content = pieces.concat();
        fuzz_chart::run(&chart(&[("web/Chart.yaml", CHART.as_bytes()), (&path, content.as_bytes())]));
    }
}
