//! YAML, as kubectl reads it: version 1.1 booleans and octal numbers, merge keys. Of a key given twice the last value
//! counts; the strict profile refuses it.

use kstatus::Profile;
use serde::de::DeserializeSeed;
use serde_saphyr::DuplicateKeyPolicy;

use super::Documents;
use super::chunk::Chunk;
use super::object::Numbers;
use super::problem::{Place, Problem};

/// As deep as serde_json goes.
const DEPTH: usize = 128;

/// Reads the one document of a chunk.
pub(super) fn read(chunk: &Chunk<'_>, documents: &mut Documents<'_>) {
    let profile = documents.rows.options.profile;
    // Whether it could be read shows in the problems.
    let _ = documents.add(|draft| {
        let text = text_of(chunk)?;
        let options = options(text.len(), profile);
        serde_saphyr::with_deserializer_from_str_with_options(text, options, |deserializer| {
            draft.seed(Numbers::IntegralFloatsAreIntegers).deserialize(deserializer)
        })
        .map_err(|error| problem(&error, chunk))
    });
}

fn text_of<'a>(chunk: &Chunk<'a>) -> Result<&'a str, Problem> {
    std::str::from_utf8(chunk.text).map_err(|error| {
        let before = chunk.text.get(..error.valid_up_to()).unwrap_or_default();
        let line = chunk.lines_before + 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        let text = "expected YAML or JSON as UTF-8 text, found bytes that are no text";
        Problem::new(text).at(Place { line, column })
    })
}

/// Size is limited by the file, which is in memory already; what one can make of a small file stays limited.
fn options(length: usize, profile: Profile) -> serde_saphyr::Options {
    let most = length.saturating_add(16).saturating_mul(2);
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: most,
            max_nodes: most,
            max_total_scalar_bytes: most,
            max_depth: DEPTH,
            max_merge_keys: most,
            enforce_alias_anchor_ratio: false,
        },
        duplicate_keys: match profile {
            Profile::Compatible => DuplicateKeyPolicy::LastWins,
            Profile::Strict => DuplicateKeyPolicy::Error,
        },
        emit_comments: false,
        legacy_octal_numbers: true,
        with_snippet: false,
    }
}

fn problem(error: &serde_saphyr::Error, chunk: &Chunk<'_>) -> Problem {
    let problem = Problem::new(format!("failed to read YAML: {}", words_of(error)));
    match error.location() {
        Some(location) if location.line() > 0 => problem.at(Place {
            line: chunk.lines_before + usize::try_from(location.line()).unwrap_or_default(),
            column: usize::try_from(location.column()).unwrap_or_default().max(1),
        }),
        _ => problem,
    }
}

/// Without its place, which counts from the start of the chunk, and without advice for programmers.
fn words_of(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    let line = text.lines().next().unwrap_or_default();
    if line.contains("Depth {") {
        return format!("expected at most {DEPTH} levels of nesting, found more");
    }
    let line = line.split(" at line ").next().unwrap_or_default();
    line.split(", set DuplicateKeyPolicy").next().unwrap_or_default().to_owned()
}
