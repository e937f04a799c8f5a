//! What a driver remembers of an object.

use std::collections::BTreeMap;

use kube::api::DynamicObject;
use tokio::time::Instant;

use super::takeover::Ahead;
use crate::act::{Refusal, Request};
use crate::freshness::Expectation;

/// What is remembered of an object between two reconciles. Losing it costs a request, never an answer.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) uid: Option<String>,
    pub(super) expectations: Vec<Expectation>,
    pub(super) refusals: Vec<Refusal>,
    pub(super) failures: u32,
    pub(super) pause: Option<Pause>,
    /// The version that could not be read and was told of.
    pub(super) undecodable: Option<String>,
    /// That it was newer than what was seen of its children.
    pub(super) ahead: Option<Ahead>,
}

impl Memory {
    /// Nothing but whose it is, which every reconcile finds out by itself.
    pub(super) fn is_empty(&self) -> bool {
        let Self { uid: _, expectations, refusals, failures, pause, undecodable, ahead } = self;
        expectations.is_empty()
            && refusals.is_empty()
            && *failures == 0
            && pause.is_none()
            && undecodable.is_none()
            && ahead.is_none()
    }
}

/// After a failure the same is not tried again for a while, whatever happens around the object, unless it is changed itself.
#[derive(Debug)]
pub(super) struct Pause {
    pub(super) until: Instant,
    pub(super) from: Asked,
    /// What failed.
    pub(super) deed: String,
}

/// What of an object only its users change.
#[derive(Debug, PartialEq)]
pub(super) struct Asked {
    generation: Option<i64>,
    annotations: Option<BTreeMap<String, String>>,
    is_being_deleted: bool,
}

impl Pause {
    /// Until when these requests are not sent: they would begin with what failed.
    pub(super) fn holds(&self, object: &DynamicObject, requests: &[Request]) -> Option<Instant> {
        let is_same = requests.first().is_some_and(|first| first.deed() == self.deed);
        (is_same && self.until > Instant::now() && self.from == Asked::of(object)).then_some(self.until)
    }
}

impl Asked {
    pub(super) fn of(object: &DynamicObject) -> Self {
        let meta = &object.metadata;
        Self {
            generation: meta.generation,
            annotations: meta.annotations.clone(),
            is_being_deleted: meta.deletion_timestamp.is_some(),
        }
    }
}
