//! The rules of ApplicationInstance, for the reference page about precedence.

use conditions::described;

use super::{blocker, degraded, pause, ready, reconciling, status};
use crate::controllers::precedence::table;

const START: &str = "
## ApplicationInstance

Several types can report the same problem: a missing Secret shows as `Ready=False/WaitingForSecret` and as
`Blocked=True/MissingSecret`. An instance that is being deleted is `Ready=False/Uninstalling` whatever else holds. A
placeholder is always `Ready=True/Placeholder`.
";

pub(crate) fn section() -> String {
    [
        START.to_owned(),
        table("Ready", described(ready::RULES)),
        table("Reconciling", described(reconciling::RULES)),
        table("Degraded", described(degraded::RULES)),
        // The first of these asks the rules of the blockers.
        table("Blocked", described(blocker::RULES).chain(described(status::BLOCKED).skip(1))),
        table("Suspended", described(pause::RULES)),
        table("Deleting", described(status::DELETING)),
    ]
    .concat()
}
