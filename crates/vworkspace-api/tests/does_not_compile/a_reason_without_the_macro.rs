use conditions::{ConditionType, Entry, Reason};
use vworkspace_api::application_instance::{ApplicationInstance, Ready};

#[derive(Clone, Copy)]
struct Mine;

impl Reason for Mine {
    type Kind = ApplicationInstance;
    const TYPE: ConditionType = Ready::TABLE;
    const ALL: &[Self] = &[Mine];

    fn entry(self) -> &'static Entry {
        Ready::HelmReleaseReady.entry()
    }
}

fn main() {}
