//! The proxy: plain HTTP towards the program under test, TLS and the program's own token towards the real API server.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::client::Body;
use kube::{Client, Config};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep};

use super::fault::{Fault, LAG};
use super::request::{Request, Target};
use super::watch_stream::{self, Disturbance};
use crate::process_table;

type Reply = Response<UnsyncBoxBody<Bytes, io::Error>>;

/// The process that is killed or put to sleep by some faults.
#[derive(Clone, Debug, Default)]
pub(crate) struct Victim {
    pid: Arc<Mutex<Option<i32>>>,
    /// Whether it was put to sleep, also if it is awake again.
    slept: Arc<watch::Sender<bool>>,
}

impl Victim {
    pub(crate) fn is(&self, pid: Option<u32>) {
        *locked(&self.pid) = pid.map(u32::cast_signed);
    }

    /// Whether a fault has killed it.
    pub(crate) fn was_killed(&self) -> bool {
        locked(&self.pid).is_none()
    }

    /// Waits until a fault puts it to sleep.
    pub(crate) async fn sleeps(&self) {
        if self.slept.subscribe().wait_for(|slept| *slept).await.is_err() {
            // Cannot be: we have the sender.
            std::future::pending::<()>().await;
        }
    }

    /// It goes on where it was.
    pub(crate) fn wake(&self) -> io::Result<()> {
        let pid = locked(&self.pid).filter(|_| *self.slept.borrow());
        match pid.and_then(Pid::from_raw) {
            Some(pid) => Ok(kill_process(pid, Signal::CONT)?),
            None => Ok(()),
        }
    }

    /// Returns when it does nothing any more.
    async fn freeze(&self) {
        let Some(pid) = *locked(&self.pid) else { return };
        if let Some(known) = Pid::from_raw(pid) {
            // It may have ended by itself.
            let _ = kill_process(known, Signal::STOP);
        }
        while !process_table::is_stopped(pid) {
            sleep(Duration::from_millis(1)).await;
        }
        self.slept.send_replace(true);
    }

    /// Without a warning; returns when it does nothing any more.
    async fn kill(&self) {
        let Some(pid) = locked(&self.pid).take() else { return };
        if let Some(known) = Pid::from_raw(pid) {
            // It may have ended by itself.
            let _ = kill_process(known, Signal::KILL);
        }
        while process_table::is_alive(pid) {
            sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Who asks: each has a port of its own.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Process {
    #[default]
    First,
    /// The one that takes over while the first sleeps.
    Successor,
}

/// A proxy that runs as long as this value lives.
pub(crate) struct Proxy {
    address: SocketAddr,
    address_of_successor: SocketAddr,
    shared: Arc<Shared>,
    serving: [JoinHandle<()>; 2],
}

struct Shared {
    upstream: Client,
    victim: Victim,
    state: Mutex<State>,
    disturbances: watch::Sender<Disturbance>,
}

#[derive(Default)]
struct State {
    fault: Option<Fault>,
    is_reached: bool,
    writes: usize,
    last_write: Option<Instant>,
    /// Which process runs now, counted from the first.
    life: usize,
    who: Process,
    /// Whether it has the lease.
    is_leading: bool,
    /// What the first process wrote after its successor had the lease.
    deposed_writes: Vec<String>,
    log: Vec<String>,
    /// The first answer to each list.
    first_lists: HashMap<Target, Bytes>,
    /// Lists that are answered from the past, once.
    stale: HashSet<Target>,
    /// Watches that begin late, once, because their list was.
    lagging: HashSet<Target>,
    /// The code for watches that begin, and those which have had it.
    refused_watches: Option<(u16, HashSet<Target>)>,
}

/// What to do with a write.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Step {
    Forward,
    KillBefore,
    KillAfter,
    FreezeAfter,
    LoseReply,
    Late(Duration),
    Refuse(u16),
}

impl Proxy {
    /// Forwards to the API server that `config` names; whoever asks brings the token.
    pub(crate) fn start(listeners: [TcpListener; 2], mut config: Config, victim: Victim) -> Result<Self> {
        config.auth_info = kube::config::AuthInfo::default();
        config.default_retry = false;
        // A watch is silent for as long as nothing happens.
        config.read_timeout = None;
        let shared = Arc::new(Shared {
            upstream: Client::try_from(config)?,
            victim,
            state: Mutex::default(),
            disturbances: watch::Sender::default(),
        });
        let [first, successor] = listeners;
        let (first, successor) = (asynchronous(first)?, asynchronous(successor)?);
        let (address, address_of_successor) = (first.local_addr()?, successor.local_addr()?);
        let serving = [(first, Process::First), (successor, Process::Successor)]
            .map(|(listener, who)| tokio::spawn(serve(listener, who, Arc::clone(&shared))));
        Ok(Self { address, address_of_successor, shared, serving })
    }

    /// Where a process finds it.
    pub(crate) fn address(&self, who: Process) -> SocketAddr {
        match who {
            Process::First => self.address,
            Process::Successor => self.address_of_successor,
        }
    }

    /// From now on writes are counted, and this goes wrong.
    pub(crate) fn arm(&self, fault: Option<Fault>) {
        let mut state = self.shared.state();
        state.is_reached = fault.as_ref().is_some_and(Fault::is_lasting);
        state.fault = fault;
        state.writes = 0;
        state.log.clear();
    }

    /// From now on nothing goes wrong; only watches that are late stay so.
    pub(crate) fn disarm(&self) {
        let mut state = self.shared.state();
        state.fault = None;
        state.stale.clear();
        state.lagging.clear();
        state.refused_watches = None;
    }

    /// How many writes there were since it was armed.
    pub(crate) fn writes(&self) -> usize {
        self.shared.state().writes
    }

    /// Whether the fault has happened.
    pub(crate) fn is_reached(&self) -> bool {
        self.shared.state().is_reached
    }

    /// What was written since it was armed, one line each, and what went wrong between.
    pub(crate) fn log(&self) -> Vec<String> {
        self.shared.state().log.clone()
    }

    /// Another process starts: it does not have the lease.
    pub(crate) fn restarted(&self, who: Process) {
        let mut state = self.shared.state();
        state.is_leading = false;
        state.who = who;
        state.life += 1;
    }

    /// What a process wrote that was not the leader any more.
    pub(crate) fn deposed_writes(&self) -> Vec<String> {
        self.shared.state().deposed_writes.clone()
    }

    /// Whether the process leads and has written nothing for a while.
    pub(crate) fn is_quiet(&self, pause: Duration) -> bool {
        let state = self.shared.state();
        state.is_leading && state.last_write.is_none_or(|at| at.elapsed() >= pause)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.serving.iter().for_each(JoinHandle::abort);
    }
}

fn asynchronous(listener: TcpListener) -> io::Result<tokio::net::TcpListener> {
    listener.set_nonblocking(true)?;
    tokio::net::TcpListener::from_std(listener)
}

async fn serve(listener: tokio::net::TcpListener, who: Process, shared: Arc<Shared>) {
    // Dropped with this task, and with it every connection.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        let answer = move |request| {
            let shared = Arc::clone(&shared);
            async move { shared.answer(request, who).await }
        };
        connections.spawn(async move {
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
            // A client that was killed, or a reply that was lost on purpose.
            let _ = connection.await;
        });
        while connections.try_join_next().is_some() {}
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    async fn answer(&self, request: http::Request<Incoming>, who: Process) -> io::Result<Reply> {
        match Request::of(request.method(), request.uri()) {
            Request::Write(target) => self.write(request, &target, who).await,
            Request::Watch(target) => self.watch(request, target).await,
            Request::List(target) => self.list(request, target).await,
            Request::Lease => {
                let (is_read, life) = (request.method() == http::Method::GET, self.state().life);
                let answer = self.forward(request).await?;
                if !is_read && answer.status().is_success() {
                    self.state().leads(who, life);
                }
                whole(answer).await
            }
            Request::Other => whole(self.forward(request).await?).await,
        }
    }

    async fn write(
        &self,
        request: http::Request<Incoming>,
        target: &Target,
        who: Process,
    ) -> io::Result<Reply> {
        let what = format!("{} {}", request.method(), target.describe());
        let (number, step) = self.state().count(&what, who);
        match step {
            Step::KillBefore => {
                self.victim.kill().await;
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            Step::Refuse(code) => return Ok(refusal(code)),
            Step::Forward | Step::KillAfter | Step::FreezeAfter | Step::LoseReply | Step::Late(_) => {}
        }
        let answer = whole(self.forward(request).await?).await?;
        self.state().answered(number, answer.status());
        match step {
            Step::KillAfter => {
                // Before the kill: with the client goes its connection, and with that this very request.
                self.disturb(number);
                self.victim.kill().await;
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            // The answer waits for it: the next write of the same plan is the first thing that it does when it wakes up.
            Step::FreezeAfter => self.victim.freeze().await,
            Step::LoseReply => return Err(io::ErrorKind::ConnectionReset.into()),
            Step::Late(late) => sleep(late).await,
            Step::Forward | Step::KillBefore | Step::Refuse(_) => {}
        }
        self.disturb(number);
        Ok(answer)
    }

    /// What happens to reads when a write has been answered.
    fn disturb(&self, number: usize) {
        let mut state = self.state();
        let Some(disturbance) = state.disturbance(number) else { return };
        state.log.push(format!("     {disturbance:?}"));
        drop(state);
        self.disturbances.send_replace(disturbance);
    }

    async fn watch(&self, request: http::Request<Incoming>, target: Target) -> io::Result<Reply> {
        if let Some(code) = self.state().refuses_watch(&target) {
            return Ok(refusal(code));
        }
        if self.state().lags(&target) {
            sleep(LAG).await;
        }
        let late = self.state().lateness(&target);
        // Subscribed before the watch begins: a disturbance meanwhile must not be missed.
        let disturbances = self.disturbances.subscribe();
        let (parts, body) = self.forward(request).await?.into_parts();
        let frames = watch_stream::passed_on(body, target.plural, late, disturbances);
        let mut reply = Response::new(BodyExt::boxed_unsync(StreamBody::new(frames)));
        *reply.status_mut() = parts.status;
        *reply.headers_mut() = end_to_end(parts.headers);
        Ok(reply)
    }

    async fn list(&self, request: http::Request<Incoming>, target: Target) -> io::Result<Reply> {
        let past = self.state().past(&target);
        if let Some(past) = past {
            return Ok(json_reply(StatusCode::OK, past));
        }
        let answer = self.forward(request).await?;
        if !answer.status().is_success() {
            return whole(answer).await;
        }
        let (parts, body) = answer.into_parts();
        let bytes = body.collect_bytes().await.map_err(io::Error::other)?;
        self.state().first_lists.entry(target).or_insert_with(|| bytes.clone());
        whole(Response::from_parts(parts, Body::from(bytes))).await
    }

    async fn forward(&self, request: http::Request<Incoming>) -> io::Result<Response<Body>> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let mut forwarded = http::Request::new(Body::from(body));
        *forwarded.method_mut() = parts.method;
        *forwarded.uri_mut() = parts.uri;
        *forwarded.headers_mut() = end_to_end(parts.headers);
        self.upstream.send(forwarded).await.map_err(io::Error::other)
    }
}

impl State {
    /// The number of a write, and what is to be done with it.
    fn count(&mut self, what: &str, who: Process) -> (usize, Step) {
        self.writes += 1;
        self.last_write = Some(Instant::now());
        let number = self.writes;
        let step = self.step(number);
        let mut told = if step == Step::Forward { String::new() } else { format!("  <- {step:?}") };
        if self.who != Process::First {
            told += &format!("  by {who:?}");
        }
        // Nobody knows better who leads than who has the lease.
        if who != self.who && self.is_leading {
            self.deposed_writes.push(format!("{number}: {what}"));
        }
        self.log.push(format!("{number:>3}  {what}{told}"));
        self.is_reached |=
            step != Step::Forward && !matches!(self.fault, Some(Fault::KillAndStaleLists { .. }));
        (number, step)
    }

    fn step(&self, number: usize) -> Step {
        match &self.fault {
            Some(Fault::KillBefore { write }) if *write == number => Step::KillBefore,
            Some(Fault::KillAfter { write } | Fault::KillAndStaleLists { write }) if *write == number => {
                Step::KillAfter
            }
            Some(Fault::FreezeAfter { write }) if *write == number => Step::FreezeAfter,
            Some(Fault::LoseReply { write }) if *write == number => Step::LoseReply,
            Some(Fault::LateReply { write, millis }) if *write == number => {
                Step::Late(Duration::from_millis(*millis))
            }
            Some(Fault::Refuse { write, code, times }) if (*write..write + times).contains(&number) => {
                Step::Refuse(*code)
            }
            _ => Step::Forward,
        }
    }

    fn answered(&mut self, number: usize, status: StatusCode) {
        self.last_write = Some(Instant::now());
        if !status.is_success() {
            self.log.push(format!("{number:>3}  was answered with {status}"));
        }
    }

    fn disturbance(&mut self, number: usize) -> Option<Disturbance> {
        let fault = self.fault.clone()?;
        let disturbance = match fault {
            Fault::CutWatches { write } if write == number => Disturbance::Cut,
            Fault::ExpireWatches { write } if write == number => Disturbance::Expire(None),
            Fault::RefuseWatches { write, code } if write == number => {
                self.refused_watches = Some((code, HashSet::new()));
                Disturbance::Cut
            }
            Fault::FreezeWatch { write, kind, millis } if write == number => {
                Disturbance::Freeze(kind, Instant::now() + Duration::from_millis(millis))
            }
            // Reached when a list was given, which is later.
            Fault::StaleList { write, kind } if write == number => {
                let of_kind = self.first_lists.keys().filter(|target| target.plural == kind.plural());
                self.stale = of_kind.cloned().collect();
                return Some(Disturbance::Expire(Some(kind)));
            }
            Fault::KillAndStaleLists { write } if write == number => {
                self.stale = self.first_lists.keys().cloned().collect();
                return Some(Disturbance::None);
            }
            _ => return None,
        };
        self.is_reached = true;
        Some(disturbance)
    }

    fn lateness(&self, target: &Target) -> Duration {
        match self.fault {
            Some(Fault::LateWatch { kind, millis }) if kind.plural() == target.plural => {
                Duration::from_millis(millis)
            }
            _ => Duration::ZERO,
        }
    }

    /// Somebody has the lease; a process that was killed meanwhile has nothing of it. It is not at rest before it has had
    /// the time to do something.
    fn leads(&mut self, who: Process, life: usize) {
        if who == self.who && life == self.life && !self.is_leading {
            self.is_leading = true;
            self.last_write = Some(Instant::now());
        }
    }

    fn lags(&mut self, target: &Target) -> bool {
        self.lagging.remove(target)
    }

    fn refuses_watch(&mut self, target: &Target) -> Option<u16> {
        let (code, known) = self.refused_watches.as_mut()?;
        known.insert(target.clone()).then_some(*code)
    }

    /// The first answer to a list, if it is to be given again.
    fn past(&mut self, target: &Target) -> Option<Bytes> {
        let target = self.stale.take(target)?;
        let past = self.first_lists.get(&target).cloned()?;
        self.is_reached = true;
        self.lagging.insert(target);
        Some(past)
    }
}

/// What is about one connection only is not passed on.
fn end_to_end(mut headers: HeaderMap) -> HeaderMap {
    for name in [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
        headers.remove(name);
    }
    headers
}

async fn whole(answer: Response<Body>) -> io::Result<Reply> {
    let (parts, body) = answer.into_parts();
    let bytes = body.collect_bytes().await.map_err(io::Error::other)?;
    let mut reply = Response::new(full(bytes));
    *reply.status_mut() = parts.status;
    *reply.headers_mut() = end_to_end(parts.headers);
    Ok(reply)
}

fn full(bytes: Bytes) -> UnsyncBoxBody<Bytes, io::Error> {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

/// As the API server refuses something.
fn refusal(code: u16) -> Reply {
    let (reason, message) = match code {
        409 => ("Conflict", "the object has been modified; please apply your changes to the latest version"),
        410 => ("Expired", "too old resource version"),
        429 => ("TooManyRequests", "too many requests, please try again later"),
        503 => ("ServiceUnavailable", "the server is currently unable to handle the request"),
        _ => ("InternalError", "an internal error occurred"),
    };
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "reason": reason, "message": format!("{message} (a fault of the lab)"), "code": code});
    let code = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut reply = json_reply(code, status.to_string().into());
    if code == StatusCode::TOO_MANY_REQUESTS {
        reply.headers_mut().insert("retry-after", http::HeaderValue::from_static("1"));
    }
    reply
}

fn json_reply(code: StatusCode, bytes: Bytes) -> Reply {
    let mut reply = Response::new(full(bytes));
    *reply.status_mut() = code;
    reply.headers_mut().insert("content-type", http::HeaderValue::from_static("application/json"));
    reply
}

// A panic elsewhere leaves whole values behind.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn armed(fault: &str) -> State {
        State { fault: Some(fault.parse().expect("a fault")), ..State::default() }
    }

    #[test]
    fn the_write_that_the_fault_names_is_hit_and_no_other() {
        let table = [
            ("kill-before:2", [Step::Forward, Step::KillBefore, Step::Forward]),
            ("kill-after:3", [Step::Forward, Step::Forward, Step::KillAfter]),
            ("freeze-after:2", [Step::Forward, Step::FreezeAfter, Step::Forward]),
            ("lose-reply:1", [Step::LoseReply, Step::Forward, Step::Forward]),
            ("refuse:2:503:2", [Step::Forward, Step::Refuse(503), Step::Refuse(503)]),
            ("late-reply:1:5", [Step::Late(Duration::from_millis(5)), Step::Forward, Step::Forward]),
            ("cut-watches:1", [Step::Forward; 3]),
        ];
        for (fault, expected) in table {
            let mut state = armed(fault);
            let steps = [(); 3].map(|()| state.count("PATCH", Process::First).1);
            assert_eq!(steps, expected, "{fault}");
        }
    }

    #[test]
    fn what_a_sleeper_writes_counts_from_the_moment_at_which_another_leads() {
        let mut state = armed("freeze-after:1");
        state.leads(Process::First, 0);
        state.count("PATCH by the leader", Process::First);
        (state.who, state.life, state.is_leading) = (Process::Successor, 1, false);
        state.count("PATCH that was on its way", Process::First);
        // The sleeper does not lead by writing the lease.
        state.leads(Process::First, 1);
        assert!(!state.is_leading);
        state.leads(Process::Successor, 1);
        state.count("PATCH by the successor", Process::Successor);
        assert_eq!(state.deposed_writes, Vec::<String>::new());
        state.count("PATCH by the sleeper", Process::First);
        assert_eq!(state.deposed_writes, ["4: PATCH by the sleeper"]);
    }

    #[test]
    fn a_list_comes_from_the_past_once_and_only_if_it_was_asked_for_before() {
        let target = |plural: &str| Target { plural: plural.to_owned(), ..Target::default() };
        let mut state = armed("stale-list:1:helmreleases");
        state.first_lists.insert(target("helmreleases"), Bytes::from_static(b"old"));
        state.first_lists.insert(target("services"), Bytes::from_static(b"old"));
        assert!(state.disturbance(1).is_some());
        assert_eq!(state.past(&target("services")), None);
        assert_eq!(state.past(&target("helmreleases")), Some(Bytes::from_static(b"old")));
        assert_eq!(state.past(&target("helmreleases")), None);
    }

    #[test]
    fn each_watch_is_refused_once() {
        let mut state = armed("refuse-watches:1:410");
        assert_eq!(state.refuses_watch(&Target::default()), None);
        assert!(state.disturbance(1).is_some());
        assert_eq!(state.refuses_watch(&Target::default()), Some(410));
        assert_eq!(state.refuses_watch(&Target::default()), None);
    }
}
