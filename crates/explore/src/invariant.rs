//! What must hold for any kind, by name.

/// Decided twice on the same input, the plan is the same.
pub const SAME_PLAN: &str = "same-plan";
/// Reconciled again with nothing changed, nothing is written; and no condition returns to what it left while the same holds.
pub const NO_FLAP: &str = "no-flap";
/// When everything else is at rest, the operator comes to rest too.
pub const SETTLES: &str = "settles";
/// Worlds that end the same are told the same, whatever the way there.
pub const SCHEDULE_DOES_NOT_MATTER: &str = "schedule-does-not-matter";

/// The engine's own invariants, by name, and what they ask.
pub const INVARIANTS: [(&str, &str); 4] = [
    (SAME_PLAN, "the same object, world and time give the same plan, however often they are decided on"),
    (
        NO_FLAP,
        "a second reconcile with the same view writes nothing; while the same is true of the observed world, \
         no condition returns to what it said before",
    ),
    (
        SETTLES,
        "after the world stops changing the operator stops writing, within a bounded number of reconciles",
    ),
    (
        SCHEDULE_DOES_NOT_MATTER,
        "two schedules that end in the same world, one of them undisturbed, end with the same status",
    ),
];
