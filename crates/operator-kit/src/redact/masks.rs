//! The places in a message where credentials and values stand without quotes.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::MASK;

/// Compiled once. A pattern that does not compile makes every message one that cannot be shown; a test sees to it.
pub(super) static MASKS: LazyLock<Result<Masks, regex::Error>> = LazyLock::new(Masks::new);

/// Credentials: what stays of each is its first group.
const CREDENTIALS: [&str; 7] = [
    r"(?s)()-----BEGIN .*?(?:-----END [^-]*-----|$)",
    r#"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/?\#"']*@"#,
    // JSON Web Tokens and approval claims.
    r"()\b(?:eyJ[\w-]+|vws[0-9]+)\.[\w-]+\.[\w-]+",
    r#"(?i)((?:password|passwd|pwd|passphrase|secret|token|(?:api|access|secret|private)[_-]?key)["']?\s*[:=]\s*)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"#,
    r#"(?i)((?:password|passwd|pwd|passphrase|secret|token|credential|(?:api|access|secret|private)[_-]?key)"?\s?=\s?)[^\s,;&"'`]+"#,
    // A passphrase can have spaces.
    r#"(?i)((?:password|passwd|passphrase)"?:\s*)[^\s'"*][^\n,;]*"#,
    r#"(?i)((?:token|client[_-]?secret|(?:api|access|secret|private)[_-]?key)"?:\s*)[^\s,;'"*]+"#,
];

/// From here to the end of the message, words can be made of values: messages of templates, policies and programs.
const TAILS: [&str; 6] = [
    r"execution error (?:at|in) \([^)]*\): ",
    r": fail: ",
    r"denied (?:the )?request: ",
    r"Last \w+ logs:",
    r"\bwith value ",
    r"\bunexpected token ",
];

/// Values without quotes; what stays is the first and the last group.
const VALUES: [&str; 4] = [
    r"(?m)((?:Invalid|Unsupported|Duplicate) value: )[^\n]*?(: |$)",
    r"(cannot unmarshal number )\S+()",
    r"(invalid map key: )[^\n]*()",
    r"( is not valid [\w-]+: )[^\n]*()",
];

/// Words after `Bearer` and `Basic` that are no credentials.
const PROSE: [&str; 6] = ["auth", "authentication", "authorization", "scheme", "token", "tokens"];

pub(super) struct Masks {
    credentials: Vec<Regex>,
    authorization: Regex,
    tails: Vec<Regex>,
    calls: Regex,
    values: Vec<Regex>,
    got: Regex,
}

impl Masks {
    fn new() -> Result<Self, regex::Error> {
        let all = |patterns: &[&str]| {
            patterns.iter().map(|pattern| Regex::new(pattern)).collect::<Result<Vec<_>, _>>()
        };
        Ok(Self {
            credentials: all(&CREDENTIALS)?,
            authorization: Regex::new(r"(?i)\b((?:bearer|basic)\s+)([\w.~+/=-]+)")?,
            tails: all(&TAILS)?,
            calls: Regex::new(r"error calling \w+: ")?,
            values: all(&VALUES)?,
            got: Regex::new(r"(?m)\bgot ([^\n]*?)(, want |, expected |; |$)")?,
        })
    }

    /// Without credentials, whoever wrote the message.
    pub(super) fn credentials(&self, message: &str) -> String {
        let message = self.credentials.iter().fold(message.to_owned(), |message, pattern| {
            let is_url = pattern.as_str().ends_with('@');
            let masked = if is_url { "${1}***@" } else { "${1}***" };
            pattern.replace_all(&message, masked).into_owned()
        });
        let mask = |found: &Captures<'_>| {
            let is_prose = PROSE.contains(&found[2].to_ascii_lowercase().as_str());
            if is_prose { found[0].to_owned() } else { format!("{}{MASK}", &found[1]) }
        };
        self.authorization.replace_all(&message, mask).into_owned()
    }

    /// Without the end that can be made of values.
    pub(super) fn tails(&self, message: &str) -> String {
        let tails = self.tails.iter().filter_map(|pattern| Some(pattern.find(message)?.end()));
        // A call within a call has a message of its own, with the positions that are worth reading.
        let is_outer = |end: &usize| message.get(*end..).is_some_and(|rest| rest.starts_with("template: "));
        let call = self.calls.find_iter(message).map(|call| call.end()).find(|end| !is_outer(end));
        match tails.chain(call).min().and_then(|end| message.get(..end)) {
            Some(kept) if kept.len() < message.len() => format!("{kept}{MASK}"),
            _ => message.to_owned(),
        }
    }

    /// Without the values that stand in the middle and are not quoted.
    pub(super) fn values(&self, message: &str) -> String {
        let message = self.values.iter().fold(message.to_owned(), |message, pattern| {
            pattern.replace_all(&message, "${1}***${2}").into_owned()
        });
        let mask = |found: &Captures<'_>| {
            let got = if is_type(found[1].trim_matches('"')) { &found[1] } else { MASK };
            format!("got {got}{}", &found[2])
        };
        self.got.replace_all(&message, mask).into_owned()
    }
}

/// Whether a text is the name of a type, in JSON's or Go's words.
pub(super) fn is_type(text: &str) -> bool {
    let types = [
        "null",
        "nil",
        "boolean",
        "bool",
        "string",
        "number",
        "integer",
        "int",
        "int64",
        "float64",
        "array",
        "object",
        "[]interface {}",
        "map[string]interface {}",
    ];
    types.contains(&text)
}
