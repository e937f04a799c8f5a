use conditions::{ConditionSet, Moment};
use jiff::Timestamp;
use vworkspace_api::application_instance::ApplicationInstance;

const AT: Moment = Moment { generation: 1, now: Timestamp::UNIX_EPOCH };

fn main() {
    let mut conditions = ConditionSet::<ApplicationInstance>::new();
    conditions.set("WaitingForSecret", "not a reason", AT);
}
