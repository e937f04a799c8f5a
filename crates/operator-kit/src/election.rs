//! Leader election by a Lease: of several processes one acts, the others keep their caches warm.
//!
//! A standby looks at the lease every second, takes over at once when it was given up, and after its term when the
//! holder is silent. The holder stops acting well before its term ends. Written here because these bounds are promises of
//! ours: hand-over within 2 s, take-over within 15 s, a loser that stops at once.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, Resource};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, warn};

use crate::fault::{Fault, fault, words};

/// A holder that has been silent for this long has lost the lease.
const TERM: Duration = Duration::from_secs(12);
/// The holder stops acting when it could not renew for this long, before anybody else may start.
const GIVE_UP: Duration = Duration::from_secs(8);
const RENEW_EVERY: Duration = Duration::from_secs(3);
const LOOK_EVERY: Duration = Duration::from_secs(1);
const ANSWER: Duration = Duration::from_secs(2);
/// How long a process that is told to stop may take to give the lease up.
const FAREWELL: Duration = Duration::from_millis(800);

/// Takes part in the election of one lease.
pub(crate) struct Election {
    api: Api<Lease>,
    name: String,
    me: String,
    /// The lease as it was last seen, and since when it has looked like that.
    seen: Option<(Lease, Instant)>,
    /// When the last successful renewal was sent.
    renewed: Option<Instant>,
    term: Term,
    told: Option<Fault>,
}

/// Until when this process may act. Asked before each write: whoever wakes up after a long sleep does not know yet that
/// another one leads.
#[derive(Debug, Clone)]
pub(crate) struct Term(watch::Sender<Option<Instant>>);

impl Term {
    /// Not begun.
    pub(crate) fn ended() -> Self {
        Self(watch::Sender::new(None))
    }

    /// For tests of what is not about leading.
    #[cfg(test)]
    pub(crate) fn endless() -> Self {
        Self(watch::Sender::new(Some(Instant::now() + Duration::from_secs(86_400))))
    }

    /// Whether it lasts at this moment.
    pub(crate) fn lasts(&self) -> bool {
        self.0.borrow().is_some_and(|end| end > Instant::now())
    }

    /// Waits until it is over; a renewal makes it longer.
    pub(crate) async fn over(&self) {
        let mut changes = self.0.subscribe();
        loop {
            let Some(end) = *changes.borrow_and_update() else { return };
            tokio::select! {
                () = sleep_until(end) => return,
                // The sender lives as long as `self`.
                _ = changes.changed() => {}
            }
        }
    }

    fn lasts_until(&self, end: Option<Instant>) {
        self.0.send_replace(end);
    }
}

/// What to do about the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Nobody has it, or its holder is silent.
    Take,
    /// It is ours.
    Renew,
    /// It is somebody else's.
    StandBy,
}

impl Election {
    pub(crate) fn new(client: Client, namespace: &str, name: &str, me: &str, term: Term) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            name: name.to_owned(),
            me: me.to_owned(),
            seen: None,
            renewed: None,
            term,
            told: None,
        }
    }

    /// Tells `leading` who we are until `stop`.
    pub(crate) async fn run(&mut self, leading: &watch::Sender<bool>, stop: &CancellationToken) {
        loop {
            let pause = tokio::select! {
                () = stop.cancelled() => return,
                pause = self.round(leading) => pause,
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep(pause) => {}
            }
        }
    }

    /// Looks at the lease once, and returns when to look again.
    async fn round(&mut self, leading: &watch::Sender<bool>) -> Duration {
        let sent = Instant::now();
        let result = match timeout(ANSWER, self.attempt()).await {
            Ok(result) => result.map_err(|error| (fault(&error), words(&error))),
            Err(_) => Err((Fault::Unreachable, format!("no answer within {} s", ANSWER.as_secs()))),
        };
        match result {
            Ok(true) => {
                (self.renewed, self.told) = (Some(sent), None);
                self.term.lasts_until(Some(sent + GIVE_UP));
                if !leading.send_replace(true) {
                    info!(lease = self.name, identity = self.me, "leading");
                }
                RENEW_EVERY
            }
            Ok(false) => {
                self.told = None;
                self.step_down(leading, "another process holds the lease");
                LOOK_EVERY
            }
            Err((fault, message)) => {
                self.tell(fault, &message);
                if self.renewed.is_none_or(|renewed| renewed.elapsed() + ANSWER + LOOK_EVERY > GIVE_UP) {
                    self.step_down(leading, "the lease could not be renewed in time");
                }
                LOOK_EVERY
            }
        }
    }

    /// Whether the lease is ours after this.
    async fn attempt(&mut self) -> kube::Result<bool> {
        let found = self.api.get_opt(&self.name).await?;
        let Some(lease) = found else {
            let created = self.api.create(&PostParams::default(), &self.lease(None)).await?;
            self.note(created);
            return Ok(true);
        };
        self.note(lease.clone());
        let silent_for = self.seen.as_ref().map(|(_, since)| since.elapsed()).unwrap_or_default();
        match step(lease.spec.as_ref(), &self.me, silent_for) {
            Step::StandBy => Ok(false),
            Step::Take | Step::Renew => {
                // Locked by its version: of two who take it at once one is refused.
                let written =
                    self.api.replace(&self.name, &PostParams::default(), &self.lease(Some(lease))).await?;
                self.note(written);
                Ok(true)
            }
        }
    }

    /// Gives the lease up, so that another need not wait for the term to end.
    pub(crate) async fn release(&mut self) {
        if self.renewed.is_none() {
            return;
        }
        match timeout(FAREWELL, self.give_up()).await {
            Ok(Ok(())) => info!(lease = self.name, "released the lease"),
            Ok(Err(error)) => warn!(lease = self.name, %error, "failed to release the lease"),
            Err(_) => warn!(lease = self.name, "failed to release the lease: no answer"),
        }
    }

    async fn give_up(&self) -> kube::Result<()> {
        let Some(mut lease) = self.api.get_opt(&self.name).await? else {
            return Ok(());
        };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() == Some(self.me.as_str()) {
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(1);
            self.api.replace(&self.name, &PostParams::default(), &lease).await?;
        }
        Ok(())
    }

    fn step_down(&mut self, leading: &watch::Sender<bool>, why: &str) {
        self.term.lasts_until(None);
        if leading.send_replace(false) {
            error!(lease = self.name, why, "lost the lease: stopped acting");
        }
        self.renewed = None;
    }

    /// A record that looks as before has been silent since it was first seen; clocks of other machines do not matter.
    fn note(&mut self, lease: Lease) {
        let same = self.seen.as_ref().is_some_and(|(known, _)| known.spec == lease.spec);
        if !same {
            let holder =
                lease.spec.as_ref().and_then(|spec| spec.holder_identity.clone()).unwrap_or_default();
            debug!(lease = self.name, holder, "the lease changed");
            self.seen = Some((lease, Instant::now()));
        }
    }

    /// The lease as we want it.
    fn lease(&self, current: Option<Lease>) -> Lease {
        let now = MicroTime(Timestamp::now());
        let (metadata, spec) = current.map_or_else(
            || (ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() }, LeaseSpec::default()),
            |lease| (lease.meta().clone(), lease.spec.unwrap_or_default()),
        );
        let ours = spec.holder_identity.as_deref() == Some(self.me.as_str());
        let transitions = spec.lease_transitions.unwrap_or_default() + i32::from(!ours);
        Lease {
            metadata,
            spec: Some(LeaseSpec {
                acquire_time: if ours { spec.acquire_time } else { Some(now.clone()) },
                holder_identity: Some(self.me.clone()),
                lease_duration_seconds: i32::try_from(TERM.as_secs()).ok(),
                lease_transitions: Some(transitions),
                renew_time: Some(now),
                ..spec
            }),
        }
    }

    /// The same trouble is told loudly once.
    fn tell(&mut self, fault: Fault, message: &str) {
        let again = self.told.replace(fault) == Some(fault);
        let lease = &self.name;
        match (again, fault) {
            (true, _) | (_, Fault::Conflict) => debug!(lease, reason = message, "failed to hold the lease"),
            (false, Fault::Forbidden) => {
                error!(lease, reason = message, "failed to get or update the lease: forbidden; trying again");
            }
            (false, Fault::Unreachable) => {
                error!(lease, reason = message, "failed to reach the API server; trying again");
            }
            (false, _) => error!(lease, reason = message, "failed to get or update the lease; trying again"),
        }
    }
}

/// The rule of the game.
fn step(spec: Option<&LeaseSpec>, me: &str, silent_for: Duration) -> Step {
    let holder = spec.and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default();
    let term = spec.and_then(|spec| spec.lease_duration_seconds).and_then(|term| u64::try_from(term).ok());
    if holder == me {
        Step::Renew
    } else if holder.is_empty() || silent_for >= term.map_or(TERM, Duration::from_secs) {
        Step::Take
    } else {
        Step::StandBy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_taken_when_it_is_free_or_its_holder_silent() {
        let lease = |holder: &str| LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: Some(12),
            ..LeaseSpec::default()
        };
        let table = [
            ("nobody ever held it", None, 0, Step::Take),
            ("given up", Some(lease("")), 0, Step::Take),
            ("ours", Some(lease("me")), 0, Step::Renew),
            ("ours, after a pause", Some(lease("me")), 60, Step::Renew),
            ("somebody's who is alive", Some(lease("you")), 11, Step::StandBy),
            ("somebody's who is silent", Some(lease("you")), 12, Step::Take),
        ];
        for (name, spec, silent, expected) in table {
            assert_eq!(step(spec.as_ref(), "me", Duration::from_secs(silent)), expected, "{name}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_term_ends_by_itself_although_nobody_says_so() {
        let term = Term::ended();
        assert!(!term.lasts());
        let start = Instant::now();
        term.lasts_until(Some(start + GIVE_UP));
        assert!(term.lasts());
        let renewed = term.clone();
        tokio::spawn(async move {
            sleep(RENEW_EVERY).await;
            renewed.lasts_until(Some(Instant::now() + GIVE_UP));
        });
        term.over().await;
        assert_eq!((start.elapsed(), term.lasts()), (RENEW_EVERY + GIVE_UP, false));
    }

    #[test]
    fn the_holder_stops_before_another_may_start() {
        assert!(GIVE_UP + ANSWER < TERM);
        assert!(RENEW_EVERY + ANSWER < GIVE_UP);
    }
}
