//! The entry: `EXPLORE_SCHEDULES=1000000 cargo test --profile explore -p vworkspace-operator explored -- --nocapture`.

use ::explore::{INVARIANTS, Search};

use super::oracle::{
    CANCELLED_MEANS_GONE, FIRST_COME, HELD_UNTIL_THE_END, MADE_ONCE, NEVER_TOGETHER, NO_CONTRADICTION,
    OUTCOME_IS_PROVEN, THE_END_IS_THE_END, TOLD_AS_IT_IS,
};
use super::*;

/// A few in every run of the tests; `cargo lab test` asks for a million.
const FEW: u64 = 2_000;

#[test]
fn explored_operations_keep_every_promise() {
    ::explore::check("Operation", &Operations(Defect::None), FEW);
}

#[test]
fn planted_defects_are_found() {
    let planted = [
        (Defect::StartsAgain, MADE_ONCE),
        (Defect::StartsBeside, NEVER_TOGETHER),
        (Defect::JumpsTheLine, FIRST_COME),
        (Defect::Embellishes, OUTCOME_IS_PROVEN),
        (Defect::CancelsTooEarly, CANCELLED_MEANS_GONE),
        (Defect::BeginsAnew, THE_END_IS_THE_END),
        (Defect::LetsGoTooEarly, HELD_UNTIL_THE_END),
        (Defect::Contradicts, NO_CONTRADICTION),
        (Defect::NeverLooksAgain, TOLD_AS_IT_IS),
    ];
    for (defect, expected) in planted {
        let told = std::panic::catch_unwind(|| ::explore::check("Operation", &Operations(defect), FEW));
        let told = *told.expect_err("it was not found").downcast::<String>().expect("a story");
        assert!(told.starts_with(expected), "{defect:?}, {expected}: {told}");
    }
}

#[test]
fn explored_combinations_of_all_inputs_of_operations_are_told_without_contradiction() {
    // All of them in a long run; a part that is spread evenly in a short one.
    let wanted =
        usize::try_from(Search::from_environment(FEW).schedules).unwrap_or(usize::MAX).saturating_mul(5);
    let mut step = (product::ALL / wanted.max(1)).max(1);
    // A step that shares a factor with the number of values of an input would leave some of them out.
    while [2, 3, 5, 7].into_iter().any(|factor| step.is_multiple_of(factor)) {
        step += 1;
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let started = std::time::Instant::now();
    let part = |core: usize| {
        let mut desk = product::Desk::new();
        (core * step..product::ALL)
            .step_by(step * cores)
            .find_map(|number| product::check(&mut desk, number).err())
    };
    let broken: Vec<String> = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..cores).map(|core| scope.spawn(move || part(core))).collect();
        parts.into_iter().filter_map(|part| part.join().unwrap()).collect()
    });
    let (count, seconds) = (product::ALL.div_ceil(step), started.elapsed().as_secs_f64());
    println!("explored combinations of inputs of Operation: {count} of {}, {seconds:.1} s", product::ALL);
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_invariant_is_explained() {
    let page = include_str!("../../../../../../docs/explore.md");
    for (name, _) in INVARIANTS.iter().chain(<Operations as Model>::INVARIANTS) {
        assert!(page.contains(&format!("`{name}`")), "docs/explore.md does not explain {name}");
    }
}
