//! Whether a Service of an instance's namespace answers.

mod destination;

use std::fmt;
use std::future::ready;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::client::TlsStream;
use vworkspace_api::application_instance::{HttpCheck, ReadinessCheck, Scheme};

pub(crate) use destination::{Destination, destination};

use super::get::{Answered, NoAnswer, get};
use super::unverified_tls;

/// What to ask of which Service. The Service is one of the instance's own namespace: there is no way to say another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Check {
    namespace: String,
    service: String,
    port: u16,
    kind: Kind,
    timeout: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Kind {
    Tcp,
    Http {
        path: String,
        scheme: Scheme,
        /// The Host header, if it is not the Service's own name.
        host: Option<String>,
        /// 200 to 399 if empty.
        statuses: Vec<u16>,
    },
}

/// What a try came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Passed,
    /// What was asked, what came, what is expected.
    Failed(String),
}

impl Check {
    /// The check of an instance in `namespace`, or what is wrong with it although the API server let it pass.
    pub(crate) fn new(namespace: &str, check: &ReadinessCheck) -> Result<Self, String> {
        let (service, port, kind) = match (&check.http, &check.tcp) {
            (Some(http), None) => (&http.service, http.port, Kind::http(http)?),
            (None, Some(tcp)) => (&tcp.service, tcp.port, Kind::Tcp),
            _ => return Err("expected exactly one of http and tcp".to_owned()),
        };
        // With a dot in it the name could lead to something that is no Service of this namespace.
        if !is_label(service) {
            return Err(format!(
                "service '{service}' is no Service's name; expected lower case letters, digits and '-'"
            ));
        }
        let port = u16::try_from(port)
            .ok()
            .filter(|port| *port > 0)
            .ok_or_else(|| format!("port {port} is no port; expected 1 to 65535"))?;
        Ok(Self {
            namespace: namespace.to_owned(),
            service: service.clone(),
            port,
            kind,
            timeout: check.timeout.into(),
        })
    }

    /// The Service that is asked.
    pub(crate) fn service(&self) -> &str {
        &self.service
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The cluster's own domain is left to the search list of the pod.
    fn name(&self) -> String {
        format!("{}.{}.svc", self.service, self.namespace)
    }

    fn address(&self) -> String {
        format!("{}:{}", self.name(), self.port)
    }

    fn time(&self) -> String {
        match self.timeout.subsec_millis() {
            0 => format!("{} s", self.timeout.as_secs()),
            _ => format!("{} ms", self.timeout.as_millis()),
        }
    }
}

impl Kind {
    fn http(check: &HttpCheck) -> Result<Self, String> {
        let HttpCheck { path, scheme, host, statuses, service: _, port: _ } = check;
        let statuses = statuses.iter().copied().map(u16::try_from).collect::<Result<_, _>>();
        Ok(Self::Http {
            path: path.clone(),
            scheme: *scheme,
            host: host.clone(),
            statuses: statuses.map_err(|_| "statuses holds a number that is no HTTP status".to_owned())?,
        })
    }
}

/// Asks once; takes no longer than the check's timeout, the look-up of the name included.
pub(crate) async fn probe(check: &Check, to: &Destination) -> Answer {
    match to {
        Destination::ClusterIps(ips) => {
            let at = |port| ips.iter().map(|ip| SocketAddr::new(*ip, port)).collect();
            probe_at(check, |_, port| ready(only_of_services(at(port)))).await
        }
        Destination::Pods => probe_at(check, addresses_of_pods).await,
    }
}

async fn probe_at<Resolve, Resolving>(check: &Check, resolve: Resolve) -> Answer
where
    Resolve: FnOnce(String, u16) -> Resolving,
    Resolving: Future<Output = io::Result<Vec<SocketAddr>>>,
{
    let deadline = Instant::now() + check.timeout;
    let outcome = async {
        let resolving = resolve(check.name(), check.port);
        let stream = connect(check, resolving, deadline).await?;
        match &check.kind {
            Kind::Tcp => Ok(()),
            Kind::Http { path, scheme, host, statuses } => {
                let ask = Ask { check, path, scheme: *scheme, host: host.as_deref(), statuses };
                ask.over(stream, deadline).await
            }
        }
    };
    outcome.await.map_or_else(Answer::Failed, |()| Answer::Passed)
}

async fn connect(
    check: &Check,
    resolving: impl Future<Output = io::Result<Vec<SocketAddr>>>,
    deadline: Instant,
) -> Result<TcpStream, String> {
    let (name, address, time) = (check.name(), check.address(), check.time());
    let addresses = timeout_at(deadline, resolving)
        .await
        .map_err(|_| format!("the look-up of the name {name} was not answered within {time}"))?
        .map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => format!("the name {name} resolves to {error}"),
            _ => format!("the name {name} does not resolve"),
        })?;
    if addresses.is_empty() {
        return Err(format!("the name {name} does not resolve"));
    }
    timeout_at(deadline, TcpStream::connect(addresses.as_slice()))
        .await
        .map_err(|_| format!("no connection to {address} within {time}"))?
        .map_err(|error| format!("no connection to {address}: {}", error.kind()))
}

/// A GET request, in all that its messages tell.
struct Ask<'a> {
    check: &'a Check,
    path: &'a str,
    scheme: Scheme,
    host: Option<&'a str>,
    statuses: &'a [u16],
}

impl Ask<'_> {
    async fn over(&self, stream: TcpStream, deadline: Instant) -> Result<(), String> {
        let answered = match self.scheme {
            Scheme::Http => self.answer(stream, deadline).await?,
            Scheme::Https => self.answer(self.handshake(stream, deadline).await?, deadline).await?,
        };
        let status = answered.response.status().as_u16();
        let expected = match self.statuses {
            [] => (200..400).contains(&status),
            statuses => statuses.contains(&status),
        };
        if expected { Ok(()) } else { Err(format!("{self} answered {status}; expected {}", self.expected())) }
    }

    async fn answer<S>(&self, stream: S, deadline: Instant) -> Result<Answered, String>
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
    {
        let own = self.check.address();
        let asked = get(stream, self.host.unwrap_or(&own), self.path);
        timeout_at(deadline, asked)
            .await
            .map_err(|_| {
                format!("{self} was not answered within {}; expected {}", self.check.time(), self.expected())
            })?
            .map_err(|error: NoAnswer| format!("{self} {}; expected {}", error.in_words(), self.expected()))
    }

    /// The server is asked for the certificate of the Host header's name.
    async fn handshake(&self, stream: TcpStream, deadline: Instant) -> Result<TlsStream<TcpStream>, String> {
        let own = self.check.name();
        let name = self.host.map_or(own.as_str(), |host| host.split(':').next().unwrap_or(host));
        timeout_at(deadline, unverified_tls::handshake(stream, name))
            .await
            .map_err(|_| format!("{self}: no TLS handshake within {}", self.check.time()))?
            .map_err(|problem| format!("{self}: the TLS handshake failed: {problem}"))
    }

    fn expected(&self) -> String {
        match self.statuses {
            [] => "200 to 399".to_owned(),
            [only] => only.to_string(),
            [start @ .., last] => {
                let start: Vec<_> = start.iter().map(ToString::to_string).collect();
                format!("{} or {last}", start.join(", "))
            }
        }
    }
}

impl fmt::Display for Ask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        write!(f, "GET {scheme}://{}{}", self.check.address(), self.path)?;
        self.host.map_or(Ok(()), |host| write!(f, " (Host: {host})"))
    }
}

/// Where the pods of a Service are reached. The DNS may still know what the name stood for before: addresses that lead into
/// our own pod or to the cloud's metadata are no answer.
async fn addresses_of_pods(name: String, port: u16) -> io::Result<Vec<SocketAddr>> {
    only_of_services(lookup_host((name, port)).await?.collect())
}

fn only_of_services(found: Vec<SocketAddr>) -> io::Result<Vec<SocketAddr>> {
    match found.iter().find(|address| !may_be_a_service(address.ip())) {
        Some(address) => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{}; expected the address of a Service", address.ip()),
        )),
        None => Ok(found),
    }
}

fn may_be_a_service(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            !(address.is_loopback()
                || address.is_link_local()
                || address.is_unspecified()
                || address.is_multicast()
                || address.is_broadcast())
        }
        IpAddr::V6(address) => {
            !(address.is_loopback()
                || address.is_unicast_link_local()
                || address.is_unspecified()
                || address.is_multicast())
        }
    }
}

/// A DNS label, which a Service's name is.
fn is_label(name: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&name.len())
        && name.bytes().all(inside)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

#[cfg(test)]
mod tests;
