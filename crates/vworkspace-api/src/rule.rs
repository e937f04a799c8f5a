//! CEL rules that several fields share. A rule sits as deep in the schema as it can: the API server holds a rule against
//! an object that was stored before the rule only where the object changes.

use kube::core::{Message, Rule};

use crate::duration;

/// A duration within bounds.
pub(crate) fn between(field: &str, shortest: &str, longest: &str) -> Rule {
    let pattern = duration::PATTERN;
    Rule::new(format!(
        "self.matches('{pattern}') && duration(self) >= duration('{shortest}') && duration(self) <= duration('{longest}')"
    ))
    .message(found(field, &format!("a duration from {shortest} to {longest}, such as 30s, 5m or 1h30m")))
}

/// A text that fits a pattern; `expected` says in words what that is.
pub(crate) fn like(field: &str, pattern: &str, expected: &str) -> Rule {
    Rule::new(format!("self.matches('{}')", pattern.replace('\\', "\\\\"))).message(found(field, expected))
}

/// The name of an object, as most kinds have it.
pub(crate) fn object_name(field: &str) -> Rule {
    like(field, OBJECT_NAME, "the name of an object: lower case letters, digits, '-' and '.'")
}

/// A DNS subdomain.
pub(crate) const OBJECT_NAME: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// A text that never changes once it is set.
pub(crate) fn immutable(field: &str, why: &str) -> Rule {
    let message = format!(
        "\"{field} was '\" + oldSelf + \"' and would become '\" + self + \"'; expected no change, because {why}\""
    );
    Rule::new("self == oldSelf").message(Message::Expression(message))
}

/// What a text field holds, and what it should.
fn found(field: &str, expected: &str) -> Message {
    Message::Expression(format!("\"{field} is '\" + self + \"'; expected {expected}\""))
}

/// A rule about a whole block, with a message that is the same whatever was found.
pub(crate) fn block(rule: &str, message: &str) -> Rule {
    Rule::new(rule).message(message)
}

/// A rule about a whole block, with a CEL expression that says what was found and what is expected.
pub(crate) fn block_found(rule: &str, message: &str) -> Rule {
    Rule::new(rule).message(Message::Expression(message.to_owned()))
}
