//! A chart's values.schema.json, as far as it can tell of deprecated keys. It is never held as JSON: a value of two bytes
//! would take a hundred.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use operator_kit::one_line;

/// How many schemas within a schema are kept; those behind are left out. Three times as many as Kubernetes' own has.
pub(super) const NODE_LIMIT: usize = 20_000;
/// A key or a reference with more bytes is left out.
pub(super) const LONGEST_NAME: usize = 1024;
/// Characters of a description.
const LONGEST_NOTE: usize = 200;

/// A schema, and those inside it that describe the same value or a key of it.
#[derive(Debug, Default)]
pub(super) struct Schema {
    pub(super) deprecated: bool,
    /// On one line, and not too long.
    pub(super) description: Option<Box<str>>,
    pub(super) reference: Option<Box<str>>,
    pub(super) all_of: Box<[Schema]>,
    pub(super) properties: Named,
    /// `$defs`, and `definitions` as they were called before.
    defs: Named,
    definitions: Named,
}

/// Schemas by name, in its order.
#[derive(Debug, Default)]
pub(super) struct Named(Box<[(Box<str>, Schema)]>);

impl Schema {
    /// Reads a text that must be JSON. What is no schema, or not as a schema has it, is left out.
    pub(super) fn read(text: &[u8]) -> Result<Self, serde_json::Error> {
        let room = Cell::new(NODE_LIMIT);
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        let schema = Reader::of(&room).deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(schema)
    }

    /// What a reference within the schema, such as `#/$defs/tls`, points to.
    pub(super) fn target(&self, reference: &str) -> Option<&Schema> {
        let mut tokens = reference.strip_prefix('#')?.split('/');
        // Before the first slash there is nothing.
        tokens.next().filter(|start| start.is_empty())?;
        let mut target = self;
        while let Some(keyword) = tokens.next() {
            let token = tokens.next()?.replace("~1", "/").replace("~0", "~");
            target = match keyword {
                "properties" => target.properties.get(&token),
                "$defs" => target.defs.get(&token),
                "definitions" => target.definitions.get(&token),
                "allOf" => target.all_of.get(token.parse::<usize>().ok()?),
                _ => None,
            }?;
        }
        Some(target)
    }
}

impl Named {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Schema)> {
        self.0.iter().map(|(name, schema)| (&**name, schema))
    }

    fn get(&self, name: &str) -> Option<&Schema> {
        let place = self.0.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        self.0.get(place).map(|(_, schema)| schema)
    }
}

/// Something that is read from JSON of one kind; any other kind counts as if it were not there.
trait Part: Default {
    fn from_bool(_: bool) -> Self {
        Self::default()
    }

    fn from_text(_: &str) -> Self {
        Self::default()
    }

    fn from_list<'de, A: SeqAccess<'de>>(mut list: A, _: &Cell<usize>) -> Result<Self, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    fn from_object<'de, A: MapAccess<'de>>(mut object: A, _: &Cell<usize>) -> Result<Self, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

impl Part for bool {
    fn from_bool(value: bool) -> Self {
        value
    }
}

#[derive(Default)]
struct Description(Option<Box<str>>);

impl Part for Description {
    fn from_text(text: &str) -> Self {
        Self(Some(one_line(text, LONGEST_NOTE).into()))
    }
}

#[derive(Default)]
struct Reference(Option<Box<str>>);

impl Part for Reference {
    fn from_text(text: &str) -> Self {
        Self((text.len() <= LONGEST_NAME).then(|| text.into()))
    }
}

impl Part for Schema {
    fn from_object<'de, A: MapAccess<'de>>(mut object: A, room: &Cell<usize>) -> Result<Self, A::Error> {
        let mut schema = Self::default();
        while let Some(key) = object.next_key::<String>()? {
            match key.as_str() {
                "deprecated" => schema.deprecated = object.next_value_seed(Reader::of(room))?,
                "description" => {
                    schema.description = object.next_value_seed(Reader::<Description>::of(room))?.0;
                }
                "$ref" => schema.reference = object.next_value_seed(Reader::<Reference>::of(room))?.0,
                "allOf" => schema.all_of = object.next_value_seed(Reader::of(room))?,
                "properties" => schema.properties = object.next_value_seed(Reader::of(room))?,
                "$defs" => schema.defs = object.next_value_seed(Reader::of(room))?,
                "definitions" => schema.definitions = object.next_value_seed(Reader::of(room))?,
                _ => drop(object.next_value::<IgnoredAny>()?),
            }
        }
        Ok(schema)
    }
}

impl Part for Box<[Schema]> {
    fn from_list<'de, A: SeqAccess<'de>>(mut list: A, room: &Cell<usize>) -> Result<Self, A::Error> {
        let mut schemas = Vec::new();
        loop {
            if is_taken(room) {
                let Some(schema) = list.next_element_seed(Reader::of(room))? else { break };
                schemas.push(schema);
            } else if list.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
        }
        Ok(schemas.into())
    }
}

impl Part for Named {
    fn from_object<'de, A: MapAccess<'de>>(mut object: A, room: &Cell<usize>) -> Result<Self, A::Error> {
        let mut schemas: Vec<(Box<str>, Schema)> = Vec::new();
        while let Some(name) = object.next_key::<String>()? {
            if name.len() <= LONGEST_NAME && is_taken(room) {
                schemas.push((name.into(), object.next_value_seed(Reader::of(room))?));
            } else {
                object.next_value::<IgnoredAny>()?;
            }
        }
        // The last of several with the same name counts, as in all of JSON.
        schemas.reverse();
        schemas.sort_by(|(one, _), (other, _)| one.cmp(other));
        schemas.dedup_by(|(one, _), (other, _)| one == other);
        Ok(Self(schemas.into()))
    }
}

/// Takes the room for one more schema, if there is some.
fn is_taken(room: &Cell<usize>) -> bool {
    let left = room.get().checked_sub(1);
    room.set(left.unwrap_or_default());
    left.is_some()
}

/// Reads one part, whatever the JSON is.
struct Reader<'r, P> {
    room: &'r Cell<usize>,
    part: PhantomData<P>,
}

impl<'r, P> Reader<'r, P> {
    fn of(room: &'r Cell<usize>) -> Self {
        Self { room, part: PhantomData }
    }
}

impl<'de, P: Part> DeserializeSeed<'de> for Reader<'_, P> {
    type Value = P;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<P, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, P: Part> Visitor<'de> for Reader<'_, P> {
    type Value = P;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<P, E> {
        Ok(P::from_bool(value))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<P, E> {
        Ok(P::default())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<P, E> {
        Ok(P::default())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<P, E> {
        Ok(P::default())
    }

    fn visit_unit<E: Error>(self) -> Result<P, E> {
        Ok(P::default())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<P, E> {
        Ok(P::from_text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<P, A::Error> {
        P::from_list(list, self.room)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<P, A::Error> {
        P::from_object(object, self.room)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    impl Schema {
        fn nodes(&self) -> usize {
            let named = [&self.properties, &self.defs, &self.definitions].into_iter().flat_map(Named::iter);
            1 + named.map(|(_, schema)| schema).chain(&self.all_of).map(Schema::nodes).sum::<usize>()
        }
    }

    #[test]
    fn a_reference_leads_to_what_is_kept() {
        let text = json!({"description": "root", "allOf": [{"description": "first"}],
            "properties": {"a/b": {"description": "a", "properties": {"": {"description": "empty"}}}},
            "$defs": {"x~y": {"description": "x", "$defs": {"in": {"description": "in"}}}},
            "definitions": {"old": {"description": "old"}}, "items": {"description": "items"}});
        let schema = Schema::read(text.to_string().as_bytes()).unwrap();
        let table = [
            ("#", Some("root")),
            ("#/allOf/0", Some("first")),
            ("#/properties/a~1b", Some("a")),
            ("#/properties/a~1b/properties/", Some("empty")),
            ("#/$defs/x~0y/$defs/in", Some("in")),
            ("#/definitions/old", Some("old")),
            ("#/definitions", None),
            ("#/allOf/1", None),
            ("#/allOf/x", None),
            ("#/items", None),
            ("#/", None),
            ("#x", None),
            ("", None),
            ("/definitions/old", None),
            ("other.json#/definitions/old", None),
        ];
        for (reference, expected) in table {
            let found = schema.target(reference).and_then(|schema| schema.description.as_deref());
            assert_eq!(found, expected, "{reference}");
        }
    }

    #[test]
    fn the_last_of_several_with_one_name_counts() {
        let text = r#"{"properties": {"a": {}, "b": {}, "a": {"deprecated": true}}, "deprecated": true, "deprecated": 1}"#;
        let schema = Schema::read(text.as_bytes()).unwrap();
        let found: Vec<_> =
            schema.properties.iter().map(|(name, schema)| (name, schema.deprecated)).collect();
        assert_eq!((found, schema.deprecated), (vec![("a", true), ("b", false)], false));
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let many = |start: &str, one: &str, end: &str| {
            let count = 2_000_000 / one.len();
            format!("{start}{}{end}", vec![one; count].join(","))
        };
        let names: Vec<_> = (0..NODE_LIMIT * 2).map(|number| format!("\"{number}\":{{}}")).collect();
        let table = [
            (many(r#"{"allOf":["#, "{}", "]}"), NODE_LIMIT + 1),
            (many(r#"{"allOf":["#, "[]", "]}"), NODE_LIMIT + 1),
            (format!(r#"{{"properties":{{{}}}}}"#, names.join(",")), NODE_LIMIT + 1),
            (many(r#"{"x":["#, "[]", "]}"), 1),
            (many(r#"{"enum":["#, "\"\"", "]}"), 1),
            (many("[", "{}", "]"), 1),
            (format!(r#"{{"properties":{{"{}":{{}}}}}}"#, "x".repeat(LONGEST_NAME + 1)), 1),
        ];
        for (text, expected) in table {
            let kept = Schema::read(text.as_bytes()).unwrap();
            assert_eq!(kept.nodes(), expected, "{:?}", text.get(..30));
        }
        let long = format!(r##"{{"$ref": "#/{0}", "description": "{0}"}}"##, "x".repeat(1_000_000));
        let schema = Schema::read(long.as_bytes()).unwrap();
        assert_eq!((schema.reference, schema.description.unwrap().len()), (None, LONGEST_NOTE + 3));
    }

    #[test]
    fn what_is_no_json_is_refused_wherever_it_is() {
        for text in ["", "{", "{}{}", r#"{"x": [1,]}"#, r#"{"properties": {"a" 1}}"#, "nul", "\u{feff}{}"] {
            assert!(Schema::read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
