//! A cluster that refuses a part of what is asked for: the rest is shown all the same. The API server is a few lines
//! of HTTP.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

/// Answers until the test ends; the address of it.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || answer(stream));
        }
    });
    address
}

fn answer(stream: TcpStream) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(request) = lines.next() else { return };
    lines.find(String::is_empty);
    let path = request.split(' ').nth(1).unwrap();
    let mut stream = stream;
    if path.contains("watch=true") {
        // Nothing ever changes. The client closes the connection.
        let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n");
        let _ = stream.read(&mut [0]);
        return;
    }
    let (code, body) = body(path.split('?').next().unwrap());
    let body = body.to_string();
    let length = body.len();
    let head = format!("HTTP/1.1 {code} X\r\ncontent-type: application/json\r\ncontent-length: {length}");
    let _ = write!(stream, "{head}\r\nconnection: close\r\n\r\n{body}");
}

fn body(path: &str) -> (u16, Value) {
    let served = |plural: &str, kind: &str| {
        json!({
            "resource": plural, "scope": "Namespaced", "verbs": ["get", "list", "watch"],
            "responseKind": {"group": "", "version": "v1", "kind": kind},
        })
    };
    let discovery = |items: Value| json!({"apiVersion": "apidiscovery.k8s.io/v2", "kind": "APIGroupDiscoveryList", "metadata": {}, "items": items});
    let resources = [served("pods", "Pod"), served("secrets", "Secret")];
    match path {
        "/api" => (200, discovery(json!([{"versions": [{"version": "v1", "resources": resources}]}]))),
        "/apis" => (200, discovery(json!([]))),
        "/api/v1/namespaces/default/pods" => {
            let pod =
                json!({"metadata": {"name": "a", "namespace": "default"}, "status": {"phase": "Succeeded"}});
            (
                200,
                json!({"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "1"}, "items": [pod]}),
            )
        }
        _ => {
            let status = json!({
                "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "code": 403,
                "reason": "Forbidden", "message": "secrets is forbidden: no way",
            });
            (403, status)
        }
    }
}

struct Cluster {
    kubeconfig: PathBuf,
}

impl Cluster {
    fn start(name: &str) -> Cluster {
        let kubeconfig = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.kubeconfig"));
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": serve()}}],
            "users": [{"name": "u", "user": {}}],
        });
        std::fs::write(&kubeconfig, config.to_string()).unwrap();
        Cluster { kubeconfig }
    }

    fn status(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-vworkspace"));
        command.arg("status").args(arguments).arg("--kubeconfig").arg(&self.kubeconfig);
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> (String, String, Option<i32>) {
        let mut command = self.status(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // What never ends by itself has no exit code.
        for _ in 0..200 {
            if child.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        let _ = child.kill();
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap(), status.code())
    }
}

const FORBIDDEN: &str =
    "error: failed to read secrets in namespace default: secrets is forbidden: no way (403)\n";

#[test]
fn what_can_be_read_is_shown_beside_what_cannot() {
    let cluster = Cluster::start("once");
    let (out, err, code) = cluster.run(&["pods"]);
    assert!(out.contains("Pod/a"), "{out}{err}");
    assert_eq!((err.as_str(), code), ("", Some(0)));
    for (arguments, wanted) in [("secrets,pods", FORBIDDEN), ("pods,secrets", FORBIDDEN)] {
        let (out, err, code) = cluster.run(&[arguments]);
        assert!(out.contains("Pod/a"), "{arguments}: {out}{err}");
        assert_eq!((err.as_str(), code), (wanted, Some(3)), "{arguments}");
    }
    let (out, err, code) = cluster.run(&["nonsense,pods", "-o", "json"]);
    let rows: Vec<Value> = serde_json::from_str(&out).unwrap();
    assert_eq!((rows.len(), rows[0]["name"].as_str(), code), (1, Some("a"), Some(3)));
    assert!(err.starts_with("error: the cluster serves no type called \"nonsense\""), "{err}");
    for arguments in [&["secrets"][..], &["nonsense"], &["nonsense", "--wait"], &["secrets", "--watch"]] {
        let (_, err, code) = cluster.run(arguments);
        assert_eq!((err.lines().count(), code), (1, Some(3)), "{arguments:?}: {err}");
    }
    assert_eq!(cluster.run(&["secrets"]).0, "");
    assert_eq!(cluster.run(&["secrets", "-o", "json"]).0, "[]\n");
}

#[test]
fn a_wait_ends_for_what_can_be_watched_and_tells_the_rest() {
    let (out, err, code) =
        Cluster::start("wait").run(&["secrets,pods", "--wait=current", "--timeout", "10s"]);
    assert!(out.contains("Pod/a"), "{out}{err}");
    assert!(
        err.contains("error: failed to watch secrets in namespace default: secrets is forbidden"),
        "{err}"
    );
    assert!(err.contains("1/1 Current"), "{err}");
    assert_eq!(code, Some(3));
}

/// `--watch | head -1`: nobody is left to watch for.
#[test]
fn a_watch_shows_what_it_can_and_ends_with_its_reader() {
    let cluster = Cluster::start("watch");
    let mut child = cluster
        .status(&["secrets,pods", "--watch", "-o", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(out.next()));
    let line = told.recv_timeout(std::time::Duration::from_secs(20));
    child.kill().unwrap();
    child.wait().unwrap();
    let line = line.unwrap().unwrap().unwrap();
    assert!(line.contains("\"name\":\"a\""), "{line}");

    let mut child =
        cluster.status(&["pods", "--watch"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((String::from_utf8(output.stderr).unwrap().as_str(), output.status.code()), ("", Some(0)));
}
