//! The two files of a chart that we read, out of its archive. Nothing is written anywhere, nothing else is held, and
//! everything has a limit.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use tar::{Archive, Entry};

const UNPACKED_LIMIT: usize = 64 * 1024 * 1024;
const ENTRY_LIMIT: usize = 10_000;
/// For a Chart.yaml, which Helm stores with each release.
pub(super) const CHART_LIMIT: usize = 256 * 1024;
/// For a values.schema.json; some hold the schemas of Kubernetes itself.
const SCHEMA_LIMIT: usize = 2 * 1024 * 1024;

#[derive(Default)]
pub(super) struct Files {
    pub(super) chart: Option<Vec<u8>>,
    pub(super) schema: Option<Vec<u8>>,
}

pub(super) fn files(archive: impl Read) -> Result<Files, String> {
    let mut files = Files::default();
    let mut archive = Archive::new(Limited { inner: MultiGzDecoder::new(archive), left: UNPACKED_LIMIT });
    // Raw: otherwise a long name or other extension of the next entry is held as a whole, however long it is. The two
    // files have short names.
    let entries = archive.entries().map_err(|error| broken(&error))?.raw(true);
    for (count, entry) in entries.enumerate() {
        if count >= ENTRY_LIMIT {
            return Err(format!("it holds more than {ENTRY_LIMIT} files"));
        }
        let entry = entry.map_err(|error| broken(&error))?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        match in_chart(&entry.path_bytes()) {
            Some(b"Chart.yaml") => files.chart = Some(content(entry, "Chart.yaml", CHART_LIMIT)?),
            Some(b"values.schema.json") => {
                files.schema = Some(content(entry, "values.schema.json", SCHEMA_LIMIT)?);
            }
            _ => {}
        }
        if files.chart.is_some() && files.schema.is_some() {
            break;
        }
    }
    Ok(files)
}

fn content(mut entry: Entry<'_, impl Read>, name: &str, limit: usize) -> Result<Vec<u8>, String> {
    let too_large = || format!("its {name} has more than {} KiB", limit >> 10);
    let size = usize::try_from(entry.size()).ok().filter(|size| *size <= limit).ok_or_else(too_large)?;
    let mut content = vec![0; size];
    entry.read_exact(&mut content).map_err(|error| broken(&error))?;
    Ok(content)
}

fn broken(error: &io::Error) -> String {
    match error.get_ref() {
        Some(inner) if inner.is::<TooLarge>() => inner.to_string(),
        _ => "it is no complete tar.gz archive".to_owned(),
    }
}

/// The path inside the top chart, whose folder may have any name: so Helm reads it.
fn in_chart(path: &[u8]) -> Option<&[u8]> {
    let folder = path.iter().position(|byte| *byte == b'/')?;
    path.get(folder + 1..)
}

/// Fails when more is read than there may be.
struct Limited<R> {
    inner: R,
    left: usize,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read).ok_or_else(|| io::Error::other(TooLarge))?;
        Ok(read)
    }
}

#[derive(Debug)]
struct TooLarge;

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "it unpacks to more than {} MiB", UNPACKED_LIMIT >> 20)
    }
}

impl std::error::Error for TooLarge {}
