//! Who has to look again when an operation has changed. Not everybody on the same target: a long line would cost its length
//! squared at each step.

use kube::ResourceExt;
use operator_kit::ObjectKey;
use vworkspace_api::operation::{Blocked, Operation, OperationType};

use super::life::order;
use super::queue::Class;

/// Of all on the same target that have not ended, those for whom this one may matter. Telling too many costs a look, telling
/// too few loses an event.
pub(crate) fn told(changed: &Operation, mut line: Vec<Operation>) -> Vec<ObjectKey> {
    if is_nobodys_business(changed) {
        return Vec::new();
    }
    line.retain(|other| other.uid() != changed.uid() && Class::of(other) != Class::Free);
    line.sort_by_key(order);
    let place = line.partition_point(|other| order(other) < order(changed));
    // Who came next after it named it, whoever is first in line.
    let told = [0..end(&line, 0), place..end(&line, place)];
    let is_backup = |operation: &Operation| operation.spec.type_ == OperationType::Backup;
    let is_told = |at: usize, other: &Operation| {
        // A newer backup does the work of an older one.
        told.iter().any(|part| part.contains(&at)) || is_backup(changed) && is_backup(other)
    };
    let told = line.iter().enumerate().filter(|(at, other)| is_told(*at, other));
    told.map(|(_, other)| ObjectKey::of_meta(&other.metadata)).collect()
}

/// Behind the first exclusive one that waits its turn: whoever comes after that waits for it, or for a later one.
fn end(line: &[Operation], from: usize) -> usize {
    let behind = line.iter().skip(from);
    let first =
        behind.take_while(|other| Class::of(other) != Class::Exclusive || !waits_its_turn(other)).count();
    line.len().min(from + first + 1)
}

fn waits_its_turn(operation: &Operation) -> bool {
    let status = operation.status.as_ref();
    status.is_some_and(|status| status.conditions.read() == Some(Blocked::ConflictingOperation))
}

/// One that is free, and has never been anything else or has begun: its policy cannot change any more.
fn is_nobodys_business(operation: &Operation) -> bool {
    let status = operation.status.as_ref();
    Class::of(operation) == Class::Free && status.is_none_or(|status| status.engine_ref.is_some())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use serde_json::json;

    use super::super::testing::{Stub, command, noon, other, rules, world};
    use super::super::{World, plan};
    use super::*;
    use crate::controllers::operation::engines::{Ending, Outcome, Progress, State};

    fn ended() -> State {
        State::Ended(Ending {
            outcome: Outcome::Succeeded,
            message: String::new(),
            outputs: serde_json::Map::new(),
            logs_ref: None,
            since: None,
            at: None,
        })
    }

    /// Operations on one target, what their engines do, and who has been told to look again.
    struct Line {
        operations: Vec<(Operation, State)>,
        told: BTreeSet<String>,
    }

    impl Line {
        fn of(classes: &[usize]) -> Self {
            let specs = [
                json!({"policy": {"exclusive": true}}),
                json!({"type": "Backup", "engine": "velero", "parameters": {}}),
                json!({}),
                json!({"policy": {"exclusive": true}, "approvals": {"required": true}}),
            ];
            let operations = classes.iter().enumerate().map(|(at, class)| {
                let mut spec = specs[*class].clone();
                // Two backups of the same are another matter.
                if *class == 1 {
                    spec["parameters"]["includedResources"] = json!([format!("kind{at}")]);
                }
                (command(&format!("{at:02}"), &spec), State::NotStarted)
            });
            let operations: Vec<_> = operations.collect();
            let told = operations.iter().map(|(operation, _)| operation.name_any()).collect();
            Self { operations, told }
        }

        fn world(&self, at: usize) -> World {
            let others = self.operations.iter().enumerate().filter(|(other, (operation, _))| {
                let phase = operation.status.as_ref().and_then(|status| status.phase);
                *other != at && !phase.is_some_and(vworkspace_api::operation::Phase::is_final)
            });
            let mut world = world(Stub::with(self.operations[at].1.clone()));
            world.others =
                others.map(|(_, (operation, state))| other(operation.clone(), state.clone())).collect();
            world
        }

        /// One looks at the world, and all who may be concerned hear what it says of itself.
        fn look(&mut self, at: usize) {
            self.told.remove(&self.operations[at].0.name_any());
            let (mut operation, state) = self.operations[at].clone();
            let next = plan(&operation, &self.world(at), &rules(), noon());
            let is_started = state == State::NotStarted && !next.creations.is_empty();
            if is_started {
                self.operations[at].1 = State::Running(Progress::default());
                self.told.insert(operation.name_any());
            }
            if operation.status.as_ref() != Some(&next.status) {
                operation.status = Some(next.status);
                self.operations[at].0 = operation;
                self.tell(at);
            }
        }

        fn tell(&mut self, at: usize) {
            let changed = self.operations[at].0.clone();
            let line = self.world(at).others.into_iter().map(|other| other.operation).collect();
            self.told.extend(told(&changed, line).into_iter().map(|key| key.name));
        }

        /// An engine ends its work.
        fn end(&mut self, at: usize) {
            if matches!(self.operations[at].1, State::Running(_)) {
                self.operations[at].1 = ended();
                self.told.insert(self.operations[at].0.name_any());
            }
        }

        fn held(&self) -> usize {
            self.operations.iter().filter(|(operation, _)| operation.spec.approvals.required).count()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Whoever was not told has nothing else to say.
        #[test]
        fn who_is_not_told_has_nothing_new_to_say(
            classes in prop::collection::vec(0..4_usize, 1..7),
            turns in prop::collection::vec((0..64_usize, any::<bool>()), 40),
        ) {
            let mut line = Line::of(&classes);
            let whole = line.operations.len();
            let last = (0..whole * 20).map(|turn| (turn, true));
            for (turn, ends) in turns.into_iter().chain(last) {
                if ends && line.told.is_empty() {
                    line.end(turn % whole);
                }
                let next = line.told.iter().nth(turn % line.told.len().max(1)).cloned();
                if let Some(at) = next.and_then(|name| name.parse().ok()) {
                    line.look(at);
                }
                if line.told.is_empty() {
                    for at in 0..whole {
                        let operation = &line.operations[at].0;
                        let next = plan(operation, &line.world(at), &rules(), noon());
                        prop_assert_eq!(operation.status.as_ref(), Some(&next.status), "{}", at);
                    }
                }
            }
            let left = line.operations.iter().filter(|(_, state)| *state != ended()).count();
            prop_assert_eq!(left, line.held(), "somebody waits for ever");
        }
    }

    #[test]
    fn a_long_line_is_not_told_as_a_whole() {
        let mut line = Line::of(&[0; 50]);
        while let Some(at) = line.told.first().and_then(|name| name.parse().ok()) {
            line.look(at);
        }
        line.end(0);
        line.look(0);
        assert_eq!(line.told, BTreeSet::from(["01".to_owned()]));
    }

    #[test]
    fn what_is_nobodys_business_tells_nobody() {
        let line = || vec![command("a", &json!({"policy": {"exclusive": true}}))];
        assert_eq!(told(&command("b", &json!({})), line()), []);
        assert_eq!(told(&command("b", &json!({"policy": {"exclusive": true}})), line()).len(), 1);
    }
}
