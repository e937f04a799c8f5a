//! A shell as a person has it open: what one command sets, the next one has.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::super::super::Ground;
use crate::demo::plugin_folder;

/// The page's own commands wait for less, but for backups and restores, which are small here.
const DEADLINE: Duration = Duration::from_secs(300);
/// What is said after each command, with its exit code.
const END: &str = "end of the command:";

/// bash with the lab's kubectl and the plugin.
pub(super) struct Terminal {
    _shell: Child,
    input: ChildStdin,
    said: Lines<BufReader<ChildStdout>>,
}

impl Terminal {
    pub(super) fn open(ground: &Ground, folder: &Path) -> Result<Self> {
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{}:{path}", ground.cluster.tools.display(), plugin_folder()?.display());
        let mut shell = Command::new("bash");
        shell.args(["--noprofile", "--norc"]).current_dir(folder).kill_on_drop(true);
        // Somebody has logged in.
        shell.env("KUBECONFIG", &ground.cluster.kubeconfig).env("PATH", path).env("USER", "lab");
        let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = shell.stdin.take().context("bash has no input")?;
        let said = shell.stdout.take().context("bash has no output")?;
        Ok(Self { _shell: shell, input, said: BufReader::new(said).lines() })
    }

    /// Runs a command, which must end well. It cannot read what is typed after it.
    pub(super) async fn runs(&mut self, command: &str) -> Result<()> {
        let typed = format!("{{ {command}\n}} </dev/null 2>&1; printf '\\n%s %s\\n' '{END}' \"$?\"\n");
        self.input.write_all(typed.as_bytes()).await?;
        let Ok(answer) = timeout(DEADLINE, self.answer()).await else {
            bail!("`{command}` does not end");
        };
        let (code, said) = answer.with_context(|| format!("`{command}` ended the shell"))?;
        ensure!(code == "0", "`{command}` failed with exit code {code}:\n{said}");
        Ok(())
    }

    /// The exit code, and what was said before it.
    async fn answer(&mut self) -> Result<(String, String)> {
        let mut said = String::new();
        while let Some(line) = self.said.next_line().await? {
            if let Some(code) = line.strip_prefix(END) {
                return Ok((code.trim().to_owned(), said.trim().to_owned()));
            }
            said += &format!("{line}\n");
        }
        bail!("there is no more output; it said: {said}")
    }
}
