use vworkspace_api::application_instance::ApplicationInstance;

conditions::conditions! {
    /// A crate of its own cannot add to the vocabulary of a kind.
    Stalled for ApplicationInstance {
        True Whatever extension "0.1.0" { meaning: "It stalls.", investigate: ["kubectl get pods"], resolve: "None." }
    }
}

fn main() {}
