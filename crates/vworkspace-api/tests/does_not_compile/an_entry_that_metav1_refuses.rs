use conditions::{Kind, Vocabulary, conditions, kstatus};

pub enum Teapot {}

impl Kind for Teapot {
    const VOCABULARY: &Vocabulary = &Vocabulary {
        system: "kitchen",
        group: "kitchen.example.com",
        kind: "Teapot",
        plural: "teapots",
        short_names: &[],
        investigate: &["kubectl get teapot"],
        types: &[Closed::TABLE],
        reads: &[],
        unobserved: &kstatus::NOT_YET_OBSERVED,
    };
}

conditions! {
    /// The lid is on.
    Closed for Teapot {
        True Geschloßen extension "0.1.0" { meaning: "It is on.", investigate: ["kubectl get teapot"], resolve: "Lift it." }
    }
}

fn main() {}
