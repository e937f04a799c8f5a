//! The words of the command line, taken apart: `Blocked=True/PolicyDenied` is a type, its status and a reason.

use conditions::Status;

use super::lookup::Refused;

/// As many names as there can be: a kind, a type and a reason.
const MOST: usize = 3;
const STATUSES: [Status; 3] = [Status::True, Status::False, Status::Unknown];

/// What stands on the command line, however it is written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Words<'a> {
    /// Of a kind, a type and a reason, in this order; each may be left out.
    pub(super) names: Vec<&'a str>,
    /// The status that stands after an equals sign.
    pub(super) status: Option<Status>,
}

/// Takes words apart at slashes and equals signs.
pub(super) fn read(words: &[String]) -> Result<Words<'_>, Refused> {
    let malformed = || Refused::Malformed { found: words.join(" ") };
    let (mut names, mut statuses) = (Vec::new(), Vec::new());
    for part in words.iter().flat_map(|word| word.split('/')).filter(|part| !part.is_empty()) {
        match part.split_once('=') {
            None => names.push(part),
            Some(("", _)) => return Err(malformed()),
            Some((name, status)) => {
                names.push(name);
                statuses.push(status_called(status)?);
            }
        }
    }
    let is_empty = names.is_empty() && !words.is_empty();
    if is_empty || names.len() > MOST || statuses.len() > 1 {
        return Err(malformed());
    }
    Ok(Words { names, status: statuses.pop() })
}

fn status_called(word: &str) -> Result<Status, Refused> {
    let known = STATUSES.into_iter().find(|status| status.as_str().eq_ignore_ascii_case(word));
    known.ok_or_else(|| Refused::UnknownStatus { found: word.to_owned() })
}
