use conditions::{ConditionSet, Moment};
use jiff::Timestamp;
use vworkspace_api::application_instance::ApplicationInstance;
use vworkspace_api::operation::Blocked;

const AT: Moment = Moment { generation: 1, now: Timestamp::UNIX_EPOCH };

fn main() {
    let mut conditions = ConditionSet::<ApplicationInstance>::new();
    conditions.set(Blocked::AwaitingApproval, "both kinds have it, but this one is of Operation", AT);
}
