//! A cluster that answers as recorded.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// Where the operations of namespace shop are.
pub(crate) const OPERATIONS: &str = "/apis/ops.vworkspace.io/v1alpha1/namespaces/shop/operations";

/// What the server got.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) body: Value,
}

/// What it answers.
pub(crate) enum Answer {
    Json(u16, Value),
    Text(u16, &'static str),
    /// The events of a watch, after which the connection stays open.
    Events(Vec<Value>),
}

type Answers = dyn Fn(&Asked, usize) -> Answer + Send + Sync;

/// A cluster with its kubeconfig. `answers` gets the request and how many came before it.
pub(crate) struct Cluster {
    kubeconfig: PathBuf,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// What a run of the program left.
pub(crate) struct Run {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) exit: Option<i32>,
}

impl Cluster {
    pub(crate) fn start(answers: impl Fn(&Asked, usize) -> Answer + Send + Sync + 'static) -> Cluster {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let (asked, answers): (Arc<Mutex<Vec<Asked>>>, Arc<Answers>) = (Arc::default(), Arc::new(answers));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (seen, answers) = (Arc::clone(&seen), Arc::clone(&answers));
                std::thread::spawn(move || answer(stream, &seen, &*answers));
            }
        });
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let kubeconfig = scratch(&format!("{}-{number}.kubeconfig", std::process::id()));
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "shop"}}],
            "clusters": [{"name": "c", "cluster": {"server": address}}],
            "users": [{"name": "u", "user": {}}],
        });
        std::fs::write(&kubeconfig, config.to_string()).unwrap();
        Cluster { kubeconfig, asked }
    }

    /// One that has these operations and nothing else, and takes what it is given.
    pub(crate) fn with(operations: Vec<Value>) -> Cluster {
        Cluster::start(move |asked, _| {
            let name = asked.path.strip_prefix(OPERATIONS).and_then(|rest| rest.strip_prefix('/'));
            match (asked.method.as_str(), name) {
                ("GET", None)
                    if asked.path == "/apis/ops.vworkspace.io/v1alpha1/operations"
                        || asked.path == OPERATIONS =>
                {
                    Answer::Json(200, list("OperationList", &operations))
                }
                ("GET" | "PATCH", Some(name)) => {
                    match operations.iter().find(|one| one["metadata"]["name"] == name) {
                        Some(found) => Answer::Json(200, found.clone()),
                        None => absent(&format!("operations.ops.vworkspace.io {name:?} not found")),
                    }
                }
                _ => absent("nothing is recorded"),
            }
        })
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-vworkspace"));
        command.arg("op").args(arguments).arg("--kubeconfig").arg(&self.kubeconfig);
        command.env("USER", "ada").env_remove("CLICOLOR_FORCE");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        finish(self.command(arguments))
    }

    /// Everything that was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The bodies of all requests that write.
    pub(crate) fn written(&self) -> Vec<Value> {
        self.asked().into_iter().filter(|asked| asked.method != "GET").map(|asked| asked.body).collect()
    }
}

/// Without a cluster.
pub(crate) fn run(arguments: &[&str]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-vworkspace"));
    command.arg("op").args(arguments).env_remove("KUBECONFIG").env("HOME", "/nonexistent");
    command.env_remove("CLICOLOR_FORCE");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(command)
}

/// What never ends by itself has no exit code.
fn finish(mut command: Command) -> Run {
    let mut child = command.spawn().unwrap();
    for _ in 0..200 {
        if child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    Run {
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
        exit: output.status.code(),
    }
}

/// A file of this test's own.
pub(crate) fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("op-{name}"))
}

fn answer(stream: TcpStream, seen: &Mutex<Vec<Asked>>, answers: &Answers) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let Some((asked, number)) = request(&mut reader, seen) else { return };
    let mut stream = stream;
    let (code, kind, body) = match answers(&asked, number) {
        Answer::Json(code, value) => (code, "application/json", value.to_string()),
        Answer::Text(code, text) => (code, "text/plain", text.to_owned()),
        Answer::Events(events) => {
            let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n");
            for event in events {
                let _ = writeln!(stream, "{event}");
            }
            let _ = stream.read(&mut [0]);
            return;
        }
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {code} X\r\ncontent-type: {kind}\r\ncontent-length: {length}");
    let _ = write!(stream, "{head}\r\nconnection: close\r\n\r\n{body}");
}

fn request(reader: &mut impl BufRead, seen: &Mutex<Vec<Asked>>) -> Option<(Asked, usize)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        if let Some(value) = header.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if header.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let asked = Asked { method, path: path.to_owned(), query: query.to_owned(), body };
    let mut seen = seen.lock().unwrap();
    seen.push(asked.clone());
    Some((asked, seen.len() - 1))
}

/// The server's word for what is not there.
pub(crate) fn absent(message: &str) -> Answer {
    refusal(404, "NotFound", message)
}

/// The server's word for no.
pub(crate) fn refusal(code: u16, reason: &str, message: &str) -> Answer {
    Answer::Json(
        code,
        json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "code": code,
            "reason": reason, "message": message}),
    )
}

/// A list as the server writes it.
pub(crate) fn list(kind: &str, items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"resourceVersion": "10"}, "items": items})
}

/// An operation of namespace shop on application web.
pub(crate) fn operation(name: &str, type_: &str, engine: &str, status: Value) -> Value {
    let mut operation = json!({
        "apiVersion": "ops.vworkspace.io/v1alpha1", "kind": "Operation",
        "metadata": {"name": name, "namespace": "shop", "uid": format!("{name}-uid"), "resourceVersion": "7",
            "generation": 1, "creationTimestamp": "2026-01-02T03:00:00Z"},
        "spec": {
            "targetRef": {"apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance", "name": "web"},
            "type": type_, "engine": engine,
        },
    });
    if !status.is_null() {
        operation["status"] = status;
    }
    operation
}

/// A condition.
pub(crate) fn condition(type_: &str, status: &str, reason: &str, message: &str, time: &str) -> Value {
    json!({"type": type_, "status": status, "reason": reason, "message": message, "observedGeneration": 1,
        "lastTransitionTime": time})
}
