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
    let commands = commands(&page);
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

/// The lines below `How to investigate`, of each type that has the reason.
fn commands(page: &str) -> Vec<&str> {
    let sections = page.split("How to investigate").skip(1);
    let lines =
        sections.flat_map(|section| section.lines().skip(1).take_while(|line| !line.trim().is_empty()));
    lines.map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_about_the_way_out_is_not_typed() {
        let page = "Operation Failed=True/Timeout\n\n  How to investigate\n    kubectl get a\n    kubectl get b\n\n  \
                    How to resolve it\n    See\n    kubectl edit c.\n\n  How to investigate\n    kubectl get d\n";
        assert_eq!(commands(page), ["kubectl get a", "kubectl get b", "kubectl get d"]);
    }
}
