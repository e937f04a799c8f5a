//! What the conditions of an object say, line by line, as it happens.

use std::collections::BTreeMap;
use std::time::Duration;

use anstream::println;
use anstyle::Style;
use anyhow::{Result, bail};
use futures::{StreamExt, TryStreamExt};
use kube::api::{Api, DynamicObject};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::watch_object;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::style::{BAD, BUSY, DIM, GOOD, styled};

/// Longer than anything here takes on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(180);
/// Where a message goes on in the next line.
const WIDTH: usize = 116;
const INDENT: usize = 11;

/// What was said last, by condition type.
pub(super) struct Watcher {
    api: Api<DynamicObject>,
    name: String,
    said: BTreeMap<String, (String, String)>,
    generation: i64,
}

/// A condition, as far as a person reads it.
struct Line<'a> {
    type_: &'a str,
    /// `False/Installing`.
    words: String,
    message: &'a str,
}

impl Watcher {
    pub(super) fn new(api: Api<DynamicObject>, name: &str) -> Self {
        Self { api, name: name.to_owned(), said: BTreeMap::new(), generation: 0 }
    }

    /// Prints what is said from now on until the object's next generation is as wanted. What nobody but a person can put
    /// right ends it too.
    pub(super) async fn until(&mut self, started: Instant, wanted: &[(&str, &str)]) -> Result<()> {
        let mut seen = watch_object(self.api.clone(), &self.name).default_backoff().boxed();
        loop {
            let Some(object) = self.next(&mut seen).await? else { continue };
            self.tell(&object, started);
            let generation = object.metadata.generation.unwrap_or_default();
            if generation <= self.generation {
                continue;
            }
            let says = |type_: &str| said(&object, type_).unwrap_or_default();
            if wanted.iter().all(|(type_, words)| says(type_).starts_with(words)) {
                self.generation = generation;
                return Ok(());
            }
            let is_expected = wanted.iter().any(|(type_, _)| *type_ == "Stalled");
            if says("Stalled").starts_with("True") && !is_expected {
                bail!("it has stalled: the lines above say why");
            }
        }
    }

    /// Prints what is said until the object is gone.
    pub(super) async fn until_gone(&mut self, started: Instant) -> Result<()> {
        let mut seen = watch_object(self.api.clone(), &self.name).default_backoff().boxed();
        while let Some(object) = self.next(&mut seen).await? {
            self.tell(&object, started);
        }
        println!("{} {}", at(started), styled(GOOD, "gone"));
        (self.generation, self.said) = (0, BTreeMap::new());
        Ok(())
    }

    async fn next<S>(&self, seen: &mut S) -> Result<Option<DynamicObject>>
    where
        S: futures::Stream<Item = kube::runtime::watcher::Result<Option<DynamicObject>>> + Unpin,
    {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match timeout_at(deadline, seen.try_next()).await {
                Ok(Ok(Some(object))) => return Ok(object),
                // The stream backs off and goes on by itself.
                Ok(Err(_)) => {}
                Ok(Ok(None)) | Err(_) => {
                    bail!(
                        "nothing new was said for {} s: the lines above say how far it came",
                        PATIENCE.as_secs()
                    )
                }
            }
        }
    }

    fn tell(&mut self, object: &DynamicObject, started: Instant) {
        let mut told: Vec<&str> = Vec::new();
        for line in lines(object) {
            let known = self.said.get(line.type_);
            let is_news = match known {
                Some((words, message)) => *words != line.words || message != line.message,
                // That nothing is wrong yet is no news.
                None => line.type_ == "Ready" || !line.words.starts_with("False"),
            };
            let is_repeated = told.contains(&line.message);
            let says_else = known.is_none_or(|(words, _)| *words != line.words);
            if is_news && (says_else || !is_repeated) {
                let message = if is_repeated { "" } else { line.message };
                println!("{}", shown(&line, message, started));
                told.push(line.message);
            }
            self.said.insert(line.type_.to_owned(), (line.words, line.message.to_owned()));
        }
    }
}

/// `   12.3 s ` since the step began.
fn at(started: Instant) -> String {
    format!("{:>8.1} s", started.elapsed().as_secs_f64())
}

/// Breaks a text at spaces; `used` characters of the first line are taken.
fn wrapped(text: &str, used: usize) -> String {
    let (mut shown, mut column) = (String::new(), used);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if !shown.is_empty() && column + 1 + length > WIDTH {
            shown += &format!("\n{}", " ".repeat(INDENT + 2));
            column = INDENT + 2;
        } else if !shown.is_empty() {
            shown.push(' ');
            column += 1;
        }
        shown += word;
        column += length;
    }
    shown
}

fn shown(line: &Line<'_>, message: &str, started: Instant) -> String {
    let head = format!("{}={}", line.type_, line.words);
    let painted = styled(style(line.type_, &line.words), &head);
    if message.is_empty() {
        return format!("{} {painted}", at(started));
    }
    format!("{} {painted}: {}", at(started), wrapped(message, INDENT + head.chars().count() + 2))
}

fn style(type_: &str, words: &str) -> Style {
    match (type_, words.split_once('/').unwrap_or_default()) {
        ("Ready" | "Succeeded", ("True", _)) | ("Degraded", (_, "Recovered")) => GOOD,
        ("Ready", ("False", "HelmReleaseFailed"))
        | ("Degraded" | "Stalled" | "Blocked" | "Failed", ("True", _)) => BAD,
        ("Ready", _) | ("Reconciling" | "Suspended" | "Deleting" | "Running", ("True", _)) => BUSY,
        _ => DIM,
    }
}

fn lines(object: &DynamicObject) -> impl Iterator<Item = Line<'_>> {
    let conditions = object.data.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().map(|condition| {
        let text = |field: &str| condition.get(field).and_then(Value::as_str).unwrap_or_default();
        Line {
            type_: text("type"),
            words: format!("{}/{}", text("status"), text("reason")),
            message: text("message"),
        }
    })
}

/// `False/Installing` of a condition, if it speaks of the present generation.
fn said(object: &DynamicObject, type_: &str) -> Option<String> {
    let conditions = object.data.pointer("/status/conditions")?.as_array()?;
    let known = conditions.iter().find(|known| known.get("type").and_then(Value::as_str) == Some(type_))?;
    let is_current = known.get("observedGeneration").and_then(Value::as_i64) == object.metadata.generation;
    let line = lines(object).find(|line| line.type_ == type_)?;
    is_current.then_some(line.words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_goes_on_below_its_beginning() {
        assert_eq!(wrapped("short", 40), "short");
        assert_eq!(wrapped("", 40), "");
        let long = "word ".repeat(30);
        let shown = wrapped(&long, 40);
        assert!(shown.lines().skip(1).all(|line| line.starts_with("             word")), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= WIDTH), "{shown}");
        assert_eq!(shown.split_whitespace().count(), 30);
    }

    #[test]
    fn only_what_speaks_of_the_present_generation_counts() {
        let object = |observed: i64| -> DynamicObject {
            serde_json::from_value(serde_json::json!({
                "metadata": {"name": "podinfo", "generation": 2},
                "status": {"conditions": [
                    {"type": "Ready", "status": "True", "reason": "HelmReleaseReady", "observedGeneration": observed}
                ]},
            }))
            .expect("an object")
        };
        assert_eq!(said(&object(1), "Ready"), None);
        assert_eq!(said(&object(2), "Ready").as_deref(), Some("True/HelmReleaseReady"));
    }
}
