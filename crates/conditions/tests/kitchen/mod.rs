//! A small vocabulary with every shape that a real one has, for the tests.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::expect_used)]

use conditions::{ConditionSet, Kind, Moment, Reads, Vocabulary, conditions, kstatus};

pub enum Teapot {}

conditions! {
    /// The tea can be drunk.
    Ready for Teapot {
        True Brewed contract "0.1.0" {
            meaning: "The tea has drawn for as long as it should.",
            investigate: ["kubectl get teapot -n {namespace} {name}"],
            resolve: "Nothing to do: drink it.",
        }
        False Brewing contract "0.1.0" {
            meaning: "It draws.",
            investigate: ["kubectl get teapot -n {namespace} {name}"],
            resolve: "Wait.",
        }
        Unknown NotLookedAt contract "0.1.0" {
            meaning: "Nobody has lifted the lid yet.",
            investigate: ["kubectl get teapot -n {namespace} {name}"],
            resolve: "Wait.",
        }
    }
    repeats { False NoWater of Blocked }
}

conditions! {
    /// Brewing cannot start.
    Blocked for Teapot {
        True NoWater contract "0.1.0" was ["Dry", "Empty"] {
            meaning: "The pot is empty.",
            investigate: ["kubectl describe teapot -n {namespace} {name}"],
            resolve: "Fill it.",
        }
        True NoTea contract "0.1.0" {
            meaning: "There is no tea in it.",
            investigate: ["kubectl describe teapot -n {namespace} {name}"],
            resolve: "Wait for the shop.",
        }
        False NotBlocked extension "0.1.0" {
            meaning: "Nothing stands in the way.",
            investigate: ["kubectl describe teapot -n {namespace} {name}"],
            resolve: "Nothing to do.",
        }
    }
}

impl Kind for Teapot {
    const VOCABULARY: &'static Vocabulary = &Vocabulary {
        system: "kitchen",
        group: "kitchen.example.com",
        kind: "Teapot",
        plural: "teapots",
        short_names: &["pot"],
        investigate: &["kubectl describe teapot -n {namespace} {name}"],
        types: &[Ready::TABLE, Blocked::TABLE],
        reads: &[
            Reads::Stalled(Blocked::NoWater.entry()),
            Reads::Stalled(Ready::NoWater.entry()),
            Reads::Current(Ready::Brewed.entry()),
            Reads::Reconciling(Blocked::NoTea.entry()),
            Reads::Reconciling(Ready::Brewing.entry()),
        ],
        unobserved: &kstatus::NOT_YET_OBSERVED,
    };
}

/// A kind whose own vocabulary has a `Reconciling`.
pub mod kettle {
    use conditions::{Kind, Reads, Vocabulary, conditions};

    pub enum Kettle {}

    conditions! {
        /// The water is being heated.
        Reconciling for Kettle {
            True Heating contract "0.1.0" { meaning: "It is on.", investigate: ["kubectl get kettle"], resolve: "Wait." }
            True NotLookedAt extension "0.1.0" { meaning: "Nobody has looked.", investigate: ["kubectl get kettle"], resolve: "Wait." }
            False Stable contract "0.1.0" { meaning: "It is off.", investigate: ["kubectl get kettle"], resolve: "Nothing." }
        }
    }

    conditions! {
        /// Something is wrong with it.
        Broken for Kettle {
            True Leaks contract "0.1.0" { meaning: "Water runs out.", investigate: ["kubectl get kettle"], resolve: "Buy one." }
            True FuseBlown contract "0.1.0" { meaning: "No current.", investigate: ["kubectl get kettle"], resolve: "Replace it." }
            False Descaling contract "0.1.0" { meaning: "It is being cleaned.", investigate: ["kubectl get kettle"], resolve: "Wait." }
            False Whole contract "0.1.0" { meaning: "It is not.", investigate: ["kubectl get kettle"], resolve: "Nothing." }
        }
    }

    impl Kind for Kettle {
        const VOCABULARY: &'static Vocabulary = &Vocabulary {
            system: "kitchen",
            group: "kitchen.example.com",
            kind: "Kettle",
            plural: "kettles",
            short_names: &[],
            investigate: &["kubectl describe kettle -n {namespace} {name}"],
            types: &[Reconciling::TABLE, Broken::TABLE],
            reads: &[
                Reads::Stalled(Broken::Leaks.entry()),
                Reads::Reconciling(Reconciling::Heating.entry()),
                Reads::Reconciling(Reconciling::NotLookedAt.entry()),
                Reads::Stalled(Broken::FuseBlown.entry()),
                Reads::Reconciling(Broken::Descaling.entry()),
            ],
            unobserved: Reconciling::NotLookedAt.entry(),
        };
    }
}

/// Second `second` of an hour, looking at generation `generation`.
pub fn at(generation: i64, second: i64) -> Moment {
    Moment { generation, now: jiff::Timestamp::from_second(1_767_225_600 + second).expect("in range") }
}

/// The set as it goes over the wire.
pub fn bytes<K: Kind>(set: &ConditionSet<K>) -> String {
    serde_json::to_string(set).expect("a set is always JSON")
}
