//! What an operation can be asked for: each pair of type and engine with its parameters, in one table. Schema, admission
//! policy, reference page and parsing follow from it.

mod schema;
mod table;

pub(super) use schema::parameters_schema;
pub use table::TEMPLATES;

use super::parameters::MAX_NUMBER;
use super::{Engine, OperationType};

/// The service account that commands and workflows run as; there is no choice.
pub const RUNNER: &str = "vworkspace-operation-runner";

/// What is known of one type with one engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Template {
    /// What messages call it, such as backup.velero.
    pub name: &'static str,
    /// What is done.
    pub type_: OperationType,
    /// What does it.
    pub engine: Engine,
    /// The verb of the target's annotation `ops.vworkspace.io/<verb>` that lists the engines it can be done with.
    pub verb: &'static str,
    /// Whether the target must be ready, unless spec.policy.requireReady says otherwise.
    pub requires_ready: bool,
    /// Whether it needs an approval, whatever spec.approvals.required says.
    pub needs_approval: bool,
    /// Whether this version can run it.
    pub is_supported: bool,
    /// What it does, for users.
    pub meaning: &'static str,
    /// What it can be told.
    pub parameters: &'static [Parameter],
}

/// One name below spec.parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it may hold.
    pub kind: ParameterKind,
    /// Whether it must be given.
    pub required: bool,
    /// What it means, for users.
    pub meaning: &'static str,
    /// A value, in YAML.
    pub example: &'static str,
    /// Whether it is only accepted because earlier versions had it, and has no effect.
    pub former: bool,
}

/// What a parameter may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// A text. A blank one counts as not given.
    Text,
    /// The name of an object. A blank one counts as not given.
    Name,
    /// true or false.
    Boolean,
    /// A whole number.
    Number {
        /// The smallest that is allowed.
        least: i64,
    },
    /// A list of texts.
    TextList,
    /// A map from text to text.
    TextMap,
    /// A duration that may have days. A blank one counts as not given.
    Retention,
    /// Variables: a list of name with value or valueFrom, or a map from name to text.
    Env,
    /// Anything with fields.
    Object,
    /// One of these words.
    OneOf(&'static [&'static str]),
}

impl Template {
    /// The template of a type with an engine, if the engine can do that.
    #[must_use]
    pub fn of(type_: OperationType, engine: Engine) -> Option<&'static Self> {
        TEMPLATES.iter().find(|template| template.type_ == type_ && template.engine == engine)
    }

    /// The template of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        TEMPLATES.iter().find(|template| template.name == name)
    }

    /// The parameter of that name.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// Those that this version can run.
    pub fn supported() -> impl Iterator<Item = &'static Self> {
        TEMPLATES.iter().filter(|template| template.is_supported)
    }

    /// The engines that can do a type.
    pub fn engines_of(type_: OperationType) -> impl Iterator<Item = Engine> {
        TEMPLATES.iter().filter(move |template| template.type_ == type_).map(|template| template.engine)
    }
}

impl Parameter {
    /// What it may hold, in words.
    #[must_use]
    pub fn expected(&self) -> String {
        let example = self.example;
        match self.kind {
            ParameterKind::Text => format!("a text such as {example}"),
            ParameterKind::Name => {
                "the name of an object: lower case letters, digits, '-' and '.'".to_owned()
            }
            ParameterKind::Boolean => "true or false".to_owned(),
            ParameterKind::Number { least } => format!("a whole number from {least} to {MAX_NUMBER}"),
            ParameterKind::TextList => format!("a list of texts such as {example}"),
            ParameterKind::TextMap => format!("a map from text to text such as {example}"),
            ParameterKind::Retention => "a duration such as 720h, 30d or 12h30m".to_owned(),
            ParameterKind::Env => {
                "a list of name with value or valueFrom, or a map from name to text".to_owned()
            }
            ParameterKind::Object => format!("an object such as {example}"),
            ParameterKind::OneOf([only]) => (*only).to_owned(),
            ParameterKind::OneOf(words) => format!("one of {}", words.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests;
