use conditions::{ConditionSet, Moment};
use jiff::Timestamp;
use vworkspace_api::application_instance::{ApplicationInstance, Blocked, Ready};

const AT: Moment = Moment { generation: 1, now: Timestamp::UNIX_EPOCH };

fn main() {
    let mut conditions = ConditionSet::<ApplicationInstance>::new();
    conditions.set(Ready::WaitingForSecret, "Secret shop/values does not exist", AT);
    conditions.set(Blocked::MissingSecret, "Secret shop/values does not exist", AT);
    conditions.project(AT);
}
