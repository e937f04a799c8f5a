//! The node's network: a namespace of its own, with no way out. Addresses are the same in every lab, because no
//! two labs see each other; what clients outside need is published on the loopback address.

use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::{Deserialize, Serialize};

/// The node's address, as the API server announces it.
pub(crate) const NODE_IP: &str = "172.30.0.1";
/// First address of the service range: `kubernetes.default`.
pub(crate) const SERVICE_IP_OF_API: &str = "10.96.0.1";
pub(crate) const SERVICES: &str = "10.96.0.0/16";
pub(crate) const PODS: &str = "10.244.0.0/16";
/// Where CoreDNS listens; the kubelet writes it into every pod.
pub(crate) const DNS_IP: &str = "10.96.0.10";
/// The namespace as `ip netns` names it, inside the node's own mounts.
pub(crate) const NAMESPACE: &str = "/run/netns/lab";

/// Two minutes in all.
const PORT_TRIES: u32 = 2400;
const PORT_INTERVAL: Duration = Duration::from_millis(50);

/// A port of the node that clients outside reach on the loopback address.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Published {
    pub(crate) on: String,
    pub(crate) to: String,
}

/// Makes the network namespace: a bridge carries the node's address, since a namespace starts with nothing, and
/// is the default route, since a packet to a service needs a route before kube-proxy's rules see it.
pub(crate) fn create() -> Result<()> {
    for command in [
        "ip netns add lab".to_owned(),
        "ip -n lab link set lo up".to_owned(),
        "ip -n lab link add node0 type bridge".to_owned(),
        format!("ip -n lab addr add {NODE_IP}/24 dev node0"),
        "ip -n lab link set node0 up".to_owned(),
        "ip -n lab route add default dev node0".to_owned(),
    ] {
        let mut words = command.split(' ');
        let program = words.next().context("an empty command")?;
        let output =
            Command::new(program).args(words).output().with_context(|| format!("failed to run {command}"))?;
        ensure!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    thread::spawn(|| {
        enter()?;
        // Per network namespace: the host keeps its own value.
        fs::write("/proc/sys/net/ipv4/ip_forward", "1")
    })
    .join()
    .map_err(|_| anyhow::anyhow!("the thread that sets up forwarding died"))?
    .context("failed to switch on forwarding between pods")
}

/// Accepts on the host's loopback address, connects inside the node. The listener is made by a thread that is still
/// on the host's network; only then does it move into the node's.
pub(crate) fn publish(port: Published) -> Result<()> {
    let listener = TcpListener::bind(&port.on).with_context(|| format!("failed to listen on {}", port.on))?;
    thread::spawn(move || {
        if let Err(error) = enter() {
            eprintln!("failed to enter the node's network: {error}");
            return;
        }
        for client in listener.incoming().flatten() {
            let to = port.to.clone();
            thread::spawn(move || relay(&client, &to));
        }
    });
    Ok(())
}

fn relay(client: &TcpStream, to: &str) {
    // An unreachable target closes the client's connection: the client says it better than we could.
    let Ok(server) = TcpStream::connect(to) else {
        return;
    };
    let disable_nagle = |stream: &TcpStream| stream.set_nodelay(true);
    if disable_nagle(client).and_then(|()| disable_nagle(&server)).is_err() {
        return;
    }
    thread::scope(|scope| {
        scope.spawn(|| copy(client, &server));
        copy(&server, client);
    });
}

/// Copies until one side ends, then tells the other.
fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let copied = io::copy(&mut from, &mut to);
    let closed = to.shutdown(std::net::Shutdown::Write);
    if copied.is_err() || closed.is_err() {
        // The other direction would wait for ever on a connection that is broken.
        for end in [from, to] {
            drop(end.shutdown(std::net::Shutdown::Both));
        }
    }
}

/// Moves the calling thread into the node's network.
fn enter() -> io::Result<()> {
    let namespace = fs::File::open(NAMESPACE)?;
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
    Ok(())
}

/// Listens inside a node's network, for whoever has the socket.
pub(crate) fn listen(namespace: &Path, address: &str) -> Result<TcpListener> {
    let (namespace, place) = (fs::File::open(namespace)?, address.to_owned());
    // A socket stays in the network in which it was made; the thread that made it ends.
    let listener = thread::spawn(move || {
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
        TcpListener::bind(place)
    });
    let listener = listener.join().map_err(|_| anyhow::anyhow!("the thread that listens died"))?;
    listener.with_context(|| format!("failed to listen on {address} in the node's network"))
}

/// Connects inside a node's network, for whoever has the socket.
pub(crate) fn connect(namespace: &Path, address: &str) -> Result<TcpStream> {
    let (namespace, place) = (fs::File::open(namespace)?, address.to_owned());
    let stream = thread::spawn(move || {
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
        TcpStream::connect(place)
    });
    let stream = stream.join().map_err(|_| anyhow::anyhow!("the thread that connects died"))?;
    stream.with_context(|| format!("failed to connect to {address} in the node's network"))
}

/// What a program reads as /etc/resolv.conf that is to find Services, also by short names such as `web.shop.svc`.
pub(crate) fn resolv_conf() -> String {
    format!("nameserver {DNS_IP}\nsearch cluster.local\noptions ndots:1\n")
}

/// A program beside the cluster that reaches what a pod reaches: in the node's network, and with the cluster's DNS. Each of
/// these becomes the next, so that the process that is started is the program in the end.
pub(crate) fn inside(namespace: &Path, resolv_conf: &Path, program: &Path) -> tokio::process::Command {
    let mut command = tokio::process::Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", "nsenter"]);
    command.arg(format!("--net={}", namespace.display()));
    command.args(["--", "unshare", "--mount", "--", "sh", "-c"]);
    command.arg(r#"mount --bind "$0" /etc/resolv.conf && exec "$@""#);
    command.arg(resolv_conf).arg(program);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

/// Whether the address accepts a connection from inside the node within a generous time.
pub(crate) fn reachable(address: &str) -> bool {
    if enter().is_err() {
        return false;
    }
    for _ in 0..PORT_TRIES {
        if TcpStream::connect(address).is_ok() {
            return true;
        }
        thread::sleep(PORT_INTERVAL);
    }
    false
}
