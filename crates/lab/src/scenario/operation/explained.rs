//! What `kubectl vworkspace explain operation` tells people to type, typed while an operation says just that.

use anyhow::{Result, ensure};

use super::super::own_object::OwnObject;
use super::super::shell::Shell;

/// Every command that is printed for a reason must work, and together they must show what there is to see.
pub(super) async fn works(
    shell: &mut Shell<'_>,
    operation: &OwnObject<'_>,
    reason: &str,
    promised: &[&str],
) -> Result<()> {
    shell.fill("{name}", &operation.name);
    let page = shell.shows(&format!("kubectl vworkspace explain operation {reason}"), &[]).await?;
    let commands: Vec<&str> =
        page.lines().map(str::trim).filter(|line| line.starts_with("kubectl ")).collect();
    ensure!(!commands.is_empty(), "explain operation {reason} prints no command: {page}");
    let mut shown = String::new();
    for command in commands {
        shown += &shell.shows(command, &[]).await?;
    }
    for words in promised {
        ensure!(shown.contains(words), "the commands of {reason} do not show '{words}': {shown}");
    }
    Ok(())
}
