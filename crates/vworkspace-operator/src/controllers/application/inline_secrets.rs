//! Finds secrets in inline values, which everybody who may read the instance reads.
//!
//! A string is one if the last words of its key say so (`adminPassword`, `API_TOKEN`), if it holds a PEM private key, or
//! a URL with a password. What only names a Secret (`existingSecret`, `tlsSecretName`, `passwordSecretRef`), stands for a
//! value (`<set via externalSecret>`, `${PASSWORD}`), or is no string at all is none.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

/// The last words of a key whose string is a secret.
const SECRET: [&[&str]; 20] = [
    &["password"],
    &["passwords"],
    &["passwd"],
    &["passphrase"],
    &["pwd"],
    &["secret"],
    &["token"],
    &["tokens"],
    &["apikey"],
    &["apikeys"],
    &["api", "key"],
    &["api", "keys"],
    &["accesskey"],
    &["access", "key"],
    &["secretkey"],
    &["secret", "key"],
    &["privatekey"],
    &["private", "key"],
    &["encryption", "key"],
    &["signing", "key"],
];

/// Keys whose string is a secret although it is written in one word.
const SECRET_ENDINGS: [&str; 4] = ["password", "passwd", "passphrase", "secret"];

/// A secret, by its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Below the values, such as `auth.users[0].password`.
    pub(crate) path: String,
    /// What gives it away, never the value.
    pub(crate) why: Why,
}

/// What gives a secret away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// The key's name.
    Key,
    /// The name that stands beside the value.
    NameBeside,
    /// A PEM private key.
    PrivateKey,
    /// A URL with a password.
    UrlPassword,
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Key => "its key is that of a secret",
            Self::NameBeside => "the name beside it is that of a secret",
            Self::PrivateKey => "it holds a private key",
            Self::UrlPassword => "it holds a URL with a password",
        })
    }
}

/// The first secret, in the order of the values.
pub(crate) fn first(values: &Map<String, Value>) -> Option<Finding> {
    let Finding { path, why } = in_object(values, None)?;
    Some(Finding { path: path.strip_prefix('.').unwrap_or(&path).to_owned(), why })
}

/// The path of a finding grows on the way back: there is none to write for what is no secret.
fn in_object(object: &Map<String, Value>, inherited: Option<Why>) -> Option<Finding> {
    // Environment variables: {name: DB_PASSWORD, value: ...}.
    let named = ["name", "key"].iter().filter_map(|field| object.get(*field)?.as_str()).any(is_secret);
    object.iter().find_map(|(key, value)| {
        let why = match key.as_str() {
            "value" if named => Some(Why::NameBeside),
            // {password: {value: ...}}
            "value" => inherited,
            key => is_secret(key).then_some(Why::Key),
        };
        let Finding { path, why } = in_value(value, why)?;
        Some(Finding { path: format!("{}{path}", step(key)), why })
    })
}

fn in_value(value: &Value, why: Option<Why>) -> Option<Finding> {
    match value {
        Value::String(text) => {
            let why = why.filter(|_| !stands_for_a_value(text)).or_else(|| gives_itself_away(text))?;
            Some(Finding { path: String::new(), why })
        }
        Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            let Finding { path, why } = in_value(item, why)?;
            Some(Finding { path: format!("[{index}]{path}"), why })
        }),
        Value::Object(object) => in_object(object, why),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// One key of a path.
fn step(key: &str) -> String {
    let is_plain =
        !key.is_empty() && key.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
    if is_plain { format!(".{key}") } else { format!("[{key:?}]") }
}

/// Whether a string of that key is a secret, and not the name of one.
fn is_secret(key: &str) -> bool {
    if !may_be_secret(key) {
        return false;
    }
    let words = words(key);
    let is_reference = words.first().is_some_and(|word| word.starts_with("existing"));
    let lower = key.to_ascii_lowercase();
    let in_one_word = SECRET_ENDINGS.iter().any(|ending| lower.ends_with(ending));
    let in_words = SECRET.iter().any(|last| {
        words
            .len()
            .checked_sub(last.len())
            .and_then(|start| words.get(start..))
            .is_some_and(|end| end == *last)
    });
    !is_reference && (in_one_word || in_words)
}

/// Most keys end with none of the words, which is seen without taking them apart.
fn may_be_secret(key: &str) -> bool {
    let key = key.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    let ends_with = |word: &str| {
        let end = key.len().checked_sub(word.len()).and_then(|start| key.get(start..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(word))
    };
    !key.is_ascii()
        || SECRET.iter().filter_map(|words| words.last()).chain(&SECRET_ENDINGS).any(|word| ends_with(word))
}

/// `adminPassword`, `ADMIN_PASSWORD` and `admin-password` are the same words; so are `APIKey` and `apiKey`.
fn words(key: &str) -> Vec<String> {
    let letters: Vec<char> = key.chars().collect();
    let mut words = vec![String::new()];
    for (index, letter) in letters.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| letters.get(before));
        let after = letters.get(index + 1);
        let after_small = before.is_some_and(|before| before.is_lowercase() || before.is_ascii_digit());
        let before_small = after.is_some_and(|after| after.is_lowercase());
        let starts = letter.is_uppercase() && (after_small || (before.is_some() && before_small));
        if starts || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if let (Some(word), true) = (words.last_mut(), letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a text is blank, says where the value comes from, or is only a switch.
fn stands_for_a_value(text: &str) -> bool {
    let text = text.trim();
    let inside = |open: &str, close: &str| text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    let is_name =
        |name: &str| name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_.-".contains(letter));
    text.is_empty()
        || ["true", "false"].contains(&text)
        || inside("<", ">").is_some_and(|words| !words.contains(['<', '>']))
        || inside("${", "}").or_else(|| inside("$(", ")")).is_some_and(is_name)
        // A template may only point elsewhere: a quote in it would be a value.
        || inside("{{", "}}").is_some_and(|template| !template.contains(['"', '`', '\'', '{', '}']))
}

fn gives_itself_away(text: &str) -> Option<Why> {
    if text
        .split("-----BEGIN ")
        .skip(1)
        .any(|block| block.split_once("-----").is_some_and(|(label, _)| label.ends_with("PRIVATE KEY")))
    {
        return Some(Why::PrivateKey);
    }
    text.split("://").skip(1).any(has_password).then_some(Why::UrlPassword)
}

/// Whether what follows `://` starts with `user:password@`.
fn has_password(rest: &str) -> bool {
    let end = rest.find(|letter: char| letter.is_whitespace() || "/?#\"'".contains(letter));
    let authority = end.and_then(|end| rest.get(..end)).unwrap_or(rest);
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    user.and_then(|user| user.split_once(':')).is_some_and(|(_, password)| !stands_for_a_value(password))
}
