//! Archives as Helm makes them, as somebody hostile makes them, and the way they come.

mod hostile;

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

const CHART: &str = "apiVersion: v2\nname: web\nversion: 1.2.0\ndeprecated: true\n";
const SCHEMA: &str = r#"{"properties": {"tls": {"deprecated": true, "description": "use certificates"}}}"#;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        // Set by hand: the builder refuses paths such as ../x.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(content.len() as u64);
        header.set_cksum();
        builder.append(&header, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

fn chart(files: &[(&str, &[u8])]) -> Vec<u8> {
    gzip(&tar(files))
}

fn facts(archive: &[u8]) -> Result<ChartFacts, String> {
    facts::of(archive)
}

fn web() -> Vec<u8> {
    chart(&[
        ("web/Chart.yaml", CHART.as_bytes()),
        ("web/values.yaml", b"tls: {}\n"),
        ("web/values.schema.json", SCHEMA.as_bytes()),
        ("web/charts/db/Chart.yaml", b"name: db\nversion: 9.9.9\n"),
    ])
}

fn facts_of_web() -> ChartFacts {
    ChartFacts {
        name: "web".to_owned(),
        version: "1.2.0".to_owned(),
        deprecated: true,
        deprecated_values: vec![DeprecatedValue {
            path: vec!["tls".to_owned()],
            note: "use certificates".to_owned(),
        }],
    }
}

#[test]
fn a_chart_tells_what_is_deprecated() {
    assert_eq!(facts(&web()), Ok(facts_of_web()));
}

#[test]
fn only_the_top_chart_is_read() {
    let sub = "name: db\nversion: 9.9.9\ndeprecated: true\n";
    let archive = chart(&[
        ("web/charts/db/Chart.yaml", sub.as_bytes()),
        ("web/charts/db/values.schema.json", SCHEMA.as_bytes()),
        ("Chart.yaml", sub.as_bytes()),
        ("web/Chart.yaml", b"name: web\nversion: 1.2.0\n"),
    ]);
    let expected =
        ChartFacts { name: "web".to_owned(), version: "1.2.0".to_owned(), ..ChartFacts::default() };
    assert_eq!(facts(&archive), Ok(expected));
}

#[test]
fn what_is_no_chart_is_told() {
    let bomb = vec![0; 65 * 1024 * 1024];
    let many: Vec<_> = (0..10_001).map(|_| ("web/x", &b""[..])).collect();
    let whole = tar(&[("web/Chart.yaml", CHART.as_bytes())]);
    let long_name = "x".repeat(1000);
    let table = [
        (Vec::new(), "it is no complete tar.gz archive"),
        (b"<html>secret</html>".to_vec(), "it is no complete tar.gz archive"),
        (gzip(b"secret, but no tar"), "it is no complete tar.gz archive"),
        (gzip(&whole[..540]), "it is no complete tar.gz archive"),
        (gzip(&whole[..600]), "it is no complete tar.gz archive"),
        (chart(&[]), "it holds no Chart.yaml"),
        (chart(&[("../Chart.yaml/", CHART.as_bytes())]), "it holds no Chart.yaml"),
        (chart(&[("web/big", &bomb)]), "it unpacks to more than 64 MiB"),
        (gzip(&bomb), "it holds no Chart.yaml"),
        (chart(&many), "it holds more than 10000 files"),
        (chart(&[("web/Chart.yaml", &bomb[..300 * 1024])]), "its Chart.yaml has more than 256 KiB"),
        (
            chart(&[("web/values.schema.json", &bomb[..3 * 1024 * 1024])]),
            "its values.schema.json has more than 2048 KiB",
        ),
        (chart(&[("web/Chart.yaml", b"secret: [")]), "its Chart.yaml is not the YAML of a chart"),
        (chart(&[("web/Chart.yaml", b"- secret")]), "its Chart.yaml is not the YAML of a chart"),
        (chart(&[("web/Chart.yaml", b"\xff\xfe\x00")]), "its Chart.yaml is not the YAML of a chart"),
        (
            chart(&[("web/Chart.yaml", CHART.as_bytes()), ("web/values.schema.json", b"{secret")]),
            "its values.schema.json is not JSON: key must be a string at line 1 column 2",
        ),
        (
            chart(&[
                ("web/Chart.yaml", CHART.as_bytes()),
                ("web/values.schema.json", "[".repeat(1_000_000).as_bytes()),
            ]),
            "its values.schema.json is not JSON: EOF while parsing a list at line 1 column 1000000",
        ),
    ];
    for (archive, expected) in table {
        assert_eq!(facts(&archive), Err(expected.to_owned()));
    }
    let named = chart(&[("web/Chart.yaml", format!("name: {long_name}\nversion: 1\n").as_bytes())]);
    assert_eq!(facts(&named).map(|facts| facts.name.len()), Ok(131));
}

#[test]
fn a_damaged_archive_never_ends_the_program() {
    let good = web();
    let plain = tar(&[("web/Chart.yaml", CHART.as_bytes()), ("web/values.schema.json", SCHEMA.as_bytes())]);
    for end in 0..good.len() {
        let _: Result<ChartFacts, String> = facts(&good[..end]);
    }
    for position in 0..good.len() {
        let mut damaged = good.clone();
        damaged[position] ^= 0xff;
        let _: Result<ChartFacts, String> = facts(&damaged);
    }
    // Through the checksum of gzip, into the headers of tar.
    for position in 0..plain.len() {
        let mut damaged = plain.clone();
        damaged[position] = damaged[position].wrapping_add(0x41);
        let _: Result<ChartFacts, String> = facts(&gzip(&damaged));
    }
}

/// Serves one answer; the artifact that points to it.
async fn served(head: &str, body: Vec<u8>, digest: &str) -> ArtifactRef {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/ocirepository/shop/web/sha256:1.tar.gz", listener.local_addr().unwrap());
    let head = head.to_owned();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut asked = Vec::new();
        while !asked.ends_with(b"\r\n\r\n") {
            asked.push(stream.read_u8().await.unwrap());
        }
        assert!(asked.starts_with(b"GET /ocirepository/shop/web/sha256:1.tar.gz HTTP/1.1\r\n"));
        stream.write_all(head.as_bytes()).await.unwrap();
        // The reader may have seen enough.
        let _: std::io::Result<()> = stream.write_all(&body).await;
    });
    ArtifactRef { url, digest: digest.to_owned(), size: None }
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hexadecimal(&Sha256::digest(bytes)))
}

const OK: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n";

#[tokio::test]
async fn an_artifact_is_downloaded_and_read() {
    let web = web();
    let digest = digest(&web);
    let length = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", web.len());
    for head in [OK, &length] {
        let artifact = served(head, web.clone(), &digest).await;
        assert_eq!(read(&artifact).await, Ok(facts_of_web()));
    }
}

#[tokio::test]
async fn what_is_not_the_artifact_that_flux_means_is_not_read() {
    let web = web();
    let right = digest(&web);
    let other = digest(b"other");
    let table = [
        (served(OK, web.clone(), &other).await, format!("its digest is {right}; expected {other}")),
        (
            served(OK, web.clone(), "sha512:00").await,
            "its digest is given as 'sha512:00'; expected sha256: and 64 hexadecimal digits".to_owned(),
        ),
        (
            served("HTTP/1.1 404 Not Found\r\n\r\n", web.clone(), &right).await,
            "the answer was 404; expected 200".to_owned(),
        ),
        (
            served("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\n\r\n", vec![], &right).await,
            "the answer was 302; expected 200".to_owned(),
        ),
        (
            served("HTTP/1.1 200 OK\r\ncontent-length: 9000000000\r\n\r\n", vec![], &right).await,
            "it has more than 16 MiB".to_owned(),
        ),
        (served(OK, vec![0; 17 << 20], &right).await, "it has more than 16 MiB".to_owned()),
        (
            served("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n", web.clone(), &right).await,
            "the connection was closed before the end".to_owned(),
        ),
        (served("", vec![], &right).await, "it was not answered: the connection was closed".to_owned()),
    ];
    for (artifact, expected) in table {
        let told = read(&artifact).await.unwrap_err();
        assert_eq!(told, format!("failed to read the chart at {}: {expected}", artifact.url));
    }
}

#[tokio::test]
async fn an_address_that_flux_would_not_write_is_refused() {
    for url in ["https://source-controller/x.tgz", "file:///etc/passwd", "/x.tgz", "", "http://"] {
        let artifact = ArtifactRef { url: url.to_owned(), digest: digest(b""), size: None };
        let told = read(&artifact).await.unwrap_err();
        assert!(told.contains("expected an address"), "{told}");
    }
    let large = ArtifactRef { url: String::new(), digest: digest(b""), size: Some(1 << 30) };
    assert_eq!(read(&large).await, Err("failed to read the chart at : it has more than 16 MiB".to_owned()));
}

#[tokio::test]
async fn a_download_that_does_not_end_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/x.tgz", listener.local_addr().unwrap());
    let artifact = ArtifactRef { url: url.clone(), digest: digest(b""), size: None };
    assert_eq!(
        read_within(&artifact, Duration::from_millis(50)).await,
        Err(format!("failed to read the chart at {url}: it did not arrive within 0.05 s"))
    );
}
