//! Canonical JSON: one text for one value, and nothing else is read.

use agent_protocol::canonical::{NotCanonical, from_text, to_text};
use agent_protocol::digest_of;
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn numbers_are_written_as_ecmascript_does_and_whole_ones_in_full() {
    let told = [
        ("1.0", "1"),
        ("1e0", "1"),
        ("-0.0", "0"),
        ("-0", "0"),
        ("0.5", "0.5"),
        ("-12.25", "-12.25"),
        ("0.000001", "0.000001"),
        ("0.0000001", "1e-7"),
        ("1.5e-9", "1.5e-9"),
        ("123456.789", "123456.789"),
        ("1e20", "100000000000000000000"),
        ("1e21", "1e+21"),
        ("-1.25e+30", "-1.25e+30"),
        ("333333333.33333329", "333333333.3333333"),
        ("9007199254740993", "9007199254740993"),
        ("18446744073709551615", "18446744073709551615"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("5e-324", "5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
    ];
    for (text, written) in told {
        let value: Value = serde_json::from_str(text).expect(text);
        assert_eq!(to_text(&value), written, "{text}");
    }
}

#[test]
fn keys_are_sorted_by_their_bytes_at_every_depth() {
    let value =
        json!({"b": {"z": 1, "A": 2}, "a": [{"d": null, "c": true}], "é": 1, "\u{10000}": 2, "\u{fb33}": 3});
    assert_eq!(
        to_text(&value),
        "{\"a\":[{\"c\":true,\"d\":null}],\"b\":{\"A\":2,\"z\":1},\"é\":1,\"\u{fb33}\":3,\"\u{10000}\":2}"
    );
}

#[test]
fn another_form_is_told_by_where_it_parts() {
    let told = [
        (r#"{"a": 1}"#, NotCanonical::OtherForm { at: 5 }),
        (r#"{"b":1,"a":2}"#, NotCanonical::OtherForm { at: 2 }),
        (r#"{"a":1,"a":2}"#, NotCanonical::OtherForm { at: 5 }),
        ("1.0", NotCanonical::OtherForm { at: 1 }),
        (r#""\u0041""#, NotCanonical::OtherForm { at: 1 }),
        ("18446744073709551616", NotCanonical::OtherForm { at: 16 }),
        ("1 2", NotCanonical::NotJson { line: 1, column: 3 }),
        ("1e999", NotCanonical::NotJson { line: 1, column: 5 }),
        ("", NotCanonical::NotJson { line: 1, column: 0 }),
    ];
    for (text, error) in told {
        assert_eq!(from_text(text), Err(error), "{text}");
    }
}

/// Any JSON value.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(any::<String>(), inner, 0..6).prop_map(Value::from_iter),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_and_written_the_same(value in values()) {
        let text = to_text(&value);
        let read = from_text(&text).expect("its own writing is canonical");
        prop_assert_eq!(to_text(&read), text);
        prop_assert_eq!(digest_of(&read), digest_of(&value));
    }

    #[test]
    fn a_double_keeps_its_value(double in any::<f64>()) {
        if double.is_finite() {
            prop_assert_eq!(to_text(&Value::from(double)).parse::<f64>(), Ok(double));
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let _ = from_text(&text);
    }
}
