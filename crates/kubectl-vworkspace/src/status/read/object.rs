//! Reading one object, without what no rule looks at: half of a live object is managed fields and pod templates.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// How numbers arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// As they are written: `1.0` is no integer.
    AsWritten,
    /// As kubectl reads YAML: it goes through JSON on the way, where `1.0` and `1e3` become `1` and `1000`.
    IntegralFloatsAreIntegers,
}

/// Which part of an object is read; it decides which fields are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Object,
    Metadata,
    Spec,
    Whole,
}

impl Part {
    fn child(self, key: &str) -> Option<Part> {
        const METADATA: [&str; 5] =
            ["name", "namespace", "generation", "creationTimestamp", "deletionTimestamp"];
        const BULKY: [&str; 4] = ["template", "selector", "containers", "volumes"];
        match self {
            Part::Whole => Some(Part::Whole),
            Part::Object => match key {
                "metadata" => Some(Part::Metadata),
                "spec" => Some(Part::Spec),
                "apiVersion" | "kind" | "status" | "items" => Some(Part::Whole),
                _ => None,
            },
            Part::Metadata => METADATA.contains(&key).then_some(Part::Whole),
            Part::Spec => (!BULKY.contains(&key)).then_some(Part::Whole),
        }
    }
}

/// Reads a value of a part.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueSeed {
    pub(super) part: Part,
    pub(super) numbers: Numbers,
}

impl<'de> DeserializeSeed<'de> for ValueSeed {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl ValueSeed {
    /// The value of `key`, or nothing if no rule looks at it.
    pub(super) fn field<'de, A: MapAccess<'de>>(
        self,
        key: &str,
        map: &mut A,
    ) -> Result<Option<Value>, A::Error> {
        match self.part.child(key) {
            Some(part) => map.next_value_seed(ValueSeed { part, ..self }).map(Some),
            None => map.next_value::<IgnoredAny>().map(|_| None),
        }
    }

    fn float(self, number: f64) -> Value {
        // Go writes floats of this size without an exponent, and an i64 holds them.
        let fits = number.fract() == 0.0 && number.abs() < 2_f64.powi(63);
        // `-0` is an integer; serde_json makes a float of it.
        let is_negative_zero = number == 0.0 && number.is_sign_negative();
        if is_negative_zero || (self.numbers == Numbers::IntegralFloatsAreIntegers && fits) {
            #[expect(clippy::cast_possible_truncation, reason = "integral and in range")]
            return Value::from(number as i64);
        }
        Number::from_f64(number).map_or(Value::Null, Value::Number)
    }
}

impl<'de> Visitor<'de> for ValueSeed {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_i128<E>(self, number: i128) -> Result<Value, E> {
        Ok(i64::try_from(number).map_or_else(|_| self.float(number as f64), Value::from))
    }

    fn visit_u128<E>(self, number: u128) -> Result<Value, E> {
        Ok(u64::try_from(number).map_or_else(|_| self.float(number as f64), Value::from))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(self.float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element_seed(ValueSeed { part: Part::Whole, ..self })? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if let Some(value) = self.field(&key, &mut map)? {
                fields.insert(key, value);
            }
        }
        Ok(Value::Object(fields))
    }
}
