//! A shell as a person has it: the lab's kubectl and this checkout's plugin on the PATH, and the scenario's namespace chosen.
//! A command is typed as our documents print it, with their placeholders.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::time::timeout;

use super::{DEADLINE, Ground};

pub(super) struct Shell<'a> {
    ground: &'a Ground,
    kubeconfig: PathBuf,
    /// What stands for each placeholder.
    filled: Vec<(&'static str, String)>,
}

impl<'a> Shell<'a> {
    /// A person has chosen the namespace: some commands of the documents do not name it.
    pub(super) fn of(ground: &'a Ground) -> Result<Self> {
        let kubeconfig = ground.cluster.paths.state.join(format!("{}.kubeconfig", ground.namespace));
        let text = fs::read_to_string(&ground.cluster.kubeconfig)?;
        let mut config: Value = serde_saphyr::from_str(&text)?;
        let contexts = config.pointer_mut("/contexts").and_then(Value::as_array_mut);
        for context in contexts.into_iter().flatten() {
            let context = context.get_mut("context").and_then(Value::as_object_mut);
            let context = context.context("a context of the kubeconfig is empty")?;
            context.insert("namespace".to_owned(), ground.namespace.clone().into());
        }
        // JSON is YAML.
        fs::write(&kubeconfig, config.to_string())?;
        let namespace = ground.namespace.as_str();
        Ok(Self { ground, kubeconfig, filled: Vec::new() }
            .filling("<ns>", namespace)
            .filling("{namespace}", namespace))
    }

    /// From now on this stands for a placeholder, such as `<name>`.
    pub(super) fn filling(mut self, placeholder: &'static str, with: &str) -> Self {
        self.fill(placeholder, with);
        self
    }

    /// The same.
    pub(super) fn fill(&mut self, placeholder: &'static str, with: &str) {
        self.filled.retain(|(known, _)| *known != placeholder);
        self.filled.push((placeholder, with.to_owned()));
    }

    /// Runs a command: it must end well and show what was promised, which may have placeholders, too.
    pub(super) async fn shows(&self, command: &str, promised: &[&str]) -> Result<String> {
        let ended = self.runs(command).await?.with_code(0)?;
        promised.iter().try_for_each(|words| ended.says(&self.typed(words)))?;
        Ok(ended.said())
    }

    /// Runs a command to its end, whatever that is.
    pub(super) async fn runs(&self, command: &str) -> Result<Ended> {
        let typed = self.typed(command);
        let Ok(ended) = timeout(DEADLINE, self.command(&typed)?.output()).await else {
            bail!("`{typed}` does not end");
        };
        let output = ended?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Ended { typed, code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) })
    }

    /// Starts a command whose words are read while it runs.
    pub(super) fn starts(&self, command: &str) -> Result<Started> {
        let typed = self.typed(command);
        Started::new(self.command(&typed)?, typed)
    }

    fn typed(&self, command: &str) -> String {
        self.filled
            .iter()
            .fold(command.to_owned(), |text, (placeholder, with)| text.replace(placeholder, with))
    }

    fn command(&self, typed: &str) -> Result<Command> {
        let program = std::env::current_exe()?;
        let own = program.parent().context("this program is in no folder")?.display();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("sh");
        shell
            .args(["-c", typed])
            .env("KUBECONFIG", &self.kubeconfig)
            .env("PATH", format!("{}:{own}:{path}", self.ground.cluster.tools.display()))
            .stdin(Stdio::null())
            .kill_on_drop(true);
        Ok(shell)
    }
}

impl Drop for Shell<'_> {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.kubeconfig) {
            eprintln!("lab: failed to remove {}: {error}", self.kubeconfig.display());
        }
    }
}

/// A command that has ended.
pub(super) struct Ended {
    typed: String,
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
}

impl Ended {
    /// What it said, results first.
    pub(super) fn said(&self) -> String {
        format!("{}{}", self.out, self.err)
    }

    pub(super) fn with_code(self, wanted: i32) -> Result<Self> {
        let Self { typed, code, .. } = &self;
        ensure!(*code == Some(wanted), "`{typed}` ended with {code:?}, not {wanted}: {}", self.said());
        Ok(self)
    }

    pub(super) fn says(&self, words: &str) -> Result<()> {
        ensure!(self.said().contains(words), "`{}` does not show '{words}': {}", self.typed, self.said());
        Ok(())
    }
}

/// A command that runs.
pub(super) struct Started {
    typed: String,
    child: Child,
    out: Lines<BufReader<ChildStdout>>,
    err: Lines<BufReader<ChildStderr>>,
    /// Every line so far, in the order in which it was read.
    said: Vec<String>,
}

impl Started {
    fn new(mut command: Command, typed: String) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let out = child.stdout.take().context("the command has no standard output")?;
        let err = child.stderr.take().context("the command has no standard error")?;
        let (out, err) = (BufReader::new(out).lines(), BufReader::new(err).lines());
        Ok(Self { typed, child, out, err, said: Vec::new() })
    }

    /// Waits for a line with these words.
    pub(super) async fn says(&mut self, words: &str) -> Result<()> {
        let is_said = async {
            while let Some(line) = self.line().await? {
                let is_it = line.contains(words);
                self.said.push(line);
                if is_it {
                    return Ok(true);
                }
            }
            anyhow::Ok(false)
        };
        let Ok(is_said) = timeout(DEADLINE, is_said).await else {
            bail!("`{}` does not say '{words}': {}", self.typed, self.said.join("\n"));
        };
        ensure!(is_said?, "`{}` has ended without '{words}': {}", self.typed, self.said.join("\n"));
        Ok(())
    }

    /// The next line of either stream, as long as there is one.
    async fn line(&mut self) -> Result<Option<String>> {
        let (out, err) = (&mut self.out, &mut self.err);
        Ok(tokio::select! {
            Some(line) = async { out.next_line().await.transpose() } => Some(line?),
            Some(line) = async { err.next_line().await.transpose() } => Some(line?),
            else => None,
        })
    }

    /// Waits until it ends by itself.
    pub(super) async fn ends(mut self) -> Result<Ended> {
        let to_its_end = async {
            while let Some(line) = self.line().await? {
                self.said.push(line);
            }
            anyhow::Ok(self.child.wait().await?)
        };
        let Ok(ended) = timeout(DEADLINE, to_its_end).await else {
            bail!("`{}` does not end: {}", self.typed, self.said.join("\n"));
        };
        let (code, out) = (ended?.code(), self.said.join("\n"));
        Ok(Ended { typed: self.typed, code, out, err: String::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(script: &str) -> Started {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Started::new(command, script.to_owned()).expect("a shell")
    }

    #[tokio::test]
    async fn words_that_are_not_said_and_another_exit_code_are_failures() {
        let script = "echo first; echo second >&2; exit 3";
        let mut both = started(script);
        both.says("first").await.expect("the first line");
        let ended = both.ends().await.expect("an end");
        assert!(ended.says("second").is_ok() && ended.says("third").is_err());
        assert!(ended.with_code(3).is_ok());
        let ended = started(script).ends().await.expect("an end");
        assert!(ended.with_code(0).is_err());
        assert!(started(script).says("third").await.is_err());
    }
}
