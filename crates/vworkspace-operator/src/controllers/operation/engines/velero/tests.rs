mod life;

use serde_json::json;

use super::testing::*;
use super::*;

#[test]
fn an_object_has_the_name_of_its_operation_and_another_one_if_that_is_taken() {
    let long = "a".repeat(70);
    let dashed = format!("{}-b.{}", "a".repeat(52), "c".repeat(20));
    let table = [
        ("nightly", ["nightly", "nightly-12345678"].map(str::to_owned)),
        (&"a".repeat(63), ["a".repeat(63), format!("{}-12345678", "a".repeat(54))]),
        (&long, [format!("{}-12345678", "a".repeat(54)), format!("{}-12345678", "a".repeat(54))]),
        (&dashed, [format!("{}-b-12345678", "a".repeat(52)), format!("{}-b-12345678", "a".repeat(52))]),
    ];
    for (name, expected) in table {
        let told = names(&named(name, &json!({})));
        assert_eq!(told, expected);
        assert!(told.iter().all(|name| name.len() <= LONGEST_NAME));
    }
}

#[test]
fn what_changes_with_every_attempt_is_not_quoted() {
    let table = [
        (
            "StatusCode: 404, RequestID: 17B4, HostID: dd9=, NoSuchBucket: gone",
            "StatusCode: 404, RequestID: ..., HostID: ..., NoSuchBucket: gone",
        ),
        (
            "NoSuchBucket\n  status code: 404, request id: 17B4, host id: dd9",
            "NoSuchBucket status code: 404, request id: ..., host id: ...",
        ),
        ("RequestID: ", "RequestID:"),
        ("connection refused", "connection refused"),
    ];
    for (message, expected) in table {
        assert_eq!(quoted(message), expected);
    }
}

#[test]
fn progress_is_told_in_tenths() {
    let table = [
        (None, None, 0),
        (Some(1), None, 0),
        (Some(9), Some(100), 0),
        (Some(10), Some(100), 10),
        (Some(99), Some(100), 90),
        (Some(100), Some(100), 100),
        (Some(150), Some(100), 100),
        (Some(-1), Some(100), 0),
        (Some(i64::MAX), Some(1), 100),
    ];
    for (done, total, expected) in table {
        assert_eq!(percent(done, total), expected, "{done:?} of {total:?}");
    }
}
