//! A whole controller, to show how little a new kind needs: names, watches, `observe` and `decide`.
//!
//! A `Notice` is published as a ConfigMap in another namespace. Two notices may name the same namespace, so that namespace is
//! their lane: they are worked on one after the other, and the second sees what the first has written.

#[cfg(test)]
mod explored;

use std::error::Error;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;
use kube::{CustomResource, CustomResourceExt, ResourceExt};
use operator_kit::{
    Absence, Child, Controller, Deletion, Dependents, Finalizer, LaneOf, ObjectKey, Operator, Ownership,
    Plan, Product, Settings, Sight, Unreadable, View, Watched,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is to be published, and where.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "example.org", version = "v1", kind = "Notice", namespaced, status = "NoticeStatus")]
struct NoticeSpec {
    /// The namespace. A name of another shape would lead to another place of the API; another board would leave a copy behind.
    #[schemars(regex(pattern = "^[a-z0-9-]{1,63}$"))]
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "self == oldSelf", "message": "board cannot be changed"}]))]
    board: String,
    text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct NoticeStatus {
    observed_generation: i64,
    says: String,
    /// The kit counts here.
    sequence: Option<i64>,
}

const OWNER: Ownership = Ownership::Label("example.org/owner");

struct Notices {
    published: Watched<ConfigMap>,
}

/// What is there of a notice.
type Published = Sight<ConfigMap>;

impl Controller for Notices {
    const NAME: &'static str = "notice";
    const FINALIZER: Option<&'static str> = Some("example.org/notice");
    const OWNERSHIP: Ownership = OWNER;
    const CLOCKS: &'static [&'static str] = &[];
    const LANE: Option<LaneOf<Notice>> =
        Some(|notice| Some(ObjectKey { namespace: None, name: notice.spec.board.clone() }));

    type Object = Notice;
    type World = Published;
    type Status = NoticeStatus;

    fn observe(&self, notice: &Notice, view: &View<'_>) -> Published {
        view.child(self.published, &place(notice))
    }

    fn decide(&self, notice: &Notice, published: &Published, _: Timestamp) -> Plan<NoticeStatus> {
        plan(notice, published)
    }

    fn unreadable(&self, unreadable: Unreadable<'_, NoticeStatus>, _: Timestamp) -> NoticeStatus {
        let says = format!("Unreadable: {}", unreadable.why);
        NoticeStatus {
            observed_generation: unreadable.generation,
            says,
            ..unreadable.status.unwrap_or_default()
        }
    }
}

fn plan(notice: &Notice, published: &Published) -> Plan<NoticeStatus> {
    match (&notice.metadata.deletion_timestamp, published) {
        (Some(_), Sight::Absent | Sight::NotInstalled) => Plan {
            gone: vec![Absence::of::<ConfigMap>(place(notice))],
            ..Plan::only_status(Finalizer::Release, says(notice, "Gone"))
        },
        (Some(_), Sight::Present(copy)) => Plan {
            deletions: vec![Deletion::new::<ConfigMap>(
                place(notice),
                copy.uid().as_deref().unwrap_or_default(),
                Dependents::GoToo,
            )],
            ..Plan::only_status(Finalizer::Hold, says(notice, "Going"))
        },
        // Whether it is there cannot be seen, and nothing is concluded from that.
        (_, Sight::Unknown(why) | Sight::Unreadable(why)) => {
            Plan::only_status(Finalizer::Hold, says(notice, &format!("Unknown: {why}")))
        }
        (None, found) => {
            let wanted = copy(notice);
            let is_up = found.present().is_some_and(|found| found.data == wanted.data);
            let said = says(notice, if is_up { "Published" } else { "Publishing" });
            Plan { children: vec![Child::of(&wanted)], ..Plan::only_status(Finalizer::Hold, said) }
        }
    }
}

fn place(notice: &Notice) -> ObjectKey {
    ObjectKey::namespaced(&notice.spec.board, &notice.name_any())
}

fn copy(notice: &Notice) -> ConfigMap {
    let ObjectKey { namespace, name } = place(notice);
    ConfigMap {
        metadata: ObjectMeta { name: Some(name), namespace, ..ObjectMeta::default() },
        data: Some([("text".to_owned(), notice.spec.text.clone())].into()),
        ..ConfigMap::default()
    }
}

fn says(notice: &Notice, says: &str) -> NoticeStatus {
    NoticeStatus {
        observed_generation: notice.metadata.generation.unwrap_or_default(),
        says: says.to_owned(),
        ..notice.status.clone().unwrap_or_default()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().any(|argument| argument == "crd") {
        serde_json::to_writer(std::io::stdout(), &Notice::crd())?;
        return Ok(());
    }
    let settings = Settings {
        product: Product { name: "example", domain: "example.org", metrics: "example_operator" },
        namespace: std::env::var("NAMESPACE")?,
        lease: "notice".to_owned(),
        address: ([127, 0, 0, 1], 0).into(),
        workers: 4,
        watch_namespaces: Vec::new(),
        cluster_id: None,
    };
    Ok(Operator::new(settings).with(|watches| Notices { published: watches.owned(OWNER) }).run().await?)
}
