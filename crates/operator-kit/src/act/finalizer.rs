//! The finalizer: on before the first child is made, off when nothing is left.

use kube::api::{Patch, PatchParams};
use serde_json::json;
use tracing::info;

use super::{Error, Task, api};
use crate::plan::Finalizer;

impl Task<'_> {
    pub(super) fn has_finalizer(&self) -> bool {
        let finalizers = self.object.metadata.finalizers.as_deref().unwrap_or_default();
        finalizers.iter().any(|known| known == self.actor.finalizer)
    }

    /// Locked by version, because the list is written as a whole: nobody else's entry may get lost.
    pub(super) async fn set_finalizer(&mut self, wanted: Finalizer) -> Result<(), Error> {
        let meta = &self.object.metadata;
        let current = meta.finalizers.as_deref().unwrap_or_default();
        // The API server lets nobody add one to an object that is being deleted.
        let Some(after) = after(current, self.actor.finalizer, wanted) else {
            return Ok(());
        };
        if wanted == Finalizer::Hold && meta.deletion_timestamp.is_some() {
            return Ok(());
        }
        let patch = Patch::Merge(json!({
            "metadata": {"uid": meta.uid, "resourceVersion": self.version(), "finalizers": after}}));
        let id = self.id();
        info!(finalizer = self.actor.finalizer, wanted = ?wanted, "changing the finalizer");
        let api = api(&self.actor.client, &self.actor.resource, &id.key);
        let params =
            PatchParams { field_manager: Some(self.actor.manager.clone()), ..PatchParams::default() };
        let written =
            self.write("patch the finalizers of", &id, api.patch(&id.key.name, &params, &patch)).await?;
        self.expect_own(&written);
        Ok(())
    }
}

/// The list as it should be, if it is not.
fn after(current: &[String], ours: &str, wanted: Finalizer) -> Option<Vec<String>> {
    let is_on = current.iter().any(|known| known == ours);
    match (wanted, is_on) {
        (Finalizer::Hold, true) | (Finalizer::Release, false) => None,
        (Finalizer::Hold, false) => Some(current.iter().cloned().chain([ours.to_owned()]).collect()),
        (Finalizer::Release, true) => Some(current.iter().filter(|known| *known != ours).cloned().collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finalizers_of_others_stay() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let table = [
            (vec!["x"], Finalizer::Hold, Some(vec!["x", "ours"])),
            (vec!["ours", "x"], Finalizer::Hold, None),
            (vec!["ours", "x"], Finalizer::Release, Some(vec!["x"])),
            (vec!["x"], Finalizer::Release, None),
            (vec!["ours"], Finalizer::Release, Some(vec![])),
        ];
        for (current, wanted, expected) in table {
            let expected = expected.map(|names| list(&names));
            assert_eq!(after(&list(&current), "ours", wanted), expected, "{current:?} {wanted:?}");
        }
    }
}
