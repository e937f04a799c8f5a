use vworkspace_api::application_instance::ApplicationInstance;

conditions::conditions! {
    /// Nor can it give other words to a type that the kind has.
    Deleting for ApplicationInstance {
        True Whatever extension "0.1.0" { meaning: "It goes.", investigate: ["kubectl get pods"], resolve: "None." }
    }
}

fn main() {}
