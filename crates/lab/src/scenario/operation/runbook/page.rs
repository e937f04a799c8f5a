//! The page, as far as it is typed: its sections and the commands of each.

const PAGE: &str = include_str!("../../../../../../docs/backup-restore.md");

/// A part of the page.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) title: String,
    pub(super) commands: Vec<String>,
}

/// The page's sections that have commands.
pub(super) fn sections() -> Vec<Section> {
    of(PAGE)
}

/// A command begins with the prompt, and goes on in the next line after a backslash. What else stands in such a block is its
/// answer.
fn of(page: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let (mut is_typed, mut is_open) = (false, false);
    for line in page.lines() {
        if line.starts_with("```") {
            is_typed = line == "```console";
            continue;
        }
        if !is_typed && let Some(title) = line.strip_prefix("## ") {
            sections.push(Section { title: title.to_owned(), commands: Vec::new() });
        }
        let Some(section) = sections.last_mut().filter(|_| is_typed) else { continue };
        let begun = line.strip_prefix("$ ");
        match (begun, section.commands.last_mut()) {
            (Some(command), _) => section.commands.push(command.to_owned()),
            (None, Some(command)) if is_open => *command += &format!("\n{line}"),
            (None, _) => continue,
        }
        is_open = line.ends_with('\\');
    }
    sections.retain(|section| !section.commands.is_empty());
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_commands_for_every_step() {
        let sections = sections();
        let titles: Vec<&str> = sections.iter().map(|section| section.title.as_str()).collect();
        assert_eq!(
            titles,
            [
                "Before you begin",
                "Back up",
                "Verify in Velero",
                "Restore into a fresh namespace",
                super::super::COMPARED,
                "Clean up",
                super::super::AFTER_DISASTER,
            ]
        );
        let commands: Vec<&String> = sections.iter().flat_map(|section| &section.commands).collect();
        let has = |words: &str| commands.iter().any(|command| command.contains(words));
        for words in
            ["op create backup.velero", "op create restore.velero", "op approve", "get backup ", "diff "]
        {
            assert!(has(words), "no command of the page has '{words}'");
        }
    }

    #[test]
    fn commands_are_told_from_their_answers() {
        let page = "# Page\n## One\ntext\n```console\n$ a \\\n    b\nan answer\n$ c\n```\n```yaml\n$ no\n```\n## Two\n$ no\n";
        let [one] = of(page).try_into().expect("one section has commands");
        assert_eq!(
            (one.title.as_str(), one.commands),
            ("One", vec!["a \\\n    b".to_owned(), "c".to_owned()])
        );
        assert!(of("## Empty\n```console\n```\n").is_empty());
    }
}
