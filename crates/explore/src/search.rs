//! Many schedules, on all cores, until one breaks something.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::dice::Dice;
use crate::event::{Event, undisturbed};
use crate::invariant::SCHEDULE_DOES_NOT_MATTER;
use crate::model::{Model, Violation};
use crate::run::{Ended, Run, Telling};
use crate::shrink;

/// What to go through.
#[derive(Debug, Clone)]
pub struct Search {
    /// The first seed; the others follow it.
    pub seed: u64,
    /// How many.
    pub schedules: u64,
    /// At least and at most as many events in each.
    pub events: (u32, u32),
    /// Every so many schedules are also gone through undisturbed.
    pub undisturbed_every: u64,
}

impl Search {
    /// As many schedules as the environment asks for, or these.
    #[must_use]
    pub fn from_environment(schedules: u64) -> Self {
        let set = |name| std::env::var(name).ok().map(|text| number(name, &text));
        Self {
            seed: set("EXPLORE_FIRST_SEED").unwrap_or(1),
            schedules: set("EXPLORE_SCHEDULES").unwrap_or(schedules),
            events: (20, 36),
            undisturbed_every: 64,
        }
    }
}

/// What was gone through.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    /// Schedules.
    pub schedules: u64,
    /// Their events, the way to rest not counted.
    pub events: u64,
    /// Reconciles: each is at least one call of `decide`.
    pub reconciles: u64,
    /// Schedules with fewer events than asked for, because the object was gone.
    pub short: u64,
    /// Worlds that more than one schedule ended in, and that were compared.
    pub compared: u64,
    /// How long it took.
    pub took: Duration,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.took.as_secs_f64().max(f64::EPSILON);
        #[allow(clippy::cast_precision_loss)] // Nobody reads the last digit.
        let rate = self.schedules as f64 / seconds;
        write!(
            f,
            "{} schedules, {} events, {} reconciles, {} endings compared, {seconds:.1} s, {rate:.0} schedules/s",
            self.schedules, self.events, self.reconciles, self.compared
        )
    }
}

/// A schedule that broke something.
#[derive(Debug, Clone)]
struct Failure {
    /// What.
    pub violation: Violation,
    /// Draws the schedule again.
    pub seed: u64,
    /// The schedule that ended in the same world with another status.
    pub other_seed: Option<u64>,
    /// The shortest schedule that shows it, in words.
    pub story: Vec<String>,
    /// What the other schedule was.
    pub other_story: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.violation.invariant, self.violation.words)?;
        match self.other_seed {
            Some(other) => writeln!(f, "seeds {other},{} (EXPLORE_SEED={other},{})", self.seed, self.seed)?,
            None => writeln!(f, "seed {} (EXPLORE_SEED={})", self.seed, self.seed)?,
        }
        self.story.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
        if !self.other_story.is_empty() {
            writeln!(f, "but:")?;
        }
        self.other_story.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

/// Keys are hashes already.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {}
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// Which world was told how, and by which schedule first.
type Endings = HashMap<u64, (u64, u64), BuildHasherDefault<AsItIs>>;

/// Goes through all schedules; the first failure that is found ends it.
fn explore<M: Model>(model: &M, search: &Search) -> (Counts, Option<Failure>) {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let (started, stop) = (Instant::now(), AtomicBool::new(false));
    let worker = |core: usize| {
        let mut worker = Worker::new(model, search);
        let failure = worker.run(core as u64, cores as u64, &stop);
        if failure.is_some() {
            stop.store(true, Ordering::Relaxed);
        }
        (worker.counts, failure)
    };
    let done: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|core| scope.spawn(move || worker(core))).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let mut counts = done.iter().fold(Counts::default(), |sum, (counts, _)| Counts {
        schedules: sum.schedules + counts.schedules,
        events: sum.events + counts.events,
        reconciles: sum.reconciles + counts.reconciles,
        short: sum.short + counts.short,
        compared: sum.compared + counts.compared,
        took: sum.took,
    });
    counts.took = started.elapsed();
    (counts, done.into_iter().find_map(|(_, failure)| failure))
}

/// What a test of a kind calls: `schedules` of them, or as many as `EXPLORE_SCHEDULES` says, from `EXPLORE_FIRST_SEED` on; or the
/// seeds in `EXPLORE_SEED` again.
///
/// # Panics
///
/// With the story of a schedule that broke something.
pub fn check<M: Model>(kind: &str, model: &M, schedules: u64) {
    let search = Search::from_environment(schedules);
    let failure = if let Ok(seeds) = std::env::var("EXPLORE_SEED") {
        let seeds: Vec<u64> = seeds.split(',').map(|seed| number("EXPLORE_SEED", seed)).collect();
        again(model, &search, &seeds)
    } else {
        let (counts, failure) = explore(model, &search);
        println!("explored {kind}: {counts}");
        assert!(
            failure.is_some() || counts.schedules == search.schedules,
            "{} schedules of {}",
            counts.schedules,
            search.schedules
        );
        assert!(
            failure.is_some() || counts.short * 50 <= counts.schedules,
            "too many schedules are short: {}",
            counts.short
        );
        failure
    };
    assert!(failure.is_none(), "{}", failure.map(|failure| failure.to_string()).unwrap_or_default());
}

#[allow(clippy::panic)] // It is called by tests only, and a number that is misread would pass for a short run.
fn number(name: &str, text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{name} is {text}; expected a number"))
}

/// Goes through these seeds only, in their order, and tells how they differ.
fn again<M: Model>(model: &M, search: &Search, seeds: &[u64]) -> Option<Failure> {
    let mut worker = Worker::new(model, search);
    seeds.iter().find_map(|seed| worker.schedule(*seed))
}

struct Worker<'a, M: Model> {
    model: &'a M,
    search: &'a Search,
    desk: M::Desk,
    endings: Endings,
    counts: Counts,
}

impl<'a, M: Model> Worker<'a, M> {
    fn new(model: &'a M, search: &'a Search) -> Self {
        Self { model, search, desk: model.desk(), endings: Endings::default(), counts: Counts::default() }
    }

    fn run(&mut self, core: u64, cores: u64, stop: &AtomicBool) -> Option<Failure> {
        (core..self.search.schedules).step_by(usize::try_from(cores).unwrap_or(1)).find_map(|nth| {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            self.schedule(self.search.seed.wrapping_add(nth))
        })
    }

    fn schedule(&mut self, seed: u64) -> Option<Failure> {
        let mut events = Vec::with_capacity(64);
        match self.draw(seed, &mut events) {
            Ok(ended) => {
                self.count(&ended);
                let disturbed = ended.outcome.and_then(|outcome| self.compare(seed, outcome, &events));
                disturbed.or_else(|| self.undisturbed(seed, &events))
            }
            Err(violation) => Some(self.failure(seed, violation, events)),
        }
    }

    fn draw(&mut self, seed: u64, events: &mut Vec<Event<M::Move>>) -> Result<Ended, Violation> {
        let (least, most) = self.search.events;
        let mut dice = Dice::new(seed);
        let mut run = Run::new(self.model, &mut self.desk, &mut dice, Telling::Silently);
        let length = least + dice.below(most.saturating_sub(least) + 1);
        run.draw(&mut dice, length as usize, events)?;
        run.settle()
    }

    fn count(&mut self, ended: &Ended) {
        self.counts.schedules += 1;
        self.counts.events += ended.events as u64;
        self.counts.reconciles += ended.reconciles as u64;
        self.counts.short += u64::from((ended.events as u64) < u64::from(self.search.events.0));
    }

    /// The same moves without disturbance, now and then.
    fn undisturbed(&mut self, seed: u64, events: &[Event<M::Move>]) -> Option<Failure> {
        if !seed.is_multiple_of(self.search.undisturbed_every) {
            return None;
        }
        let events = undisturbed(events, M::OBJECTS);
        let mut run = Run::new(self.model, &mut self.desk, &mut Dice::new(seed), Telling::Silently);
        match run.replay(&events).and_then(|()| run.settle()) {
            Ok(ended) => ended.outcome.and_then(|outcome| self.compare(seed, outcome, &events)),
            Err(violation) => Some(self.failure(seed, violation, events)),
        }
    }

    /// The first that ends in a world says how such worlds are told.
    fn compare(
        &mut self,
        seed: u64,
        (world, said): (u64, u64),
        events: &[Event<M::Move>],
    ) -> Option<Failure> {
        let (known, first) = *self.endings.entry(world).or_insert((said, seed));
        if first == seed && known == said {
            return None;
        }
        self.counts.compared += 1;
        if known == said {
            return None;
        }
        let words = "the same world is told in two ways".to_owned();
        let violation = Violation { invariant: SCHEDULE_DOES_NOT_MATTER, words };
        let other_story = self.shortest_to(seed, events.to_vec(), (world, said));
        let mut others = Vec::new();
        // It was gone through before without a failure.
        let _ = self.draw(first, &mut others);
        let is_it = |events: &[_], worker: &mut Self| {
            let ended = shrink::ending(worker.model, &mut worker.desk, first, events);
            ended.is_ok_and(|ended| ended.outcome == Some((world, known)))
        };
        if !is_it(&others, self) {
            others = undisturbed(&others, M::OBJECTS);
        }
        let story = self.shortest_to(first, others, (world, known));
        Some(Failure { violation, seed, other_seed: Some(first), story, other_story })
    }

    fn shortest_to(&mut self, seed: u64, events: Vec<Event<M::Move>>, outcome: (u64, u64)) -> Vec<String> {
        let events = shrink::shortest(self.model, &mut self.desk, seed, events, |ended| {
            ended.as_ref().is_ok_and(|ended| ended.outcome == Some(outcome))
        });
        shrink::story(self.model, &mut self.desk, seed, &events)
    }

    fn failure(&mut self, seed: u64, violation: Violation, events: Vec<Event<M::Move>>) -> Failure {
        let events = shrink::shortest(self.model, &mut self.desk, seed, events, |ended| {
            ended.as_ref().is_err_and(|found| found.invariant == violation.invariant)
        });
        let story = shrink::story(self.model, &mut self.desk, seed, &events);
        Failure { violation, seed, other_seed: None, story, other_story: Vec::new() }
    }
}
