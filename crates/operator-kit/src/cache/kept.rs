//! One object as a cache keeps it: as text, packed.
//!
//! A tree of JSON values takes several times the room of its text, and most of a text is the same for all objects of a
//! kind. So each is packed against a sample of its kind, and unpacked when somebody looks, which takes microseconds.

use std::sync::{Arc, Mutex, PoisonError};

use kube::api::DynamicObject;
use lz4_flex::block::{compress_with_dict, decompress_with_dict};
use serde::de::{DeserializeOwned, Error as _};
use serde_json::Value;

use super::incoming::Incoming;
use crate::object::ObjectKey;

/// The packer looks back no further.
const LONGEST_SAMPLE: usize = 64 * 1024;

/// An object that a watch has shown.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) version: Box<str>,
    /// What it can be found by, besides its own name.
    pub(crate) names: Box<[ObjectKey]>,
    packed: Box<[u8]>,
    /// How long the text is.
    length: usize,
    /// What it was packed against.
    sample: Arc<[u8]>,
}

impl Kept {
    /// Reads it as what it should be.
    pub(crate) fn read<K: DeserializeOwned>(&self) -> Result<K, serde_json::Error> {
        let text = self.text()?;
        serde_json::from_slice(&text).or_else(|_| explained(serde_json::from_slice(&text).map_err(too_deep)?))
    }

    /// Reads as much of it as can be read.
    pub(crate) fn head(&self) -> Result<DynamicObject, serde_json::Error> {
        self.incoming().map(|incoming| incoming.whole().clone())
    }

    /// As it came.
    pub(crate) fn incoming(&self) -> Result<Incoming, serde_json::Error> {
        Incoming::read(&String::from_utf8_lossy(&self.text()?))
    }

    fn text(&self) -> Result<Vec<u8>, serde_json::Error> {
        decompress_with_dict(&self.packed, self.length, &self.sample).map_err(serde_json::Error::custom)
    }
}

/// It came as JSON, so nothing else can be wrong with it before it is a value.
fn too_deep(error: serde_json::Error) -> serde_json::Error {
    if error.is_syntax() { serde_json::Error::custom("it is nested too deeply") } else { error }
}

/// Reads a value, or says which field is wrong, and no column, which moves with every change of something else.
fn explained<K: DeserializeOwned>(value: Value) -> Result<K, serde_json::Error> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let wrong = error.into_inner();
        if path == "." { wrong } else { serde_json::Error::custom(format!("{path}: {wrong}")) }
    })
}

/// Packs the objects of one kind.
#[derive(Debug)]
pub(crate) struct Packer {
    /// One of the larger objects: small ones have fewer of the words that the others use.
    sample: Mutex<Arc<[u8]>>,
}

impl Packer {
    pub(crate) fn new() -> Self {
        Self { sample: Mutex::new(Arc::from([])) }
    }

    pub(crate) fn pack(&self, incoming: &Incoming, names: Vec<ObjectKey>) -> Kept {
        // What came as JSON can be written as JSON.
        let text = incoming.text().unwrap_or_default();
        let sample = self.sample_for(&text);
        Kept {
            version: incoming.head.metadata.resource_version.as_deref().unwrap_or_default().into(),
            names: names.into(),
            packed: compress_with_dict(&text, &sample).into(),
            length: text.len(),
            sample,
        }
    }

    /// A text that is much larger than the sample takes its place; objects that were packed before keep theirs.
    fn sample_for(&self, text: &[u8]) -> Arc<[u8]> {
        let mut sample = self.sample.lock().unwrap_or_else(PoisonError::into_inner);
        let known = Arc::clone(&sample);
        if text.len() > known.len() + known.len() / 4 && text.len() <= LONGEST_SAMPLE {
            *sample = Arc::from(text);
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(name: &str, words: &Value) -> DynamicObject {
        serde_json::from_value(json!({"apiVersion": "v1", "kind": "X",
            "metadata": {"name": name, "resourceVersion": "7"}, "spec": words}))
        .unwrap()
    }

    #[test]
    fn what_is_kept_is_what_came() {
        let packer = Packer::new();
        let long: Vec<String> = (0..20_000).map(|number| format!("word {number}")).collect();
        for words in [json!(null), json!({"a": [1, "x", null, true]}), json!({"b": long}), json!({"a": [1]})]
        {
            let came = object("a", &words);
            let kept = packer.pack(&came.clone().into(), Vec::new());
            assert_eq!(kept.read::<DynamicObject>().unwrap(), came);
            assert_eq!(&*kept.version, "7");
        }
    }

    #[test]
    fn the_second_object_of_a_kind_takes_a_fraction_of_the_room() {
        let packer = Packer::new();
        let words = |number: usize| {
            let conditions: Vec<Value> = ["Ready", "Reconciling", "Stalled", "Degraded", "Blocked", "Suspended"]
                .iter()
                .map(|type_| json!({"type": type_, "status": "False", "reason": format!("Not{type_}"),
                    "message": format!("{type_} of app-{number} is as it should be."), "observedGeneration": number}))
                .collect();
            json!({ "conditions": conditions })
        };
        let first = packer.pack(&object("app-1", &words(1)).into(), Vec::new());
        let second = packer.pack(&object("app-2", &words(2)).into(), Vec::new());
        assert!(second.packed.len() * 4 < second.length, "{} of {}", second.packed.len(), second.length);
        assert!(
            second.packed.len() * 2 < first.packed.len(),
            "{} and {}",
            second.packed.len(),
            first.packed.len()
        );
    }

    #[test]
    fn what_is_wrong_is_told_by_its_field_and_not_by_its_place_in_the_text() {
        #[derive(Debug, serde::Deserialize)]
        struct Strict {
            #[serde(rename = "spec")]
            _spec: u8,
        }
        let kept = Packer::new().pack(&object("a", &json!("text")).into(), Vec::new());
        let told = kept.read::<Strict>().unwrap_err().to_string();
        assert_eq!(told, "spec: invalid type: string \"text\", expected u8");
    }

    #[test]
    fn of_what_cannot_be_read_the_head_is_known_and_why_it_cannot() {
        let incoming = Incoming::read(&crate::cache::incoming::tests::deep("a", "7")).unwrap();
        let kept = Packer::new().pack(&incoming, Vec::new());
        assert_eq!(kept.head().unwrap().metadata.name.as_deref(), Some("a"));
        let told = kept.read::<DynamicObject>().unwrap_err().to_string();
        assert_eq!(told, "it is nested too deeply");
    }
}
