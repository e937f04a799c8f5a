//! One document: an object, a List of them, or an array of them.
//!
//! Items are judged while they are read. Whether the document is a List shows in its `kind` and `metadata`, which may
//! come after `items`; so the answers are held until its end. Nothing is held of what is known to be no List.

use std::fmt;

use kstatus::{Options, Profile};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::object::{Numbers, Part, ValueSeed};
use super::problem::Problem;
use crate::status::row::Row;

/// What was read of a document so far.
#[derive(Debug)]
pub(super) struct Draft {
    options: Options,
    root: Root,
    items_are: Items,
    items: Vec<Item>,
    /// How many items were read; a List among them counts as one.
    read: usize,
}

#[derive(Debug)]
enum Root {
    Nothing,
    Object(Map<String, Value>),
    Array,
    Other(Value),
}

/// What the field `items` was found to be.
#[derive(Debug)]
enum Items {
    /// Not there, or null.
    Nothing,
    List,
    /// What there is instead, in words.
    Other(String),
}

#[derive(Debug)]
enum Item {
    Judged(Row),
    /// Its kind is that of the List, which is not known yet.
    Nameless(usize, Value),
    Wrong(Problem),
}

/// What a document comes to.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) rows: Vec<Row>,
    pub(super) problems: Vec<Problem>,
}

impl Draft {
    pub(super) fn new(options: Options) -> Draft {
        Draft { options, root: Root::Nothing, items_are: Items::Nothing, items: Vec::new(), read: 0 }
    }

    /// The seed that fills this draft.
    pub(super) fn seed(&mut self, numbers: Numbers) -> DraftSeed<'_> {
        DraftSeed { draft: self, numbers }
    }

    /// Whether there was anything at all.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self.root, Root::Nothing)
    }

    /// Judges what is left. A document that broke off has what came before, unless that is half an object.
    pub(super) fn finish(self, broken: Option<Problem>) -> Found {
        let Draft { options, root, items_are, items, .. } = self;
        let mut found = Found::default();
        match root {
            Root::Nothing | Root::Array => found.take_items(items, &options, None),
            Root::Other(value) => {
                let text = format!("expected an object with `kind`, found {}", name_of(&value));
                found.problems.push(Problem::new(text));
            }
            Root::Object(root) if broken.is_some() => {
                let names = ListNames::of(&root, &items_are);
                if names.is_some() || may_be_list(&root) {
                    found.take_items(items, &options, names.as_ref());
                }
            }
            Root::Object(root) => match (ListNames::of(&root, &items_are), items_are) {
                (Some(_), Items::Other(other)) => found.problems.push(wrong_items(&other)),
                (Some(names), _) => found.take_items(items, &options, Some(&names)),
                (None, _) => found.take_object(&Value::Object(root), &options, None),
            },
        }
        found.problems.extend(broken);
        found
    }

    /// Whether what was read so far may turn out to be a List.
    fn may_be_list(&self) -> bool {
        match &self.root {
            Root::Object(root) => may_be_list(root),
            Root::Nothing | Root::Array => true,
            Root::Other(_) => false,
        }
    }

    /// A field given twice has its last value.
    fn start_items(&mut self, are: Items) {
        self.items_are = are;
        self.items.clear();
        self.read = 0;
    }

    fn add_item(&mut self, value: Value) {
        let names = match &self.root {
            Root::Object(root) => ListNames::of(root, &self.items_are),
            _ => None,
        };
        self.keep(value, names.as_ref());
        self.read += 1;
    }

    fn keep(&mut self, value: Value, names: Option<&ListNames>) {
        match flatten(value, names) {
            Flat::List(values, names) => values.into_iter().for_each(|value| self.keep(value, Some(&names))),
            Flat::Object(value) if is_nameless(&value) => self.items.push(Item::Nameless(self.read, value)),
            Flat::Object(value) => self.items.push(Item::Judged(Row::of(&value, &self.options))),
            Flat::Wrong(problem) => self.items.push(Item::Wrong(problem.of_item(self.read))),
        }
    }
}

impl Found {
    fn take_items(&mut self, items: Vec<Item>, options: &Options, names: Option<&ListNames>) {
        for item in items {
            match item {
                Item::Judged(row) => self.rows.push(row),
                Item::Wrong(problem) => self.problems.push(problem),
                Item::Nameless(index, value) => {
                    if let Flat::Object(value) = flatten(value, names) {
                        self.take_object(&value, options, Some(index));
                    }
                }
            }
        }
    }

    fn take_object(&mut self, value: &Value, options: &Options, index: Option<usize>) {
        if let Some(problem) = nameless(value) {
            self.problems.push(match index {
                Some(index) => problem.of_item(index),
                None => problem,
            });
        }
        self.rows.push(judge(value, options));
    }
}

/// The reference has an answer for an object without a kind; to be strict is to have none.
fn judge(value: &Value, options: &Options) -> Row {
    let mut row = Row::of(value, options);
    if options.profile == Profile::Strict && is_nameless(value) {
        row = Row { error: Some("no kind".to_owned()), ..Row::unknown(value) };
    }
    row
}

fn is_nameless(value: &Value) -> bool {
    value.get("kind").and_then(Value::as_str).is_none_or(str::is_empty)
}

fn nameless(value: &Value) -> Option<Problem> {
    let kind = match value.get("kind") {
        None => "no kind".to_owned(),
        Some(Value::String(kind)) if kind.is_empty() => "an empty kind".to_owned(),
        Some(Value::String(_)) => return None,
        Some(other) => format!("{} as kind", name_of(other)),
    };
    Some(Problem::new(format!("expected an object with `kind`, found {kind}")))
}

/// What the items of a List are if they do not say so themselves.
#[derive(Debug)]
struct ListNames {
    api_version: String,
    item_kind: String,
}

impl ListNames {
    /// `None` if the object is no List. `kind: List` is one, whatever else it has; of other kinds that end so only
    /// those that have items and no name: an AllowList is an object as any other.
    fn of(root: &Map<String, Value>, items: &Items) -> Option<ListNames> {
        let text = |key| root.get(key).and_then(Value::as_str).unwrap_or_default();
        let item_kind = text("kind").strip_suffix("List")?;
        let is_list = item_kind.is_empty() || (matches!(items, Items::List) && !has_name(root));
        is_list.then(|| ListNames {
            api_version: text("apiVersion").to_owned(),
            item_kind: item_kind.to_owned(),
        })
    }
}

/// Whether an object of which only these fields are known may yet be a List.
fn may_be_list(root: &Map<String, Value>) -> bool {
    match root.get("kind").map(|kind| kind.as_str().unwrap_or_default()) {
        None | Some("List") => true,
        Some(kind) => kind.ends_with("List") && !has_name(root),
    }
}

fn has_name(root: &Map<String, Value>) -> bool {
    let name = root.get("metadata").and_then(|metadata| metadata.get("name"));
    name.is_some_and(|name| !name.is_null() && name != "")
}

fn wrong_items(found: &str) -> Problem {
    Problem::new(format!("expected a list as `items` of a List, found {found}"))
}

enum Flat {
    Object(Value),
    List(Vec<Value>, ListNames),
    Wrong(Problem),
}

/// Gives an item its names, or takes a List in a List apart.
fn flatten(value: Value, names: Option<&ListNames>) -> Flat {
    let Value::Object(mut fields) = value else {
        return Flat::Wrong(Problem::new(format!("expected an object, found {}", name_of(&value))));
    };
    let items_are = match fields.get("items") {
        None | Some(Value::Null) => Items::Nothing,
        Some(Value::Array(_)) => Items::List,
        Some(other) => Items::Other(name_of(other)),
    };
    if let Some(inner) = ListNames::of(&fields, &items_are) {
        return match (items_are, fields.remove("items")) {
            (Items::Other(other), _) => Flat::Wrong(wrong_items(&other)),
            (_, Some(Value::Array(items))) => Flat::List(items, inner),
            _ => Flat::List(Vec::new(), inner),
        };
    }
    if let Some(names) = names.filter(|names| !names.item_kind.is_empty())
        && !fields.contains_key("kind")
        && !fields.contains_key("apiVersion")
    {
        fields.insert("kind".to_owned(), Value::from(names.item_kind.as_str()));
        fields.insert("apiVersion".to_owned(), Value::from(names.api_version.as_str()));
    }
    Flat::Object(Value::Object(fields))
}

fn name_of(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(flag) => format!("the boolean {flag}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => {
            let short: String = text.chars().take(40).collect();
            format!("the text {short:?}")
        }
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// Fills a draft.
#[derive(Debug)]
pub(super) struct DraftSeed<'d> {
    draft: &'d mut Draft,
    numbers: Numbers,
}

impl<'de> DeserializeSeed<'de> for DraftSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl DraftSeed<'_> {
    fn other<E>(self, value: Value) -> Result<(), E> {
        self.draft.root = Root::Other(value);
        Ok(())
    }
}

impl<'de> Visitor<'de> for DraftSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    /// An empty document is none.
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, flag: bool) -> Result<(), E> {
        self.other(Value::from(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.other(Value::from(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.other(Value::from(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.other(Value::from(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.other(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        self.draft.root = Root::Array;
        ItemsSeed { draft: self.draft, numbers: self.numbers }.visit_seq(seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.draft.root = Root::Object(Map::new());
        let seed = ValueSeed { part: Part::Object, numbers: self.numbers };
        while let Some(key) = map.next_key::<String>()? {
            if key == "items" {
                map.next_value_seed(ItemsSeed { draft: &mut *self.draft, numbers: self.numbers })?;
                continue;
            }
            let value = seed.field(&key, &mut map)?;
            if let (Some(value), Root::Object(root)) = (value, &mut self.draft.root) {
                root.insert(key, value);
            }
        }
        Ok(())
    }
}

/// Reads `items`: judged one by one if they are a list of a List, of no interest otherwise.
#[derive(Debug)]
struct ItemsSeed<'d> {
    draft: &'d mut Draft,
    numbers: Numbers,
}

impl<'de> DeserializeSeed<'de> for ItemsSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl ItemsSeed<'_> {
    fn other<E>(self, value: &Value) -> Result<(), E> {
        self.draft.start_items(Items::Other(name_of(value)));
        Ok(())
    }
}

impl<'de> Visitor<'de> for ItemsSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.draft.start_items(Items::List);
        if !self.draft.may_be_list() {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        let seed = ValueSeed { part: Part::Object, numbers: self.numbers };
        while let Some(value) = seq.next_element_seed(seed)? {
            self.draft.add_item(value);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        self.other(&Value::Object(Map::new()))
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.draft.start_items(Items::Nothing);
        Ok(())
    }

    fn visit_bool<E>(self, flag: bool) -> Result<(), E> {
        self.other(&Value::from(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.other(&Value::from(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.other(&Value::from(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.other(&Value::from(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.other(&Value::from(text))
    }
}
