//! What a chart says about itself: whether it, or a key of its values, is deprecated. Read from the archive that Flux has
//! fetched already.

mod arriving;
mod facts;
mod warnings;

use std::fmt::Write as _;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_LENGTH;
use hyper::{Response, Uri};
use operator_kit::Poll;
use sha2::{Digest, Sha256};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::warn;

pub(crate) use facts::{ChartFacts, DeprecatedValue};
pub(crate) use warnings::warnings;

use super::get::get;
use arriving::Arriving;

/// A chart larger than this is not looked at. Helm would not store a release of one a tenth as large.
const DOWNLOAD_LIMIT: usize = 16 * 1024 * 1024;
/// How long a download may take, from the look-up of the name to the last byte.
const DOWNLOAD_TIME: Duration = Duration::from_secs(30);
/// What has arrived and is not read yet: this many pieces of at most 64 KiB.
const WAITING_PIECES: usize = 2;
/// A chart that could not be read is tried again after this time; until then nothing is known against it.
const READ_AGAIN: Duration = Duration::from_secs(300);

/// Where a Flux source keeps what it has fetched: `status.artifact` of a HelmChart or an OCIRepository.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ArtifactRef {
    pub(crate) url: String,
    /// `sha256:` and 64 hexadecimal digits.
    pub(crate) digest: String,
    pub(crate) size: Option<u64>,
}

/// What does the chart in it say of itself?
impl Poll for ArtifactRef {
    /// Nothing if it could not be read.
    type Answer = Option<ChartFacts>;
    type Context = ();
    const AT_ONCE: usize = 3;
    const AT_ONCE_PER_NAMESPACE: usize = 2;

    async fn ask(&self, (): &(), _: Option<Self::Answer>) -> Option<ChartFacts> {
        read(self).await.inspect_err(|reason| warn!(reason, "failed to read a chart")).ok()
    }

    fn again_after(&self, facts: &Option<ChartFacts>) -> Option<Duration> {
        facts.is_none().then_some(READ_AGAIN)
    }
}

/// Downloads an artifact, makes sure that it is the one that Flux means, and reads it.
async fn read(artifact: &ArtifactRef) -> Result<ChartFacts, String> {
    read_within(artifact, DOWNLOAD_TIME).await
}

/// It is read while it arrives, so that it is never held as a whole. What it says counts once the last byte has shown
/// that it is the right one.
async fn read_within(artifact: &ArtifactRef, time: Duration) -> Result<ChartFacts, String> {
    let failed = |problem: String| format!("failed to read the chart at {}: {problem}", artifact.url);
    let (pieces, arriving) = mpsc::channel(WAITING_PIECES);
    // Unpacking computes for a while. It ends when nothing arrives any more.
    let reading = spawn_blocking(move || facts::of(Arriving::new(arriving)));
    let downloaded = timeout(time, download(artifact, pieces)).await;
    let facts = reading.await.map_err(|_| failed("unpacking was stopped".to_owned()));
    downloaded
        .map_err(|_| failed(format!("it did not arrive within {} s", time.as_secs_f32())))?
        .map_err(failed)?;
    facts?.map_err(failed)
}

/// Hands the artifact on as it comes.
async fn download(artifact: &ArtifactRef, pieces: mpsc::Sender<Bytes>) -> Result<(), String> {
    let digest = expected_digest(&artifact.digest)?;
    within_limit(artifact.size.unwrap_or_default())?;
    let uri: Uri = artifact.url.parse().map_err(|_| "expected an address such as http://host/path")?;
    let (Some("http"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err("expected an address that starts with http://, as Flux serves it".to_owned());
    };
    let address = (authority.host(), authority.port_u16().unwrap_or(80));
    let stream = TcpStream::connect(address)
        .await
        .map_err(|error| format!("no connection to {authority}: {}", error.kind()))?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut answered =
        get(stream, authority.as_str(), path).await.map_err(|error| format!("it {}", error.in_words()))?;
    let found = body(&mut answered.response, &pieces).await?;
    if found != digest {
        return Err(format!("its digest is sha256:{found}; expected sha256:{digest}"));
    }
    Ok(())
}

fn expected_digest(digest: &str) -> Result<String, String> {
    digest
        .strip_prefix("sha256:")
        .filter(|digits| digits.len() == 64)
        .map(str::to_ascii_lowercase)
        .ok_or_else(|| {
            format!("its digest is given as '{digest}'; expected sha256: and 64 hexadecimal digits")
        })
}

/// Hands the body on, and tells its digest.
async fn body(response: &mut Response<Incoming>, pieces: &mpsc::Sender<Bytes>) -> Result<String, String> {
    if response.status().as_u16() != 200 {
        return Err(format!("the answer was {}; expected 200", response.status().as_u16()));
    }
    let announced =
        response.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    within_limit(announced.unwrap_or_default())?;
    let (mut size, mut digest) = (0, Sha256::new());
    while let Some(frame) = response.body_mut().frame().await {
        let frame = frame.map_err(|_| "the connection was closed before the end".to_owned())?;
        if let Ok(piece) = frame.into_data() {
            size += piece.len() as u64;
            within_limit(size)?;
            digest.update(&piece);
            // The reader may have seen enough; the digest is of all of it.
            let _: Result<(), _> = pieces.send(piece).await;
        }
    }
    Ok(hexadecimal(&digest.finalize()))
}

fn within_limit(size: u64) -> Result<(), String> {
    if size <= DOWNLOAD_LIMIT as u64 {
        Ok(())
    } else {
        Err(format!("it has more than {} MiB", DOWNLOAD_LIMIT >> 20))
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _: std::fmt::Result = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests;
