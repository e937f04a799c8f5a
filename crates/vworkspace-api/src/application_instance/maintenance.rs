//! When a release is left alone.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::Duration;
use crate::rule;

/// Five fields: minute, hour, day of the month, month, day of the week; each a list of values, ranges and steps.
const CRON: &str = concat!(
    "^",
    r"(\*|[0-5]?[0-9](-[0-5]?[0-9])?)(/[1-9][0-9]?)?(,(\*|[0-5]?[0-9](-[0-5]?[0-9])?)(/[1-9][0-9]?)?)*",
    " +",
    r"(\*|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]?)?(,(\*|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]?)?)*",
    " +",
    r"(\*|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[1-9][0-9]?)?(,(\*|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[1-9][0-9]?)?)*",
    " +",
    r"(\*|(0?[1-9]|1[0-2]|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)(-(0?[1-9]|1[0-2]|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC))?)(/[1-9][0-9]?)?(,(\*|(0?[1-9]|1[0-2]|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)(-(0?[1-9]|1[0-2]|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC))?)(/[1-9][0-9]?)?)*",
    " +",
    r"(\*|([0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)(-([0-7]|SUN|MON|TUE|WED|THU|FRI|SAT))?)(/[1-7])?(,(\*|([0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)(-([0-7]|SUN|MON|TUE|WED|THU|FRI|SAT))?)(/[1-7])?)*",
    "$"
);

/// A time at which a release is left alone, and how long that lasts.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MaintenanceWindow {
    /// What messages call the window; unique in the list.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,

    /// When the window opens, in cron form: minute, hour, day of the month, month, day of the week. 0 2 * * SAT is every
    /// Saturday at two.
    #[schemars(length(max = 128))]
    #[x_kube(validation = rule::like("spec.maintenanceWindows[].schedule", CRON, "five cron fields (minute, hour, day of the month, month, day of the week), such as 0 2 * * SAT"))]
    pub schedule: String,

    /// How long it stays open, such as 2h.
    #[x_kube(validation = rule::between("spec.maintenanceWindows[].duration", "1m", "168h"))]
    pub duration: Duration,

    /// The time zone of the schedule, by its name in the IANA database, such as Europe/Vienna.
    #[serde(default = "default_time_zone")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = rule::like("spec.maintenanceWindows[].timeZone", "^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$", "the name of a time zone, such as UTC or Europe/Vienna"))]
    pub time_zone: String,
}

fn default_time_zone() -> String {
    "UTC".to_owned()
}
