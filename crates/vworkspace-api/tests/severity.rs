//! Which conditions make a Warning of their Events when they are True.

use conditions::{Kind, Severity};
use vworkspace_api::application_instance::ApplicationInstance;
use vworkspace_api::cluster::Cluster;
use vworkspace_api::operation::Operation;

#[test]
fn a_condition_that_tells_of_trouble_is_a_warning() {
    let table = [
        (ApplicationInstance::VOCABULARY, &["Degraded", "Blocked", "Stalled"][..]),
        (Operation::VOCABULARY, &["Failed", "Blocked", "Stalled"]),
        (Cluster::VOCABULARY, &["Disconnected", "BufferOverflow", "Stalled"]),
    ];
    for (vocabulary, expected) in table {
        let warnings = vocabulary
            .all_types()
            .map(|listing| listing.name)
            .filter(|name| vocabulary.severity(name) == Severity::Warning);
        assert_eq!(warnings.collect::<Vec<_>>(), expected, "{}", vocabulary.kind);
    }
}
