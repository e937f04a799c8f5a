//! The rules of Operation, for the reference page about precedence.

use conditions::described;

use super::{blocker, status};
use crate::controllers::precedence::table;

const START: &str = "
## Operation

What has ended stays as it is: no rule is asked any more. An operation that cannot be carried out as it stands is not
blocked, and one that is blocked is accepted.
";

pub(crate) fn section() -> String {
    [
        START.to_owned(),
        table("Accepted", described(status::ACCEPTED)),
        // The first of these asks the rules of the blockers.
        table("Blocked", described(blocker::RULES).chain(described(status::BLOCKED).skip(1))),
        table("Running", described(status::RUNNING)),
        table("Succeeded", described(status::SUCCEEDED)),
        table("Failed", described(status::FAILED)),
        table("Cancelled", described(status::CANCELLED)),
    ]
    .concat()
}
