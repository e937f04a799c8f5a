//! What the API server accepts in a `metav1.Condition`, checked where a value is made: a status that the server
//! refuses is a status nobody sees.

/// Longest condition type, in characters.
pub const MAX_TYPE: usize = 316;
/// Longest reason, in characters.
pub const MAX_REASON: usize = 1024;
/// Longest message, in characters.
pub const MAX_MESSAGE: usize = 32768;
/// The pattern of a condition type.
pub const TYPE_PATTERN: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
/// The pattern of a reason.
pub const REASON_PATTERN: &str = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";

const ELLIPSIS: char = '…';

/// Whether `reason` fits [`REASON_PATTERN`] and [`MAX_REASON`].
#[must_use]
pub const fn is_reason(reason: &str) -> bool {
    let mut rest = reason.as_bytes();
    if rest.len() > MAX_REASON {
        return false;
    }
    let mut at_start = true;
    let mut may_end = false;
    while let [byte, tail @ ..] = rest {
        let word = byte.is_ascii_alphanumeric() || *byte == b'_';
        let fits = if at_start { byte.is_ascii_alphabetic() } else { word || *byte == b',' || *byte == b':' };
        if !fits {
            return false;
        }
        at_start = false;
        may_end = word;
        rest = tail;
    }
    may_end
}

/// Whether `name` fits [`TYPE_PATTERN`] and [`MAX_TYPE`].
#[must_use]
pub fn is_type(name: &str) -> bool {
    if name.len() > MAX_TYPE {
        return false;
    }
    match name.rsplit_once('/') {
        None => is_type_word(name.as_bytes()),
        Some((domain, word)) => domain.split('.').all(is_domain_label) && is_type_word(word.as_bytes()),
    }
}

/// Whether `name` is a type without a domain, as all of ours are.
#[must_use]
pub const fn is_plain_type(name: &str) -> bool {
    name.len() <= MAX_TYPE && is_type_word(name.as_bytes())
}

const fn is_type_word(word: &[u8]) -> bool {
    let mut rest = word;
    let mut at_start = true;
    let mut may_end = false;
    while let [byte, tail @ ..] = rest {
        let inner = *byte == b'-' || *byte == b'_' || *byte == b'.';
        if !byte.is_ascii_alphanumeric() && (at_start || !inner) {
            return false;
        }
        at_start = false;
        may_end = byte.is_ascii_alphanumeric();
        rest = tail;
    }
    may_end
}

fn is_domain_label(label: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !label.is_empty() && label.bytes().all(fits) && !label.starts_with('-') && !label.ends_with('-')
}

/// `message` as the server accepts it: one that is too long is cut at a character and ends in an ellipsis.
#[must_use]
pub fn fit_message(mut message: String) -> String {
    // Two looks from the front, so that the rest of a huge message is not counted.
    let mut places = message.char_indices().map(|(place, _)| place).skip(MAX_MESSAGE - 1);
    if let (Some(last), Some(_)) = (places.next(), places.next()) {
        message.truncate(last);
        message.push(ELLIPSIS);
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_those_of_the_pattern() {
        for good in ["A", "MissingSecret", "a_b", "A,b:c", "A1_", &"A".repeat(1024)] {
            assert!(is_reason(good), "{good}");
        }
        for bad in ["", "1A", "_A", "A,", "A:", "A b", "A-b", "Ä", "A.b", &"A".repeat(1025)] {
            assert!(!is_reason(bad), "{bad}");
        }
    }

    #[test]
    fn types_are_those_of_the_pattern() {
        for good in ["Ready", "R", "9", "a-b_c.d", "example.com/Ready", "a.b-c/Ready", &"A".repeat(316)] {
            assert!(is_type(good), "{good}");
        }
        for bad in
            ["", "-A", "A-", "A b", "/Ready", "Example.com/Ready", "a..b/Ready", "a/b/C", &"A".repeat(317)]
        {
            assert!(!is_type(bad), "{bad}");
        }
        assert!(is_plain_type("Ready") && !is_plain_type("example.com/Ready") && !is_plain_type(""));
    }

    #[test]
    fn a_long_message_is_cut_at_a_character_and_says_so() {
        for unit in ["x", "é", "字", "🦀"] {
            let at_the_limit = unit.repeat(MAX_MESSAGE);
            assert_eq!(fit_message(at_the_limit.clone()), at_the_limit);
            let cut = fit_message(unit.repeat(MAX_MESSAGE + 1));
            assert_eq!(cut.chars().count(), MAX_MESSAGE, "{unit}");
            assert!(cut.ends_with(&format!("{unit}…")));
            assert_eq!(fit_message(cut.clone()), cut);
        }
    }
}
