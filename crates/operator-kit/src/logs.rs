//! Log lines: logfmt by default, JSON on request; each line of a reconcile carries what its span knows.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::str::FromStr;
use std::sync::OnceLock;

use jiff::Timestamp;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, registry};

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoder {
    /// `level=info msg="..." key=value`.
    Logfmt,
    /// One JSON object per line.
    Json,
}

impl FromStr for Encoder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            // What operators written in Go call it.
            "console" | "logfmt" => Ok(Encoder::Logfmt),
            "json" => Ok(Encoder::Json),
            other => Err(format!("unknown encoder '{other}', use logfmt or json")),
        }
    }
}

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verbosity(LevelFilter);

impl FromStr for Verbosity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(match text {
            "debug" => LevelFilter::DEBUG,
            "info" => LevelFilter::INFO,
            "warn" => LevelFilter::WARN,
            "error" => LevelFilter::ERROR,
            other => return Err(format!("unknown log level '{other}', use debug, info, warn or error")),
        }))
    }
}

/// Starts logging to standard error; libraries are heard only when something is wrong.
///
/// `program` is the crate that speaks for itself.
pub fn start(encoder: Encoder, verbosity: Verbosity, program: &'static str) {
    let libraries = verbosity.0.min(LevelFilter::WARN);
    let targets = Targets::new()
        .with_default(libraries)
        .with_target("operator_kit", verbosity.0)
        .with_target(program, verbosity.0)
        // The client library tells each failed request, and we tell it too, with what it was for.
        .with_target("kube_client", LevelFilter::OFF)
        .with_target("kube_runtime", LevelFilter::OFF);
    registry().with(Lines { encoder }.with_filter(targets)).init();
}

/// From now on each line names the cluster.
pub(crate) fn name_cluster(id: &str) {
    // There is one cluster: a second name would be wrong, and cannot happen.
    let _ = CLUSTER.set(id.to_owned());
}

static CLUSTER: OnceLock<String> = OnceLock::new();

struct Lines {
    encoder: Encoder,
}

/// The fields of a span or of an event, as text.
#[derive(Debug, Default)]
struct Fields(Vec<(&'static str, String)>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push((field.name(), format!("{value:?}")));
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Lines {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(known) = span.extensions().get::<Fields>() {
                fields.0.extend(known.0.iter().cloned());
            }
        }
        fields.0.extend(CLUSTER.get().map(|id| ("cluster_id", id.clone())));
        let line = line(self.encoder, *event.metadata().level(), Timestamp::now(), &fields.0);
        // Nobody is left to tell when standard error is gone.
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}

fn line(encoder: Encoder, level: Level, now: Timestamp, fields: &[(&'static str, String)]) -> String {
    let level = level.as_str().to_ascii_lowercase();
    let message = fields.iter().find(|(key, _)| *key == "message").map_or("", |(_, text)| text.as_str());
    let rest = fields.iter().filter(|(key, _)| *key != "message");
    match encoder {
        Encoder::Json => {
            let start = [("ts", now.to_string()), ("level", level), ("msg", message.to_owned())];
            let mut line: Map<String, Value> =
                start.into_iter().map(|(key, text)| (key.to_owned(), text.into())).collect();
            line.extend(rest.map(|(key, text)| ((*key).to_owned(), text.as_str().into())));
            format!("{}\n", Value::Object(line))
        }
        Encoder::Logfmt => {
            let mut line = format!("ts={now} level={level} msg={}", quoted(message));
            for (key, text) in rest {
                let plain = !text.is_empty() && text.chars().all(is_plain);
                let text = if plain { text.clone() } else { quoted(text) };
                // Writing to a String cannot fail.
                let _ = write!(line, " {key}={text}");
            }
            line + "\n"
        }
    }
}

fn is_plain(character: char) -> bool {
    !character.is_whitespace() && !character.is_control() && !matches!(character, '"' | '=' | '\\')
}

/// In quotation marks, on one line.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(encoder: Encoder) -> String {
        let fields = [
            ("message", "failed to list \"x\"\nagain".to_owned()),
            ("controller", "application".to_owned()),
            ("object", "shop/web".to_owned()),
            ("reason", "two words".to_owned()),
        ];
        line(encoder, Level::ERROR, "2026-01-02T03:04:05Z".parse().unwrap(), &fields)
    }

    #[test]
    fn a_line_is_a_line_whatever_is_in_it() {
        assert_eq!(
            example(Encoder::Logfmt),
            "ts=2026-01-02T03:04:05Z level=error msg=\"failed to list \\\"x\\\"\\nagain\" \
             controller=application object=shop/web reason=\"two words\"\n"
        );
    }

    #[test]
    fn json_has_the_same_fields() {
        let line: Value = serde_json::from_str(&example(Encoder::Json)).unwrap();
        assert_eq!(line["level"], "error");
        assert_eq!(line["msg"], "failed to list \"x\"\nagain");
        assert_eq!(line["object"], "shop/web");
    }
}
