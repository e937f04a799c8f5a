use conditions::{ConditionType, Entry, Reason};
use conditions::{ConditionSet, Moment};
use jiff::Timestamp;
use vworkspace_api::application_instance::{ApplicationInstance, Ready};

const AT: Moment = Moment { generation: 1, now: Timestamp::UNIX_EPOCH };

#[derive(Clone, Copy)]
struct Stalled;

// What somebody can write who uses the hidden door of the macro.
impl conditions::MadeWithConditions for Stalled {}

impl Reason for Stalled {
    type Kind = ApplicationInstance;
    const TYPE: ConditionType = ConditionType { name: "Stalled", ..Ready::TABLE };
    const ALL: &[Self] = &[Stalled];

    fn entry(self) -> &'static Entry {
        Ready::HelmReleaseReady.entry()
    }
}

fn main() {
    let mut conditions = ConditionSet::<ApplicationInstance>::new();
    conditions.set(Stalled, "the set looks for the table in the vocabulary", AT);
}
