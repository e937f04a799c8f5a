use conditions::{ConditionSet, Moment};
use jiff::Timestamp;
use vworkspace_api::application_instance::{ApplicationInstance, Ready};

const AT: Moment = Moment { generation: 1, now: Timestamp::UNIX_EPOCH };

fn main() {
    let mut conditions = ConditionSet::<ApplicationInstance>::new();
    conditions.set(Ready::MissingSecret, "MissingSecret is a reason of Blocked", AT);
}
