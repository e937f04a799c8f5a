use vworkspace_api::application_instance::Stalled;

fn main() {
    let _follows_from_the_others = Stalled::NotStalled;
}
