//! Names of operations that nobody named.

use jiff::Timestamp;
use vworkspace_api::operation::Template;

/// As long as a label may be: what an engine makes of the operation carries its name.
const MOST: usize = 63;
/// Room for what tells two of the same second apart.
const SPARE: usize = 3;

/// `<target>-<verb>-<yyyymmdd-hhmmss>`, with the target cut where that would be too long. `attempt` tells apart those of
/// the same second; the first is 1.
pub(super) fn default_name(target: &str, template: &Template, now: Timestamp, attempt: usize) -> String {
    let end = format!("-{}-{}", template.verb, now.strftime("%Y%m%d-%H%M%S"));
    let room = MOST.saturating_sub(end.len() + SPARE);
    let start: String = target.chars().map(|c| if c == '.' { '-' } else { c }).take(room).collect();
    let start = start.trim_end_matches('-');
    match attempt {
        0 | 1 => format!("{start}{end}"),
        more => format!("{start}{end}-{more}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_and_when_and_is_no_longer_than_a_label() {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let backup = Template::named("backup.velero").unwrap();
        assert_eq!(default_name("web", backup, now, 1), "web-backup-20260102-030405");
        assert_eq!(default_name("web.v2", backup, now, 2), "web-v2-backup-20260102-030405-2");
        for template in vworkspace_api::operation::TEMPLATES {
            let long = default_name(&"a".repeat(253), template, now, 99);
            assert!(long.len() <= MOST && long.ends_with("-20260102-030405-99"), "{long}");
        }
        let cut = default_name(&"ab-".repeat(30), backup, now, 1);
        assert!(!cut.contains("--"), "{cut}");
    }
}
