//! What a chart says about itself: whether it, or a key of its values, is deprecated. Read from the archive that Flux has
//! fetched already.

mod deprecated;
mod unpack;
mod warnings;

use std::fmt::Write as _;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::CONTENT_LENGTH;
use hyper::{Response, Uri};
use sha2::{Digest, Sha256};
use tokio::net::TcpStream;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

pub(crate) use deprecated::DeprecatedValue;
pub(crate) use unpack::facts;
pub(crate) use warnings::warnings;

use super::get::get;

/// A chart larger than this is not looked at. Helm would not store a release of one a tenth as large.
const DOWNLOAD_LIMIT: usize = 16 * 1024 * 1024;
/// How long a download may take, from the look-up of the name to the last byte.
const DOWNLOAD_TIME: Duration = Duration::from_secs(30);

/// Where a Flux source keeps what it has fetched: `status.artifact` of a HelmChart or an OCIRepository.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ArtifactRef {
    pub(crate) url: String,
    /// `sha256:` and 64 hexadecimal digits.
    pub(crate) digest: String,
    pub(crate) size: Option<u64>,
}

/// What a chart says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ChartFacts {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) deprecated: bool,
    /// In the order of their paths.
    pub(crate) deprecated_values: Vec<DeprecatedValue>,
}

/// Downloads an artifact, makes sure that it is the one that Flux means, and reads it.
pub(crate) async fn read(artifact: &ArtifactRef) -> Result<ChartFacts, String> {
    read_within(artifact, DOWNLOAD_TIME).await
}

async fn read_within(artifact: &ArtifactRef, time: Duration) -> Result<ChartFacts, String> {
    let failed = |problem: String| format!("failed to read the chart at {}: {problem}", artifact.url);
    let archive = timeout(time, download(artifact))
        .await
        .map_err(|_| failed(format!("it did not arrive within {} s", time.as_secs_f32())))?
        .map_err(failed)?;
    // Unpacking computes for a while.
    spawn_blocking(move || facts(&archive))
        .await
        .map_err(|_| failed("unpacking was stopped".to_owned()))?
        .map_err(failed)
}

async fn download(artifact: &ArtifactRef) -> Result<Vec<u8>, String> {
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
    let archive = body(&mut answered.response).await?;
    let found = hexadecimal(&Sha256::digest(&archive));
    if found != digest {
        return Err(format!("its digest is sha256:{found}; expected sha256:{digest}"));
    }
    Ok(archive)
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

async fn body(response: &mut Response<Incoming>) -> Result<Vec<u8>, String> {
    if response.status().as_u16() != 200 {
        return Err(format!("the answer was {}; expected 200", response.status().as_u16()));
    }
    let announced =
        response.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    within_limit(announced.unwrap_or_default())?;
    let mut read = Vec::new();
    while let Some(frame) = response.body_mut().frame().await {
        let frame = frame.map_err(|_| "the connection was closed before the end".to_owned())?;
        if let Some(data) = frame.data_ref() {
            within_limit((read.len() + data.len()) as u64)?;
            read.extend_from_slice(data);
        }
    }
    Ok(read)
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
