//! The example's `decide`, driven through schedules of events, stale caches and crashes: this is all that a kind has to bring
//! for it. Defects that are planted show that they would be found.

use std::fmt;

use conditions::Condition;
use explore::{Dice, Effect, Model, Moves, Own, Violation, Write, WriteOf, hash_of};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use operator_kit::Step;

use super::*;

const PROVEN: &str = "published-is-proven";
const NOTHING_STAYS: &str = "nothing-stays";
const TOLD_AS_IT_IS: &str = "told-as-it-is";

/// A mistake of a controller.
#[derive(Clone, Copy, PartialEq)]
enum Defect {
    None,
    /// It says that it is published as soon as it has asked for that.
    SaysTooEarly,
    /// It lets go and leaves the copy behind.
    LetsGoTooEarly,
    /// It never says anything but the first thing.
    NeverLooksAgain,
}

/// A text, and the uid of the copy that has it.
type Published = (u8, u32);
type OwnNotice = Own<u8, (), NoticeStatus>;

#[derive(Clone)]
struct World {
    own: OwnNotice,
    copy: Option<Published>,
    copy_version: u32,
    next_uid: u32,
}

impl World {
    fn set(&mut self, copy: Option<Published>) -> Effect {
        self.copy = copy;
        self.copy_version += 1;
        Effect::Wrote(1)
    }
}

#[derive(Clone)]
enum Shot {
    Own(OwnNotice),
    Copy(Option<Published>),
}

fn seen(view: &[Shot]) -> (&OwnNotice, Option<Published>) {
    match view {
        [Shot::Own(own), Shot::Copy(copy)] => (own, *copy),
        _ => panic!("not the caches of a notice"),
    }
}

#[derive(Debug, Clone, Copy)]
enum Move {
    Edit(u8),
    Delete,
    SomebodyDeletesTheCopy,
    SomebodyChangesTheCopy,
}

#[derive(Debug)]
enum CopyWrite {
    Apply(u8),
    Delete(String),
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl fmt::Display for CopyWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// Notices, by a controller with this defect.
struct ByController(Defect);

impl Model for ByController {
    type World = World;
    type Move = Move;
    type Shot = Shot;
    type Memory = ();
    type Desk = ();
    type Spec = u8;
    type Marks = ();
    type Status = NoticeStatus;
    type Child = CopyWrite;

    const KINDS: &'static [&'static str] = &["Notice", "ConfigMap"];
    const INVARIANTS: &'static [(&'static str, &'static str)] = &[
        (PROVEN, "Published only if the cache shows the text"),
        (NOTHING_STAYS, "the finalizer goes only after the copy"),
        (TOLD_AS_IT_IS, "in the end the copy has the text, and that is said"),
    ];

    fn desk(&self) {}

    fn begin(&self, _: &mut Dice) -> World {
        World { own: Own::new(1, ()), copy: None, copy_version: 0, next_uid: 1 }
    }

    fn moves(&self, world: &World, (): &(), events: usize, into: &mut Moves<Move>) {
        into.extend([(Move::Edit(1), 10), (Move::Edit(2), 10), (Move::Edit(3), 10)]);
        if world.copy.is_some() {
            into.extend([(Move::SomebodyChangesTheCopy, 5), (Move::SomebodyDeletesTheCopy, 5)]);
        }
        if events > 18 {
            into.push((Move::Delete, 4));
        }
    }

    fn make(&self, world: &mut World, (): &mut (), what: Move, _: i64) {
        match (what, world.copy) {
            (Move::Edit(text), _) if !world.own.deleting => world.own.edit(|spec| *spec = text),
            (Move::Delete, _) => world.own.delete(),
            (Move::SomebodyDeletesTheCopy, Some(_)) => _ = world.set(None),
            (Move::SomebodyChangesTheCopy, Some((_, uid))) => _ = world.set(Some((0, uid))),
            _ => {}
        }
    }

    fn rest(&self, _: &mut World, (): &mut (), _: i64) {}

    fn start(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn own<'a>(&self, world: &'a World, _: usize) -> &'a OwnNotice {
        &world.own
    }

    fn own_mut<'a>(&self, world: &'a mut World, _: usize) -> &'a mut OwnNotice {
        &mut world.own
    }

    fn shown<'a>(&self, view: &'a [Shot], _: usize) -> &'a OwnNotice {
        seen(view).0
    }

    fn conditions<'a>(&self, _: &'a NoticeStatus) -> &'a [Condition] {
        &[]
    }

    fn differs(&self, before: Option<&NoticeStatus>, after: &NoticeStatus) -> bool {
        before != Some(after)
    }

    fn read_back(&self, status: &NoticeStatus) -> NoticeStatus {
        status.clone()
    }

    fn version(&self, world: &World, kind: usize) -> u32 {
        if kind == 0 { world.own.version } else { world.copy_version }
    }

    fn shot(&self, world: &World, kind: usize) -> Shot {
        if kind == 0 { Shot::Own(world.own.clone()) } else { Shot::Copy(world.copy) }
    }

    fn decide(&self, (): &mut (), view: &[Shot], (): &(), _: usize, _: i64) -> Plan<NoticeStatus> {
        let (own, copy) = seen(view);
        let notice = notice(own);
        let published = copy.map_or(Sight::Absent, |copy| Sight::Present(config_map(copy)));
        let mut plan = plan(&notice, &published);
        match self.0 {
            Defect::SaysTooEarly if !own.deleting => plan.status.says = "Published".to_owned(),
            Defect::LetsGoTooEarly if own.deleting => {
                plan.finalizer = Finalizer::Release;
                plan.deletions.clear();
            }
            Defect::NeverLooksAgain => {
                plan.status = own.status.as_deref().cloned().unwrap_or(plan.status);
            }
            _ => {}
        }
        plan
    }

    fn child(&self, step: Step<'_, NoticeStatus>, view: &[Shot], _: usize) -> Option<CopyWrite> {
        let (own, copy) = seen(view);
        match step {
            Step::Apply(_) => {
                (copy.map(|(text, _)| text) != Some(own.spec)).then_some(CopyWrite::Apply(own.spec))
            }
            Step::Delete(_) => copy.map(|(_, uid)| CopyWrite::Delete(uid.to_string())),
            other => panic!("no plan for a notice has it: {other:?}"),
        }
    }

    fn write(&self, world: &mut World, write: &CopyWrite, _: i64) -> Effect {
        match (write, world.copy) {
            (CopyWrite::Apply(text), Some((_, uid))) => world.set(Some((*text, uid))),
            (CopyWrite::Apply(text), None) => {
                world.next_uid += 1;
                world.set(Some((*text, world.next_uid)))
            }
            (CopyWrite::Delete(seen), Some((_, uid))) if *seen == uid.to_string() => world.set(None),
            (CopyWrite::Delete(_), _) => Effect::Wrote(1),
        }
    }

    fn remember(&self, (): &mut (), _: usize, _: &Plan<NoticeStatus>, _: bool) {}

    fn facts(&self, view: &[Shot], (): &(), _: usize) -> u64 {
        let (own, copy) = seen(view);
        hash_of((own.spec, own.deleting, copy))
    }

    fn outcome(&self, world: &World, _: i64) -> (u64, u64) {
        let says = world.own.status.as_ref().map(|status| status.says.clone());
        (hash_of((world.own.spec, world.own.deleting, world.copy.map(|(text, _)| text))), hash_of(says))
    }

    fn judge(
        &self,
        _: &mut World,
        view: &[Shot],
        (): &(),
        _: usize,
        plan: &Plan<NoticeStatus>,
        _: i64,
    ) -> Result<(), Violation> {
        let (own, copy) = seen(view);
        let is_proven = copy.is_some_and(|(text, _)| text == own.spec);
        let is_said = plan.status.says == "Published";
        let is_kept = own.status.as_deref() == Some(&plan.status);
        if is_said && !is_proven && !is_kept {
            return Err(Violation::new(PROVEN, "the copy that was seen has another text"));
        }
        Ok(())
    }

    fn judge_write(
        &self,
        world: &World,
        _: &[Shot],
        _: usize,
        write: &WriteOf<Self>,
    ) -> Result<(), Violation> {
        match write {
            Write::LetGo { .. } if world.copy.is_some() => {
                Err(Violation::new(NOTHING_STAYS, "the copy is still there"))
            }
            _ => Ok(()),
        }
    }

    fn judge_settled(&self, world: &World, _: i64) -> Result<(), Violation> {
        let says = world.own.status.as_ref().map(|status| status.says.as_str());
        let is_up = world.copy.is_some_and(|(text, _)| text == world.own.spec);
        if says != Some("Published") || !is_up {
            return Err(Violation::new(
                TOLD_AS_IT_IS,
                format!("{says:?}, and the copy has its text: {is_up}"),
            ));
        }
        Ok(())
    }
}

fn notice(own: &OwnNotice) -> Notice {
    let spec = NoticeSpec { board: "board".to_owned(), text: own.spec.to_string() };
    let mut notice = Notice::new("a", spec);
    notice.metadata.generation = Some(own.generation);
    notice.metadata.deletion_timestamp = own.deleting.then_some(Time(Timestamp::UNIX_EPOCH));
    notice.status = own.status.as_deref().cloned();
    notice
}

fn config_map((text, uid): Published) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { uid: Some(uid.to_string()), ..ObjectMeta::default() },
        data: Some([("text".to_owned(), text.to_string())].into()),
        ..ConfigMap::default()
    }
}

#[test]
fn explored_notices_keep_every_promise() {
    explore::check("Notice", &ByController(Defect::None), 2_000);
}

#[test]
fn explored_defects_are_found() {
    let planted = [
        (Defect::SaysTooEarly, PROVEN),
        (Defect::LetsGoTooEarly, NOTHING_STAYS),
        (Defect::NeverLooksAgain, TOLD_AS_IT_IS),
    ];
    for (defect, expected) in planted {
        let told = std::panic::catch_unwind(|| explore::check("Notice", &ByController(defect), 2_000));
        let told = *told.expect_err("it was not found").downcast::<String>().expect("a story");
        assert!(told.starts_with(expected), "{expected}: {told}");
    }
}
