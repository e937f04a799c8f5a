//! `helm`: an upgrade. Nothing is made for it: the version and the values are written into the spec of the target, once, and
//! the operator and Flux do with it what they do with every change.
//!
//! It is an update of these fields, which asks nobody who owns them. Who applies the instance from elsewhere, such as a GitOps
//! tool, may put the old version back: that is somebody else's edit, and ends the operation. The way to keep the new
//! version is to write it there, too.

mod change;
mod state;

use std::time::Duration;

use kube::{Resource, ResourceExt};
use operator_kit::{Child, Deletion, Patch, Sight};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use vworkspace_api::application_instance::{ApplicationInstance, SuccessfulRelease};
use vworkspace_api::operation::{EngineRef, Operation, OperationStatus, UpgradeParameters};

use super::{Ending, Engine, Outcome, Permission, State, Stop};

/// Says on an instance which operation changed it last: by its uid. Written with the change, so who comes after a crash
/// knows that it was made.
const UPGRADED_BY: &str = "ops.vworkspace.io/upgraded-by";
/// Says what there was before: [`Before`].
const UPGRADED_FROM: &str = "ops.vworkspace.io/upgraded-from";

/// What is seen of one upgrade.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Upgrade {
    parameters: UpgradeParameters,
    instance: Sight<ApplicationInstance>,
    /// The uid of the operation.
    uid: Option<String>,
    /// What the operation says so far.
    known: OperationStatus,
}

/// What there was before the change; nobody could tell afterwards.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Before {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revision: Option<i64>,
}

impl Upgrade {
    pub(crate) fn of(
        operation: &Operation,
        parameters: UpgradeParameters,
        instance: Sight<ApplicationInstance>,
    ) -> Self {
        let known = operation.status.clone().unwrap_or_default();
        Self { parameters, instance, uid: operation.uid(), known }
    }

    /// The target, if the change was made: it says so, or the operation does.
    fn changed(&self) -> Option<&ApplicationInstance> {
        let is_ours = |instance: &&ApplicationInstance| {
            self.known.engine_ref.is_some()
                || (self.uid.is_some() && upgraded_by(instance) == self.uid.as_deref())
        };
        self.instance.present().filter(is_ours)
    }

    /// What is worth remembering: as it was when the change was first seen.
    fn outputs(&self, instance: &ApplicationInstance) -> Map<String, Value> {
        if self.known.outputs.contains_key("generation") {
            return self.known.outputs.clone();
        }
        let before = instance.annotations().get(UPGRADED_FROM);
        let before: Option<Before> = before.and_then(|before| serde_json::from_str(before).ok());
        let Before { version, revision } = before.unwrap_or_default();
        let to = self.parameters.target_version.clone().or_else(|| version.clone());
        outputs([
            ("fromVersion", version.map(Value::from)),
            ("fromRevision", revision.map(Value::from)),
            ("toVersion", to.or_else(|| version_of(instance)).map(Value::from)),
            ("generation", instance.metadata.generation.map(Value::from)),
        ])
    }
}

impl Engine for Upgrade {
    fn permission(&self, _: &Operation) -> Permission {
        let refused =
            self.instance.present().and_then(|instance| change::refused(&self.parameters, instance));
        refused.map_or(Permission::Granted, Permission::Refused)
    }

    /// That the target has a release is what its conditions say.
    fn lacks(&self) -> Option<String> {
        None
    }

    fn start(&self, _: &Operation) -> Vec<Child> {
        Vec::new()
    }

    /// Without a change, where another try or somebody else's change is under way: then that is followed.
    fn patches(&self) -> Vec<Patch> {
        let Some(instance) = self.instance.present() else { return Vec::new() };
        let revision = released(instance).map(|released| released.revision);
        let before = json!(Before { version: version_of(instance), revision });
        let annotations = json!({UPGRADED_BY: self.uid, UPGRADED_FROM: before.to_string()});
        let spec = change::of(&self.parameters, instance);
        let spec = (!spec.is_empty()).then(|| ("spec".to_owned(), Value::Object(spec)));
        let metadata = ("metadata".to_owned(), json!({ "annotations": annotations }));
        vec![Patch::of(instance, spec.into_iter().chain([metadata]).collect())]
    }

    fn needless(&self) -> Option<Ending> {
        let instance = self.instance.present()?;
        let (version, released) = (version_of(instance)?, released(instance)?);
        let is_done = change::of(&self.parameters, instance).is_empty()
            && state::course(instance, &version) == state::Course::Released;
        is_done.then(|| Ending {
            outcome: Outcome::Succeeded,
            message: format!(
                "Nothing to do: ApplicationInstance {} runs version {version} with these values already, as revision {}.",
                instance.name_any(),
                released.revision
            ),
            outputs: outputs([
                ("fromVersion", Some(json!(version))),
                ("fromRevision", Some(json!(released.revision))),
                ("toVersion", Some(json!(version))),
                ("toRevision", Some(json!(released.revision))),
                ("generation", instance.metadata.generation.map(Value::from)),
            ]),
            logs_ref: None,
            since: None,
            at: None,
        })
    }

    fn state(&self) -> State {
        match &self.instance {
            Sight::Unknown(why) => State::Unknown(why.clone()),
            // Before the change it is told as what is wrong with the target.
            Sight::Unreadable(why) if self.known.engine_ref.is_some() => State::Unknown(why.clone()),
            _ => self.changed().map_or(State::NotStarted, |instance| state::of(self, instance)),
        }
    }

    fn engine_ref(&self) -> Option<EngineRef> {
        self.changed().map(|instance| EngineRef {
            api_version: ApplicationInstance::api_version(&()).into_owned(),
            kind: ApplicationInstance::kind(&()).into_owned(),
            name: instance.name_any(),
            namespace: instance.namespace().unwrap_or_default(),
            uid: instance.uid(),
        })
    }

    /// Not even a change that Flux does not have yet: to take it back would be another change.
    fn stop(&self) -> Stop {
        Stop::Impossible("Helm cannot stop an upgrade; it goes on to its end.")
    }

    fn if_gone(&self) -> &'static str {
        "how its upgrade went is not known."
    }

    fn cleanup(&self) -> Option<(Duration, Deletion)> {
        None
    }
}

fn outputs<const N: usize>(outputs: [(&str, Option<Value>); N]) -> Map<String, Value> {
    outputs.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn upgraded_by(instance: &ApplicationInstance) -> Option<&str> {
    instance.annotations().get(UPGRADED_BY).map(String::as_str)
}

fn version_of(instance: &ApplicationInstance) -> Option<String> {
    instance.spec.chart.as_ref().map(|chart| chart.version.clone())
}

fn released(instance: &ApplicationInstance) -> Option<&SuccessfulRelease> {
    instance.status.as_ref()?.last_successful_release.as_ref()
}

#[cfg(test)]
mod tests;
