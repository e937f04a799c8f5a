//! The machine's processes as /proc shows them: which of them belong to a lab, how big and how old they are.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;

use rustix::param::{clock_ticks_per_second, page_size};

/// One process, as seen from the host.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    pub(crate) pid: i32,
    parent: i32,
    pub(crate) arguments: Vec<String>,
    pub(crate) rss: u64,
    /// Seconds since it started.
    pub(crate) age: u64,
}

impl Running {
    /// Whether root started it.
    pub(crate) fn is_of_root(&self) -> bool {
        fs::metadata(format!("/proc/{}", self.pid)).is_ok_and(|folder| folder.uid() == 0)
    }

    /// Whether it runs in a container of this pod.
    pub(crate) fn is_in_pod(&self, uid: &str) -> bool {
        let cgroups = fs::read_to_string(format!("/proc/{}/cgroup", self.pid)).unwrap_or_default();
        cgroups.contains(&format!("/pod{uid}"))
    }

    /// The program's name, without its folder.
    pub(crate) fn program(&self) -> &str {
        self.arguments.first().and_then(|path| path.rsplit('/').next()).unwrap_or_default()
    }
}

/// All processes of the machine; one that ends while we read is left out.
pub(crate) fn all() -> Vec<Running> {
    let uptime = uptime();
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| read(pid, uptime)).collect()
}

/// `root` and everything it started, directly or not.
pub(crate) fn below(root: i32, all: &[Running]) -> Vec<Running> {
    let mut children: HashMap<i32, Vec<&Running>> = HashMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process);
    }
    let mut seen = HashSet::from([root]);
    let mut queue = vec![root];
    while let Some(parent) = queue.pop() {
        for child in children.get(&parent).into_iter().flatten() {
            if seen.insert(child.pid) {
                queue.push(child.pid);
            }
        }
    }
    all.iter().filter(|process| seen.contains(&process.pid)).cloned().collect()
}

/// Whether none of its threads does anything, because it was told to stop.
pub(crate) fn is_stopped(pid: i32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.into_iter().all(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        state(&stat).is_none_or(|state| ["T", "t", "Z", "X"].contains(&state))
    })
}

fn state(stat: &str) -> Option<&str> {
    stat.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().next())
}

/// Whether a process runs; one that has ended and is only waited for does not.
pub(crate) fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state(&stat).is_some_and(|state| state != "Z" && state != "X")
}

fn read(pid: i32, uptime: f64) -> Option<Running> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    // The name in parentheses may itself hold blanks and parentheses.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "seconds"
    )]
    let age = (uptime - number(19)? as f64 / clock_ticks_per_second() as f64).max(0.0) as u64;
    Some(Running {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        arguments: arguments
            .split(|byte| *byte == 0)
            .filter(|argument| !argument.is_empty())
            .map(|argument| String::from_utf8_lossy(argument).into_owned())
            .collect(),
        rss: number(21)? * page_size() as u64,
        age,
    })
}

fn uptime() -> f64 {
    fs::read_to_string("/proc/uptime")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_with_its_size_and_arguments() {
        let me = std::process::id().cast_signed();
        let table = all();
        let found = table.iter().find(|process| process.pid == me).expect("the test itself runs");
        assert!(found.rss > 100_000, "{found:?}");
        assert!(found.age < 3600, "{found:?}");
        assert!(is_alive(me) && !is_alive(i32::MAX));
        assert_eq!(found.arguments.first().cloned(), std::env::args().next());
    }

    #[test]
    fn a_process_tree_holds_grandchildren_and_nothing_else() {
        let process = |pid, parent| Running { pid, parent, arguments: vec![], rss: 0, age: 0 };
        let table = [process(1, 0), process(5, 1), process(6, 5), process(7, 6), process(8, 1)];
        let pids: Vec<i32> = below(5, &table).iter().map(|process| process.pid).collect();
        assert_eq!(pids, [5, 6, 7]);
    }
}
