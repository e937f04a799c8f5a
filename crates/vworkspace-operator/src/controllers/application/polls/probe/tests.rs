//! Against real listeners; only the look-up of the Service's name is ours.

use std::future::{pending, ready};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;

use super::*;

fn check(spec: Value) -> Check {
    Check::new("shop", &serde_json::from_value(spec).unwrap()).unwrap()
}

fn http(more: &Value) -> Check {
    let mut http = json!({"service": "web", "port": 80, "path": "/healthz"});
    http.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    check(json!({"name": "web", "http": http}))
}

async fn ask(check: &Check, address: SocketAddr) -> Answer {
    probe_at(check, |_, _| ready(Ok(vec![address]))).await
}

fn failed(message: &str) -> Answer {
    Answer::Failed(message.to_owned())
}

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Reads one request and answers it; tells what was asked.
async fn converse(mut stream: impl AsyncRead + AsyncWrite + Unpin, answer: &[u8]) -> String {
    let mut asked = Vec::new();
    while !asked.ends_with(b"\r\n\r\n") {
        asked.push(stream.read_u8().await.unwrap());
    }
    // The other side may hang up as soon as it has seen enough.
    let _: io::Result<()> = stream.write_all(answer).await;
    let _: io::Result<()> = stream.shutdown().await;
    String::from_utf8(asked).unwrap()
}

/// A server for one request.
async fn server(answer: &[u8]) -> (SocketAddr, JoinHandle<String>) {
    let (listener, address) = listener().await;
    let answer = answer.to_vec();
    let serving = tokio::spawn(async move { converse(listener.accept().await.unwrap().0, &answer).await });
    (address, serving)
}

async fn answer_to(check: &Check, response: &[u8]) -> Answer {
    let (address, _serving) = server(response).await;
    ask(check, address).await
}

#[tokio::test]
async fn the_status_decides() {
    let asked = "GET http://web.shop.svc:80/healthz answered";
    let table = [
        (json!({}), "200 OK", Answer::Passed),
        (json!({}), "204 No Content", Answer::Passed),
        // Not followed: there is nobody at the place it points to.
        (json!({}), "302 Found\r\nlocation: http://127.0.0.1:1/", Answer::Passed),
        (json!({}), "404 Not Found", failed(&format!("{asked} 404; expected 200 to 399"))),
        (json!({}), "503 Service Unavailable", failed(&format!("{asked} 503; expected 200 to 399"))),
        (json!({"statuses": [401]}), "401 Unauthorized", Answer::Passed),
        (json!({"statuses": [401]}), "200 OK", failed(&format!("{asked} 200; expected 401"))),
        (
            json!({"statuses": [200, 204, 301]}),
            "302 Found",
            failed(&format!("{asked} 302; expected 200, 204 or 301")),
        ),
    ];
    for (more, status, expected) in table {
        let response = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 6\r\n\r\nsecret");
        assert_eq!(answer_to(&http(&more), response.as_bytes()).await, expected, "{status}");
    }
}

#[tokio::test]
async fn the_request_names_the_service_or_the_host_and_closes_the_connection() {
    let ok = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    for (more, host) in
        [(json!({}), "web.shop.svc:80"), (json!({"host": "shop.example.org"}), "shop.example.org")]
    {
        let (address, serving) = server(ok).await;
        assert_eq!(ask(&http(&more), address).await, Answer::Passed);
        let asked = serving.await.unwrap();
        assert!(asked.starts_with("GET /healthz HTTP/1.1\r\n"), "{asked}");
        assert!(asked.contains(&format!("\r\nhost: {host}\r\n")), "{asked}");
        assert!(asked.contains("\r\nconnection: close\r\n"), "{asked}");
    }
    let message = answer_to(&http(&json!({"host": "shop.example.org"})), b"HTTP/1.1 500 Oh\r\n\r\n").await;
    assert_eq!(
        message,
        failed(
            "GET http://web.shop.svc:80/healthz (Host: shop.example.org) answered 500; expected 200 to 399"
        )
    );
}

#[tokio::test]
async fn what_is_no_answer_is_told_without_repeating_it() {
    let asked = "GET http://web.shop.svc:80/healthz";
    let long = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(1_000_000));
    let table: [(&[u8], String); 3] = [
        (
            b"SSH-2.0-secret\r\n",
            format!("{asked} was answered with something that is not HTTP/1; expected 200 to 399"),
        ),
        (b"", format!("{asked} was not answered: the connection was closed; expected 200 to 399")),
        (
            long.as_bytes(),
            format!("{asked} was answered with more than 64 KiB of headers; expected 200 to 399"),
        ),
    ];
    for (response, expected) in table {
        assert_eq!(answer_to(&http(&json!({})), response).await, failed(&expected));
    }
}

#[tokio::test]
async fn a_body_without_end_is_not_read() {
    let (listener, address) = listener().await;
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
    });
    assert_eq!(ask(&http(&json!({})), address).await, Answer::Passed);
    // The connection is closed, so the server comes to its end.
    serving.await.unwrap();
}

#[tokio::test]
async fn a_server_that_accepts_and_never_answers_fails_in_time() {
    let (listener, address) = listener().await;
    let mut silent = http(&json!({}));
    silent.timeout = Duration::from_millis(400);
    assert_eq!(
        ask(&silent, address).await,
        failed("GET http://web.shop.svc:80/healthz was not answered within 400 ms; expected 200 to 399")
    );
    let mut tls = http(&json!({"scheme": "HTTPS"}));
    tls.timeout = Duration::from_millis(400);
    assert_eq!(
        ask(&tls, address).await,
        failed("GET https://web.shop.svc:80/healthz: no TLS handshake within 400 ms")
    );
    drop(listener);
}

#[tokio::test]
async fn a_port_is_open_closed_or_silent() {
    let mut tcp = check(json!({"name": "db", "tcp": {"service": "db", "port": 5432}}));
    let (open, address) = listener().await;
    assert_eq!(ask(&tcp, address).await, Answer::Passed);
    drop(open);
    assert_eq!(ask(&tcp, address).await, failed("no connection to db.shop.svc:5432: connection refused"));

    // A queue of one that nobody empties: the kernel lets further connections wait.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(1).unwrap();
    let address = full.local_addr().unwrap();
    let _queued = [TcpStream::connect(address).await.unwrap(), TcpStream::connect(address).await.unwrap()];
    tcp.timeout = Duration::from_millis(400);
    assert_eq!(ask(&tcp, address).await, failed("no connection to db.shop.svc:5432 within 400 ms"));
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_told() {
    let mut check = check(json!({"name": "db", "tcp": {"service": "db", "port": 5432}}));
    let unknown = |name: String, port: u16| {
        assert_eq!((name.as_str(), port), ("db.shop.svc", 5432));
        ready(Err(io::Error::other("failed to lookup address information: Name or service not known")))
    };
    assert_eq!(probe_at(&check, unknown).await, failed("the name db.shop.svc does not resolve"));
    assert_eq!(
        probe_at(&check, |_, _| ready(Ok(vec![]))).await,
        failed("the name db.shop.svc does not resolve")
    );
    check.timeout = Duration::from_millis(20);
    assert_eq!(
        probe_at(&check, |_, _| pending()).await,
        failed("the look-up of the name db.shop.svc was not answered within 20 ms")
    );
}

/// A TLS server for one request, with a certificate that nobody trusts and that is for another name.
async fn tls_server(answer: &'static [u8]) -> (SocketAddr, JoinHandle<(Option<String>, String)>) {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["other.example.org".to_owned()]).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], signing_key.into())
        .unwrap();
    let (listener, address) = listener().await;
    let serving = tokio::spawn(async move {
        let stream = listener.accept().await.unwrap().0;
        let stream = TlsAcceptor::from(Arc::new(config)).accept(stream).await.unwrap();
        let name = stream.get_ref().1.server_name().map(str::to_owned);
        (name, converse(stream, answer).await)
    });
    (address, serving)
}

#[tokio::test]
async fn https_is_asked_without_verifying_the_certificate() {
    for (more, name) in [
        (json!({"scheme": "HTTPS"}), "web.shop.svc"),
        (json!({"scheme": "HTTPS", "host": "shop.example.org:8443"}), "shop.example.org"),
    ] {
        let (address, serving) = tls_server(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
        assert_eq!(ask(&http(&more), address).await, Answer::Passed);
        assert_eq!(serving.await.unwrap().0.as_deref(), Some(name));
    }
    let (address, _serving) = tls_server(b"HTTP/1.1 502 Bad Gateway\r\n\r\n").await;
    assert_eq!(
        ask(&http(&json!({"scheme": "HTTPS"})), address).await,
        failed("GET https://web.shop.svc:80/healthz answered 502; expected 200 to 399")
    );
}

#[tokio::test]
async fn https_of_a_port_that_speaks_http_is_told() {
    let (listener, address) = listener().await;
    let _serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        pending::<()>().await;
    });
    assert_eq!(
        ask(&http(&json!({"scheme": "HTTPS"})), address).await,
        failed("GET https://web.shop.svc:80/healthz: the TLS handshake failed: the answer was not TLS")
    );
}

#[test]
fn a_check_can_name_only_services_of_its_own_namespace() {
    for service in ["web.other", "web.other.svc.cluster.local", "127.0.0.1", "web/", "", "-web", "WEB", "a:1"]
    {
        let spec = serde_json::from_value(json!({"name": "x", "tcp": {"service": service, "port": 80}}));
        let refused = Check::new("shop", &spec.unwrap()).unwrap_err();
        assert!(refused.starts_with(&format!("service '{service}' is no Service's name")), "{refused}");
    }
    assert_eq!(check(json!({"name": "x", "tcp": {"service": "web-1", "port": 80}})).name(), "web-1.shop.svc");
}

#[test]
fn a_check_that_the_api_server_should_have_refused_is_told() {
    let tcp = |port: i32| json!({"name": "x", "tcp": {"service": "web", "port": port}});
    let table = [
        (tcp(0), "port 0 is no port; expected 1 to 65535"),
        (tcp(65536), "port 65536 is no port; expected 1 to 65535"),
        (json!({"name": "x"}), "expected exactly one of http and tcp"),
        (
            json!({"name": "x", "http": {"service": "web", "port": 80, "statuses": [-1]}}),
            "statuses holds a number that is no HTTP status",
        ),
    ];
    for (spec, expected) in table {
        let refused = Check::new("shop", &serde_json::from_value(spec).unwrap()).unwrap_err();
        assert_eq!(refused, expected);
    }
}

#[tokio::test]
async fn a_name_that_leads_to_the_clouds_metadata_is_not_asked() {
    let check = check(json!({"name": "db", "tcp": {"service": "db", "port": 80}}));
    let addresses = ["10.96.0.1:80", "169.254.169.254:80"].map(|address| address.parse().unwrap()).to_vec();
    assert_eq!(
        probe_at(&check, |_, _| ready(only_of_services(addresses))).await,
        failed("the name db.shop.svc resolves to 169.254.169.254; expected the address of a Service")
    );
}

#[tokio::test]
async fn a_cluster_ip_is_asked_as_it_is_and_no_name_is_looked_up() {
    let check = check(json!({"name": "db", "tcp": {"service": "db", "port": 80}}));
    // Refused for the address itself: a name would not have been resolved to it.
    for address in ["169.254.169.254", "127.0.0.1"] {
        let to = Destination::ClusterIps(vec![address.parse().unwrap()]);
        assert_eq!(
            probe(&check, &to).await,
            failed(&format!("the name db.shop.svc resolves to {address}; expected the address of a Service"))
        );
    }
}

#[test]
fn addresses_of_our_own_pod_and_of_the_clouds_metadata_belong_to_no_service() {
    for address in ["10.96.0.1", "192.168.1.5", "fd00::1", "203.0.113.9"] {
        assert!(may_be_a_service(address.parse().unwrap()), "{address}");
    }
    for address in [
        "127.0.0.1",
        "169.254.169.254",
        "0.0.0.0",
        "::1",
        "::",
        "fe80::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "224.0.0.1",
        "ff02::1",
        "255.255.255.255",
    ] {
        assert!(!may_be_a_service(address.parse().unwrap()), "{address}");
    }
}
