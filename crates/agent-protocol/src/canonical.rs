//! One text for one JSON value, so that two programs compute the same digest.
//!
//! The form is that of RFC 8785, but for the order of keys and whole numbers:
//!
//! * No white space. Strings are UTF-8 with only `"`, `\` and control characters escaped.
//! * Keys are sorted by their UTF-8 bytes, which is the order of code points.
//! * Whole numbers from -2^63 to 2^64-1 are written out in full. Any other number is a double in the shortest form that
//!   reads back as the same, laid out as ECMAScript does. So `1.0` and `1e0` are `1`, `-0.0` is `0`, and a value
//!   keeps its digest on its way through programs that know only doubles.

use std::fmt::Write;

use serde_json::{Number, Value};
use sha2::{Digest, Sha256};

/// A text that is not the canonical form of a JSON value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotCanonical {
    /// It is no JSON.
    #[error("no JSON from line {line}, column {column} on; expected one JSON value")]
    NotJson {
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
    /// It is JSON in another form: white space, order of keys, a key twice, another spelling of a number or string.
    #[error("JSON that is not in canonical form from byte {at} on; expected sorted keys and no white space")]
    OtherForm {
        /// Where the two forms part.
        at: usize,
    },
}

/// The canonical form.
#[must_use]
pub fn to_text(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value);
    text
}

/// The value of a text that is in canonical form.
///
/// # Errors
///
/// The text is no JSON, or not in that form. The error does not quote it.
pub fn from_text(text: &str) -> Result<Value, NotCanonical> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| NotCanonical::NotJson { line: error.line(), column: error.column() })?;
    let canonical = to_text(&value);
    if canonical == text {
        return Ok(value);
    }
    let same = canonical.bytes().zip(text.bytes()).take_while(|(ours, theirs)| ours == theirs).count();
    Err(NotCanonical::OtherForm { at: same })
}

/// SHA-256 over the canonical form, in lower-case hex.
#[must_use]
pub fn digest_of(value: &Value) -> String {
    hex(&Sha256::digest(to_text(value).as_bytes()))
}

/// Bytes in lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |four_bits: u8| char::from_digit(u32::from(four_bits), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}

fn write_value(text: &mut String, value: &Value) {
    match value {
        Value::Null | Value::Bool(_) => text.push_str(&value.to_string()),
        Value::Number(number) => write_number(text, number),
        Value::String(string) => write_string(text, string),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                separate(text, index);
                write_value(text, item);
            }
            text.push(']');
        }
        Value::Object(members) => {
            // A map keeps the order of insertion where a crate in the build asks serde_json for that.
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(key, _)| key.as_bytes());
            text.push('{');
            for (index, (key, member)) in members.into_iter().enumerate() {
                separate(text, index);
                write_string(text, key);
                text.push(':');
                write_value(text, member);
            }
            text.push('}');
        }
    }
}

fn separate(text: &mut String, index: usize) {
    if index > 0 {
        text.push(',');
    }
}

fn write_string(text: &mut String, string: &str) {
    text.push('"');
    let mut rest = string;
    while let Some((plain, escaped, after)) = split_at_escape(rest) {
        text.push_str(plain);
        match escaped {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\u{c}' => text.push_str("\\f"),
            '\r' => text.push_str("\\r"),
            // Writing into a String cannot fail.
            _ => drop(write!(text, "\\u{:04x}", u32::from(escaped))),
        }
        rest = after;
    }
    text.push_str(rest);
    text.push('"');
}

/// The first character that is not written as it is, with what is before and after it.
fn split_at_escape(string: &str) -> Option<(&str, char, &str)> {
    let at = string.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f))?;
    let (plain, rest) = string.split_at_checked(at)?;
    let escaped = rest.chars().next()?;
    Some((plain, escaped, rest.get(escaped.len_utf8()..)?))
}

fn write_number(text: &mut String, number: &Number) {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(double) => write_double(text, double),
        None => text.push_str(&number.to_string()),
    }
}

/// ECMAScript's layout of the shortest digits.
fn write_double(text: &mut String, double: f64) {
    if double == 0.0 {
        return text.push('0');
    }
    if double < 0.0 {
        text.push('-');
    }
    // Rust writes the shortest digits as d.ddde-7.
    let scientific = format!("{:e}", double.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = mantissa.replace('.', "");
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let point = exponent.parse::<i32>().unwrap_or(0) + 1;
    let zeros = |many: i32| "0".repeat(usize::try_from(many).unwrap_or(0));
    match point {
        1..=21 if point >= count => text.extend([digits.as_str(), &zeros(point - count)]),
        1..=21 => {
            let (whole, rest) = digits.split_at(usize::try_from(point).unwrap_or(0));
            text.extend([whole, ".", rest]);
        }
        -5..=0 => text.extend(["0.", &zeros(-point), &digits]),
        _ => {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            let sign = if point > 0 { "+" } else { "" };
            text.extend([first, dot, rest, "e", sign, &(point - 1).to_string()]);
        }
    }
}
