//! Whose an object is.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::ObjectMeta;
use kube::core::ApiResource;

use crate::selection::Selection;

/// How the children of a controller say whose they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// By an owner reference: the garbage collector deletes a child after its owner, or before it if somebody asks for that.
    Reference,
    /// By a label whose value is the owner's uid: nobody but the controller deletes a child. For children whose end has to be
    /// decided, that live in another namespace, or in none.
    Label(&'static str),
}

impl Ownership {
    /// Says on a child that it belongs to `owner`, and to nobody else.
    pub(crate) fn mark(self, child: &mut ObjectMeta, owner: &ObjectMeta, kind: &ApiResource) {
        let uid = owner.uid.clone().unwrap_or_default();
        match self {
            Ownership::Reference => {
                child.owner_references = Some(vec![OwnerReference {
                    api_version: kind.api_version.clone(),
                    kind: kind.kind.clone(),
                    name: owner.name.clone().unwrap_or_default(),
                    uid,
                    controller: Some(true),
                    block_owner_deletion: None,
                }]);
            }
            Ownership::Label(label) => {
                child.labels.get_or_insert_default().insert(label.to_owned(), uid);
            }
        }
    }

    /// All that can be somebody's child.
    pub(crate) fn selection(self) -> Selection {
        match self {
            Ownership::Label(label) => Selection::labels(label),
            Ownership::Reference => Selection::all(),
        }
    }

    /// Whether an object belongs to the owner with this uid. An owner reference always counts: a child may be from before
    /// its controller used a label.
    pub(crate) fn holds(self, object: &ObjectMeta, owner: Option<&str>) -> bool {
        let referenced =
            object.owner_references.iter().flatten().any(|known| Some(known.uid.as_str()) == owner);
        referenced || self.label_of(object).is_some_and(|uid| Some(uid) == owner)
    }

    /// Whom an object belongs to, in words.
    pub(crate) fn owner_of(self, object: &ObjectMeta) -> String {
        let named = |owner: &OwnerReference| format!("{} {}", owner.kind, owner.name);
        let referenced = object.owner_references.iter().flatten().next().map(named);
        let labelled = || self.label_of(object).map(|uid| format!("the object with uid {uid}"));
        referenced.or_else(labelled).unwrap_or_else(|| "nobody".to_owned())
    }

    /// The uids of all to whom an object may belong.
    pub(crate) fn owners_of(self, object: &ObjectMeta) -> Vec<&str> {
        let referenced = object.owner_references.iter().flatten().map(|owner| owner.uid.as_str());
        self.label_of(object).into_iter().chain(referenced).collect()
    }

    fn label_of(self, object: &ObjectMeta) -> Option<&str> {
        match self {
            Ownership::Reference => None,
            Ownership::Label(label) => object.labels.as_ref()?.get(label).map(String::as_str),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::resource_of;
    use k8s_openapi::api::core::v1::ConfigMap;

    const BY_LABEL: Ownership = Ownership::Label("example.org/owner");

    fn owner(uid: &str) -> ObjectMeta {
        ObjectMeta { name: Some("web".to_owned()), uid: Some(uid.to_owned()), ..ObjectMeta::default() }
    }

    fn child_of(ownership: Ownership, uid: &str) -> ObjectMeta {
        let mut child = ObjectMeta::default();
        ownership.mark(&mut child, &owner(uid), &resource_of::<ConfigMap>());
        child
    }

    #[test]
    fn a_child_belongs_to_its_owner_and_a_namesake_does_not() {
        let table = [
            ("by reference", Ownership::Reference, child_of(Ownership::Reference, "ours"), true),
            ("by label", BY_LABEL, child_of(BY_LABEL, "ours"), true),
            ("by reference, from before the label", BY_LABEL, child_of(Ownership::Reference, "ours"), true),
            (
                "somebody else's reference",
                Ownership::Reference,
                child_of(Ownership::Reference, "theirs"),
                false,
            ),
            ("somebody else's label", BY_LABEL, child_of(BY_LABEL, "theirs"), false),
            ("nobody's", BY_LABEL, ObjectMeta::default(), false),
            ("a label that says nothing here", Ownership::Reference, child_of(BY_LABEL, "ours"), false),
        ];
        for (name, ownership, object, expected) in table {
            assert_eq!(ownership.holds(&object, Some("ours")), expected, "{name}");
        }
        assert!(!BY_LABEL.holds(&ObjectMeta::default(), None), "an owner without a uid owns nothing");
    }

    #[test]
    fn a_label_keeps_the_garbage_collector_out() {
        assert_eq!(child_of(BY_LABEL, "ours").owner_references, None);
        assert_eq!(child_of(Ownership::Reference, "ours").labels, None);
    }

    #[test]
    fn the_owner_is_told() {
        assert_eq!(BY_LABEL.owner_of(&child_of(Ownership::Reference, "x")), "ConfigMap web");
        assert_eq!(BY_LABEL.owner_of(&child_of(BY_LABEL, "x")), "the object with uid x");
        assert_eq!(BY_LABEL.owner_of(&ObjectMeta::default()), "nobody");
    }
}
