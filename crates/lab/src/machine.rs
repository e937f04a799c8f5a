//! What this machine must have, how to tell, and what to do about each lack. Debian packages are installed without asking:
//! there is no other way on a bare machine, and the README says so.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use rustix::fs::statvfs;

use crate::paths::Paths;
use crate::unmet::Unmet;

/// Program that must be there, and the Debian package that brings it.
const PACKAGES: [(&str, &str); 10] = [
    ("containerd", "containerd"),
    ("runc", "runc"),
    ("/usr/lib/cni/ptp", "containernetworking-plugins"),
    ("iptables", "iptables"),
    ("ip", "iproute2"),
    ("/bin/busybox", "busybox-static"),
    ("unshare", "util-linux"),
    (MUSL_COMPILER, "musl-tools"),
    (WRONG_CLOCK, "libfaketime"),
    // The guide's commands use it.
    ("jq", "jq"),
];
/// Compiles the parts in C of static programs.
pub(crate) const MUSL_COMPILER: &str = "musl-gcc";
/// Tells the programs that load it a wrong time.
pub(crate) const WRONG_CLOCK: &str = if cfg!(target_arch = "aarch64") {
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1"
} else {
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
};
const OLDEST_GO: (u32, u32, u32) = (1, 25, 7);
const OLDEST_RUST: (u32, u32, u32) = (1, 95, 0);
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// Go's caches, sources and built programs, per minute of building; measured: 16 GiB for everything, 29 minutes.
const DISK_PER_MINUTE: u64 = GIB * 7 / 10;
const DISK_TO_RUN: u64 = 3 * GIB;
const MEMORY_TO_RUN: u64 = 3 * GIB;

/// One prerequisite: what was found, or what to do.
pub(crate) struct Check {
    pub(crate) what: &'static str,
    pub(crate) found: Result<String, String>,
}

/// Everything that the lab needs, for `doctor`.
pub(crate) fn checks(paths: &Paths, minutes_to_build: u32) -> Vec<Check> {
    vec![
        Check { what: "root", found: root() },
        Check { what: "system", found: system() },
        Check { what: "folders", found: folders(paths) },
        Check { what: "Debian packages", found: packages() },
        Check { what: "C compiler", found: compiler() },
        Check { what: "Go", found: go() },
        Check {
            what: "Rust",
            found: version("rustc", &["--version"], OLDEST_RUST, "run rustup update stable"),
        },
        Check { what: "cgroups", found: cgroups() },
        Check { what: "disk to run", found: disk(&paths.state, DISK_TO_RUN) },
        Check { what: "disk to build", found: disk(&paths.cache, disk_to_build(minutes_to_build)) },
        Check { what: "memory", found: memory() },
    ]
}

/// Before anything of a lab is touched.
pub(crate) fn must_be_root() -> Result<()> {
    root().map_err(Unmet::new)?;
    Ok(())
}

/// Before a node is started: all that can be seen, and the packages installed.
pub(crate) fn can_run(paths: &Paths) -> Result<()> {
    for found in [root(), system(), folders(paths), cgroups(), disk(&paths.state, DISK_TO_RUN), memory()] {
        found.map_err(Unmet::new)?;
    }
    install_packages()?;
    compiler().map_err(Unmet::new)?;
    Ok(())
}

/// Before components are built that take so many minutes.
pub(crate) fn can_build(paths: &Paths, minutes: u32) -> Result<()> {
    for found in [go(), disk(&paths.cache, disk_to_build(minutes))] {
        found.map_err(Unmet::new)?;
    }
    Ok(())
}

/// Before a program of this checkout is built for an image.
pub(crate) fn can_build_static() -> Result<()> {
    if is_there(MUSL_COMPILER) { Ok(()) } else { install_packages() }
}

fn go() -> Result<String, String> {
    version("go", &["version"], OLDEST_GO, "install Go")
}

fn disk_to_build(minutes: u32) -> u64 {
    DISK_PER_MINUTE * u64::from(minutes)
}

/// The node covers some folders with its own.
fn folders(paths: &Paths) -> Result<String, String> {
    for (folder, variable) in [(&paths.state, "XDG_STATE_HOME"), (&paths.cache, "XDG_CACHE_HOME")] {
        if let Some(covered) =
            ["/var/lib", "/var/log", "/run", "/proc"].iter().find(|covered| folder.starts_with(covered))
        {
            let folder = folder.display();
            return Err(format!(
                "{folder} is below {covered}, which the node covers; set {variable} to another folder"
            ));
        }
    }
    Ok(paths.state.display().to_string())
}

pub(crate) fn not_running(paths: &Paths) -> anyhow::Error {
    let lab = paths.lab();
    let name = if lab == crate::cli::DEFAULT_LAB { String::new() } else { format!("--name {lab} ") };
    Unmet::new(format!("lab '{lab}' is not running; start it with: cargo lab {name}up")).into()
}

fn root() -> Result<String, String> {
    if rustix::process::geteuid().is_root() {
        Ok("yes".to_owned())
    } else {
        Err("this user is not root, and containers need it; run: sudo -E env \"PATH=$PATH\" cargo lab ..."
            .to_owned())
    }
}

fn system() -> Result<String, String> {
    let system = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    if std::env::consts::OS != "linux" {
        return Err(format!("this is {system}; the lab needs Linux, for example in a virtual machine"));
    }
    let file_systems = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if file_systems.contains("overlay") {
        Ok(system)
    } else {
        Err("the kernel has no overlay file system, which containers need; run: modprobe overlay".to_owned())
    }
}

fn missing_packages() -> Vec<&'static str> {
    PACKAGES.iter().filter(|(program, _)| !is_there(program)).map(|(_, package)| *package).collect()
}

fn packages() -> Result<String, String> {
    let missing = missing_packages();
    if missing.is_empty() {
        Ok("all there".to_owned())
    } else {
        Err(format!("missing: {0}; up installs them, or run: apt-get install {0}", missing.join(" ")))
    }
}

/// Installs what is missing with apt-get.
fn install_packages() -> Result<()> {
    let missing = missing_packages();
    if missing.is_empty() {
        return Ok(());
    }
    if !is_there("apt-get") {
        let list = missing.join(" ");
        return Err(Unmet::new(format!(
            "missing: {list}, and there is no apt-get; install them in your system's way"
        ))
        .into());
    }
    eprintln!("lab: installing Debian packages: {}", missing.join(" "));
    apt_get(&["update", "--quiet"])?;
    let install = ["install", "--yes", "--quiet", "--no-install-recommends"];
    apt_get(&install.iter().chain(&missing).copied().collect::<Vec<_>>())?;
    packages().map_err(Unmet::new)?;
    Ok(())
}

fn apt_get(arguments: &[&str]) -> Result<()> {
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    let output = command.output().context("failed to run apt-get")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        Unmet::new(format!("apt-get {} failed: {}", arguments.join(" "), said.trim()))
    );
    Ok(())
}

fn compiler() -> Result<String, String> {
    if is_there("cc") {
        Ok("cc".to_owned())
    } else {
        Err("there is no cc; run: apt-get install gcc libc6-dev".to_owned())
    }
}

fn cgroups() -> Result<String, String> {
    let version_2 = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
    if version_2 {
        return Ok("version 2".to_owned());
    }
    let needed = ["cpu", "cpuset", "memory", "pids", "devices", "freezer"];
    let missing: Vec<&str> =
        needed.into_iter().filter(|name| !Path::new("/sys/fs/cgroup").join(name).is_dir()).collect();
    if missing.is_empty() {
        Ok("version 1".to_owned())
    } else {
        Err(format!("cgroup controllers missing below /sys/fs/cgroup: {}; mount them", missing.join(" ")))
    }
}

fn disk(folder: &Path, needed: u64) -> Result<String, String> {
    // The folder may not exist yet; its file system does.
    let existing = folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    let free =
        statvfs(existing).map(|disk| disk.f_bavail * disk.f_frsize).map_err(|error| error.to_string())?;
    enough_disk(folder, free, needed)
}

fn enough_disk(folder: &Path, free: u64, needed: u64) -> Result<String, String> {
    let (shown, folder) = (amount(free), folder.display());
    if free >= needed {
        return Ok(format!("{shown} free for {folder}"));
    }
    let needed = amount(needed);
    Err(format!("{shown} free for {folder}, {needed} needed; free some on the disk of this folder"))
}

/// `716 MiB`, `3.0 GiB`; rounded down.
fn amount(bytes: u64) -> String {
    if bytes < GIB {
        return format!("{} MiB", bytes / MIB);
    }
    format!("{}.{} GiB", bytes / GIB, bytes % GIB * 10 / GIB)
}

fn memory() -> Result<String, String> {
    let text = fs::read_to_string("/proc/meminfo").map_err(|error| error.to_string())?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes: u64 =
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default();
    let (available, needed) = (kibibytes * 1024, MEMORY_TO_RUN);
    let shown = format!("{} available", amount(available));
    if available >= needed {
        Ok(shown)
    } else {
        Err(format!("{shown}, {} needed; stop something", amount(needed)))
    }
}

fn version(
    program: &str,
    arguments: &[&str],
    oldest: (u32, u32, u32),
    remedy: &str,
) -> Result<String, String> {
    let (major, minor, patch) = oldest;
    let advice = format!("{remedy} {major}.{minor}.{patch} or newer and put it on the PATH");
    let output = Command::new(program).args(arguments).output();
    let said = output.map_err(|error| format!("failed to run {program}: {error}; {advice}"))?;
    let said = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    match version_in(&said) {
        Some(found) if found >= oldest => Ok(format!("{}.{}.{}", found.0, found.1, found.2)),
        _ => Err(format!("'{said}' is too old; {advice}")),
    }
}

/// The first thing in a text that looks like a version.
fn version_in(text: &str) -> Option<(u32, u32, u32)> {
    text.split([' ', '-']).find_map(|word| {
        let mut numbers = word.trim_start_matches("go").split('.').map(str::parse::<u32>);
        let (major, minor) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        Some((major, minor, numbers.next().and_then(Result::ok).unwrap_or(0)))
    })
}

/// A path that exists, or a program on the PATH.
fn is_there(program: &str) -> bool {
    if program.starts_with('/') {
        return Path::new(program).exists();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Debian keeps system programs where a plain user's PATH may not look; the node's does.
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(system).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_tools_say() {
        assert_eq!(version_in("go version go1.26.8 linux/amd64"), Some((1, 26, 8)));
        assert_eq!(version_in("rustc 1.95.0 (59807616e 2026-04-14)"), Some((1, 95, 0)));
        assert_eq!(version_in("go version go1.26rc1 linux/amd64"), None);
        assert_eq!(version_in("nothing"), None);
    }

    #[test]
    fn a_missing_tool_is_named_with_what_to_do() {
        let text = version("no-such-go", &[], OLDEST_GO, "install Go").expect_err("it is missing");
        assert!(text.contains("no-such-go") && text.contains("install Go 1.25.7 or newer"), "{text}");
        let text = disk(Path::new("/"), u64::MAX).expect_err("no disk is that large");
        assert!(text.contains("GiB needed"), "{text}");
    }

    #[test]
    fn too_little_disk_is_told_in_units_that_show_it_and_with_the_folder() {
        let amounts = [0, 300 * MIB, DISK_PER_MINUTE, GIB - 1, GIB, GIB * 5 / 2].map(amount);
        assert_eq!(amounts, ["0 MiB", "300 MiB", "716 MiB", "1023 MiB", "1.0 GiB", "2.5 GiB"]);
        let folder = Path::new("/home/ann/.cache/vworkspace-lab");
        let told = enough_disk(folder, 300 * MIB, DISK_PER_MINUTE);
        let expected = "300 MiB free for /home/ann/.cache/vworkspace-lab, 716 MiB needed; free some on the disk of this folder";
        assert_eq!(told, Err(expected.to_owned()));
        let told = enough_disk(folder, 3 * GIB, 3 * GIB);
        assert_eq!(told, Ok("3.0 GiB free for /home/ann/.cache/vworkspace-lab".to_owned()));
    }
}
