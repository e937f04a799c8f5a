//! One schedule: events happen, caches follow late, the operator reconciles, and everything it says is checked.

use crate::dice::Dice;
use crate::event::Event;
use crate::hash::hash_of;
use crate::invariant::{NO_FLAP, SAME_PLAN, SETTLES};
use crate::model::{Effect, Model, Moves, Violation};
use crate::own::{self, WriteOf, writes};
use crate::said;

/// As many reconciles may pass until everything is at rest.
const MOST_ROUNDS: usize = 24;
/// A timer that always comes again, such as a window, is waited for as often.
const MOST_NAPS: usize = 3;

/// The versions of one kind, and how far its cache has come.
struct Versions<S> {
    shots: Vec<S>,
    newest: u32,
    shown: usize,
    /// Our own last write: the cache has to come this far before the next reconcile.
    expected: usize,
}

impl<S> Versions<S> {
    fn behind(&self) -> usize {
        self.shots.len().saturating_sub(self.shown + 1)
    }
}

/// What the last reconcile rested on.
#[derive(Clone, PartialEq, Eq)]
struct Basis {
    shown: Vec<usize>,
    /// The versions of the other objects, and whether they are gone.
    others: Vec<(u32, bool)>,
    asked: u64,
    stage: u64,
    remembered: u64,
}

struct LastReconcile {
    basis: Basis,
    at: i64,
    requeue_at: Option<i64>,
    is_complete: bool,
}

/// How far a plan came.
struct Carried {
    is_complete: bool,
    /// What is said of the object now is what the plan says.
    is_told: bool,
    is_refused: bool,
}

/// What was said while the same facts held.
#[derive(Default)]
struct Epoch {
    facts: u64,
    now: Vec<u64>,
    left: Vec<(usize, u64)>,
}

/// What is known of one object between its reconciles.
#[derive(Default)]
struct Object {
    /// The last plan met a refusal.
    was_refused: bool,
    last: Option<LastReconcile>,
    epoch: Epoch,
}

/// How a schedule ended.
pub(crate) struct Ended {
    pub(crate) events: usize,
    pub(crate) reconciles: usize,
    /// The world at the end and what was said of it.
    pub(crate) outcome: Option<(u64, u64)>,
}

pub(crate) struct Run<'a, M: Model> {
    model: &'a M,
    desk: &'a mut M::Desk,
    world: M::World,
    memory: M::Memory,
    objects: Vec<Object>,
    kinds: Vec<Versions<M::Shot>>,
    view: Vec<M::Shot>,
    now: i64,
    events: usize,
    reconciles: usize,
    moves: Moves<M::Move>,
    story: Option<Vec<String>>,
}

impl<'a, M: Model> Run<'a, M> {
    pub(crate) fn new(model: &'a M, desk: &'a mut M::Desk, dice: &mut Dice, tell: Telling) -> Self {
        let world = model.begin(dice);
        let kinds: Vec<_> = (0..M::KINDS.len())
            .map(|kind| Versions {
                shots: vec![model.shot(&world, kind)],
                newest: model.version(&world, kind),
                shown: 0,
                expected: 0,
            })
            .collect();
        let view = (0..M::KINDS.len()).map(|kind| model.shot(&world, kind)).collect();
        Self {
            model,
            desk,
            world,
            memory: M::Memory::default(),
            objects: (0..M::OBJECTS).map(|_| Object::default()).collect(),
            kinds,
            view,
            now: 0,
            events: 0,
            reconciles: 0,
            moves: Vec::new(),
            story: (tell == Telling::Aloud).then(Vec::new),
        }
    }

    /// Draws `length` events and goes through them; what was drawn is added to `into`.
    pub(crate) fn draw(
        &mut self,
        dice: &mut Dice,
        length: usize,
        into: &mut Vec<Event<M::Move>>,
    ) -> Result<(), Violation> {
        while into.len() < length && !self.is_over() {
            let event = self.next(dice);
            into.push(event);
            self.take(event)?;
        }
        Ok(())
    }

    /// Goes through given events.
    pub(crate) fn replay(&mut self, events: &[Event<M::Move>]) -> Result<(), Violation> {
        events.iter().try_for_each(|event| self.take(*event))
    }

    fn next(&mut self, dice: &mut Dice) -> Event<M::Move> {
        let lagging = self.kinds.iter().filter(|versions| versions.behind() > 0).count();
        let throw = dice.below(100);
        if throw < 28 && lagging > 0 {
            let nth = dice.below(u32::try_from(lagging).unwrap_or(1)) as usize;
            let kind = self.kinds.iter().enumerate().filter(|(_, versions)| versions.behind() > 0).nth(nth);
            if let Some((kind, versions)) = kind {
                let kind = u8::try_from(kind).unwrap_or_default();
                if dice.chance(1, 12) {
                    return Event::Relists { kind };
                }
                let most = u32::try_from(versions.behind()).unwrap_or(1);
                let some = if dice.chance(1, 2) { most } else { 1 + dice.below(most) };
                return Event::Shows { kind, versions: u8::try_from(some).unwrap_or(u8::MAX) };
            }
        }
        if throw < 52 {
            let dies = dice.below(16) == 0;
            let nth = self.whose_turn(dice);
            return match dies {
                true => Event::Dies { nth, after: u8::try_from(dice.below(4)).unwrap_or_default() },
                false => Event::Reconcile { nth },
            };
        }
        if throw < 54 {
            let jumps = [-120, -5, 60, 299, 301, 600, 3600, 86_400];
            return Event::Clock { seconds: dice.pick(&jumps).unwrap_or(60) };
        }
        self.moves.clear();
        self.model.moves(&self.world, &self.memory, self.events, &mut self.moves);
        let all: u32 = self.moves.iter().map(|(_, weight)| weight).sum();
        let mut at = dice.below(all);
        for (what, weight) in &self.moves {
            if at < *weight {
                return Event::Happens(*what);
            }
            at -= weight;
        }
        Event::Reconcile { nth: self.whose_turn(dice) }
    }

    /// One that is there, if one is.
    fn whose_turn(&self, dice: &mut Dice) -> u8 {
        if M::OBJECTS == 1 {
            return 0;
        }
        let there: Vec<u8> = (0..M::OBJECTS)
            .filter(|nth| !self.model.own(&self.world, *nth).is_gone)
            .filter_map(|nth| u8::try_from(nth).ok())
            .collect();
        dice.pick(&there).unwrap_or_default()
    }

    fn take(&mut self, event: Event<M::Move>) -> Result<(), Violation> {
        self.events += 1;
        self.now += 1;
        if self.story.is_some() {
            let words = event.in_words(M::KINDS, M::OBJECTS);
            self.note(|| words);
        }
        match event {
            Event::Happens(what) => {
                self.model.make(&mut self.world, &mut self.memory, what, self.now);
                self.record();
            }
            Event::Shows { kind, versions } => self.show(usize::from(kind), usize::from(versions)),
            Event::Relists { kind } => self.show(usize::from(kind), usize::MAX),
            Event::CatchesUp => self.show_all(),
            Event::Reconcile { nth } => self.reconcile(usize::from(nth), None)?,
            Event::Dies { nth, after } => {
                self.reconcile(usize::from(nth), Some(after))?;
                self.restart();
            }
            Event::Clock { seconds } => {
                self.now += i64::from(seconds);
                for object in &mut self.objects {
                    // A timer is a cause.
                    object.epoch = Epoch::default();
                    if seconds < 0 {
                        object.last = None;
                    }
                }
            }
        }
        Ok(())
    }

    /// New versions of the kinds that changed.
    fn record(&mut self) {
        for (kind, versions) in self.kinds.iter_mut().enumerate() {
            let newest = self.model.version(&self.world, kind);
            if newest != versions.newest {
                versions.newest = newest;
                versions.shots.push(self.model.shot(&self.world, kind));
            }
        }
    }

    fn show(&mut self, kind: usize, more: usize) {
        let (Some(versions), Some(seen)) = (self.kinds.get_mut(kind), self.view.get_mut(kind)) else {
            return;
        };
        let shown = versions.shown + more.min(versions.behind());
        if shown != versions.shown {
            versions.shown = shown;
            if let Some(shot) = versions.shots.get(shown) {
                seen.clone_from(shot);
            }
        }
    }

    fn show_all(&mut self) {
        (0..self.kinds.len()).for_each(|kind| self.show(kind, usize::MAX));
    }

    /// A successor: no memory, and caches that start with what the API server has.
    fn restart(&mut self) {
        self.memory = M::Memory::default();
        for object in &mut self.objects {
            object.was_refused = false;
            object.last = None;
        }
        self.show_all();
        self.kinds.iter_mut().for_each(|versions| versions.expected = 0);
    }

    fn reconcile(&mut self, nth: usize, dies_after: Option<u8>) -> Result<(), Violation> {
        // What a cache does not show is not looked at, and what it still shows is not there any more.
        if self.model.own(&self.world, nth).is_gone || self.model.shown(&self.view, nth).is_gone {
            return Ok(());
        }
        if self.kinds.iter().any(|versions| versions.expected > versions.shown) {
            self.note(|| "  a cache does not show the operator's own last write: it waits".to_owned());
            return Ok(());
        }
        self.reconciles += 1;
        let plan = self.model.decide(self.desk, &self.view, &self.memory, nth, self.now);
        if self.reconciles.is_multiple_of(16)
            && self.model.decide(self.desk, &self.view, &self.memory, nth, self.now) != plan
        {
            return Err(Violation::new(SAME_PLAN, "decided twice, two plans"));
        }
        let (model, view) = (self.model, &self.view);
        let writes = writes(model, &plan, model.shown(view, nth), |step| model.child(step, view, nth));
        let basis = self.basis(nth);
        self.check_quiet(nth, &basis, &writes)?;
        self.model.judge(&mut self.world, &self.view, &self.memory, nth, &plan, self.now)?;
        let carried = self.carry_out(nth, &writes, dies_after)?;
        self.note_said(nth, writes.len());
        let facts = self.model.facts(&self.view, &self.memory, nth);
        let is_same = self.objects.get(nth).is_some_and(|object| object.epoch.facts == facts);
        if carried.is_told || is_same {
            self.check_flap(nth, facts)?;
        } else if let Some(object) = self.objects.get_mut(nth) {
            // What stands was said of other facts, and nothing yet of these.
            object.epoch = Epoch::default();
        }
        if dies_after.is_some() {
            return Ok(());
        }
        self.model.remember(&mut self.memory, nth, &plan, carried.is_refused);
        let start = self.model.start();
        let requeue_at = plan.requeue_at.map(|at| at.duration_since(start).as_secs());
        if let Some(object) = self.objects.get_mut(nth) {
            object.was_refused = carried.is_refused;
            let is_complete = carried.is_complete;
            object.last = Some(LastReconcile { basis, at: self.now, requeue_at, is_complete });
        }
        Ok(())
    }

    /// The writes of a plan, as far as it comes.
    fn carry_out(
        &mut self,
        nth: usize,
        writes: &[WriteOf<M>],
        dies_after: Option<u8>,
    ) -> Result<Carried, Violation> {
        let mut done = 0_u8;
        let was_refused = self.objects.get(nth).is_some_and(|object| object.was_refused);
        let mut carried = Carried { is_complete: true, is_told: true, is_refused: false };
        let cut_short = |is_refused| Carried { is_complete: false, is_told: false, is_refused };
        for (at, write) in writes.iter().enumerate() {
            if dies_after == Some(done) {
                return Ok(cut_short(carried.is_refused));
            }
            if !write.goes_on(carried.is_refused, was_refused) {
                carried.is_complete = false;
                // What is said of the object comes last.
                carried.is_told = at + 1 < writes.len();
                continue;
            }
            self.model.judge_write(&self.world, &self.view, nth, write).map_err(|broken| {
                let words = format!("{}: {}", own::in_words(self.model, write), broken.words);
                Violation::new(broken.invariant, words)
            })?;
            let effect = own::carry_out(self.model, &mut self.world, nth, write, self.now);
            let model = self.model;
            self.note(|| format!("  writes {}{}", own::in_words(model, write), told(effect)));
            match effect {
                Effect::Wrote(kind) => {
                    done = done.saturating_add(1);
                    self.record();
                    if let Some(versions) = self.kinds.get_mut(kind) {
                        versions.expected = versions.shots.len() - 1;
                    }
                }
                Effect::Conflict => return Ok(cut_short(carried.is_refused)),
                Effect::Refused => {
                    carried.is_complete = false;
                    carried.is_refused = true;
                }
            }
        }
        Ok(carried)
    }

    fn basis(&self, nth: usize) -> Basis {
        let others = (0..M::OBJECTS).filter(|other| *other != nth);
        let own = self.model.shown(&self.view, nth);
        Basis {
            // The own object's status is mostly not a cause; what users change of it is.
            shown: self.kinds.iter().skip(1).map(|versions| versions.shown).collect(),
            others: others
                .map(|other| self.model.shown(&self.view, other))
                .map(|other| (other.version, other.is_gone))
                .collect(),
            asked: own.asked(),
            stage: own.status.as_deref().map_or(0, |status| self.model.stage(status)),
            remembered: hash_of(&self.memory),
        }
    }

    /// A reconcile after one that was carried out, with the same view and no timer between, has nothing to do.
    fn check_quiet(&self, nth: usize, basis: &Basis, writes: &[WriteOf<M>]) -> Result<(), Violation> {
        let Some(last) = self.objects.get(nth).and_then(|object| object.last.as_ref()) else { return Ok(()) };
        let is_woken = last.requeue_at.is_some_and(|at| at <= self.now);
        if last.is_complete && !is_woken && last.at <= self.now && last.basis == *basis && !writes.is_empty()
        {
            let wanted: Vec<_> = writes.iter().map(|write| own::in_words(self.model, write)).collect();
            let words =
                format!("nothing changed since the last reconcile, and it writes {}", wanted.join(", "));
            return Err(Violation::new(NO_FLAP, words));
        }
        Ok(())
    }

    /// While the same is true of what is seen, no condition goes back to what it said before.
    fn check_flap(&mut self, nth: usize, facts: u64) -> Result<(), Violation> {
        let model = self.model;
        let Some(epoch) = self.objects.get_mut(nth).map(|object| &mut object.epoch) else { return Ok(()) };
        let status = model.own(&self.world, nth).status.as_deref();
        let said = said::numbers(status.map_or(&[], |status| model.conditions(status)));
        if facts != epoch.facts {
            *epoch = Epoch { facts, now: said, left: Vec::new() };
            return Ok(());
        }
        for (type_, (before, now)) in epoch.now.iter().zip(&said).enumerate() {
            if before == now {
                continue;
            }
            if epoch.left.contains(&(type_, *now)) {
                let words = format!(
                    "condition {type_} returned to what it said before although the same was true all the time; \
                     now it says {}",
                    said::words(status.map_or(&[], |status| model.conditions(status)))
                );
                return Err(Violation::new(NO_FLAP, words));
            }
            epoch.left.push((type_, *before));
        }
        epoch.now = said;
        Ok(())
    }

    /// Lets everything come to rest and checks what is said then.
    pub(crate) fn settle(&mut self) -> Result<Ended, Violation> {
        self.note(|| "then nothing more happens, and everything is seen".to_owned());
        let mut naps = 0;
        for _ in 0..MOST_ROUNDS {
            self.now += 1;
            self.model.rest(&mut self.world, &mut self.memory, self.now);
            self.record();
            if self.is_over() {
                return Ok(self.ended(None));
            }
            let before: Vec<u32> = self.kinds.iter().map(|versions| versions.newest).collect();
            let remembered = hash_of(&self.memory);
            for nth in 0..M::OBJECTS {
                self.show_all();
                self.reconcile(nth, None)?;
            }
            let is_quiet = self.kinds.iter().map(|versions| versions.newest).eq(before)
                && remembered == hash_of(&self.memory);
            if !is_quiet {
                continue;
            }
            let timers = self.objects.iter().enumerate().filter_map(|(nth, object)| {
                let is_there = !self.model.own(&self.world, nth).is_gone;
                object.last.as_ref().filter(|_| is_there)?.requeue_at
            });
            let nap = timers.filter(|at| *at > self.now).min();
            match nap {
                Some(at) if naps < MOST_NAPS => {
                    naps += 1;
                    let seconds = at - self.now;
                    self.note(|| format!("  it sleeps for {seconds} s"));
                    self.now = at;
                    self.objects.iter_mut().for_each(|object| object.epoch = Epoch::default());
                }
                _ => {
                    self.model.judge_settled(&self.world, self.now)?;
                    let outcome = self.model.outcome(&self.world, self.now);
                    return Ok(self.ended(Some(outcome)));
                }
            }
        }
        if self.is_over() {
            return Ok(self.ended(None));
        }
        let words = format!("still at work after {MOST_ROUNDS} reconciles; it says {}", self.all_said());
        Err(Violation::new(SETTLES, words))
    }

    fn ended(&self, outcome: Option<(u64, u64)>) -> Ended {
        Ended { events: self.events, reconciles: self.reconciles, outcome }
    }

    /// What happened so far, if it is being told.
    pub(crate) fn story(self) -> Vec<String> {
        self.story.unwrap_or_default()
    }

    /// What all objects say now.
    pub(crate) fn all_said(&self) -> String {
        (0..M::OBJECTS).map(|nth| self.said(nth)).collect::<Vec<_>>().join("; ")
    }

    fn said(&self, nth: usize) -> String {
        let status = self.model.own(&self.world, nth).status.as_deref();
        status.map_or_else(|| "nothing".to_owned(), |status| said::words(self.model.conditions(status)))
    }

    fn is_over(&self) -> bool {
        (0..M::OBJECTS).all(|nth| self.model.own(&self.world, nth).is_gone)
    }

    fn note(&mut self, words: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            story.push(words());
        }
    }

    fn note_said(&mut self, nth: usize, writes: usize) {
        if self.story.is_some() && writes > 0 {
            let said = self.said(nth);
            self.note(|| format!("  now says {said}"));
        }
    }
}

fn told(effect: Effect) -> &'static str {
    match effect {
        Effect::Wrote(_) => "",
        Effect::Conflict => ": refused, somebody else wrote first",
        Effect::Refused => ": refused",
    }
}

/// Whether a run is only checked, or told as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Telling {
    Silently,
    Aloud,
}
