//! The two files of a chart that we read, out of its archive. Nothing is written anywhere, and everything has a limit:
//! anybody can make a chart.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use serde_json::Value;
use tar::Archive;

use super::ChartFacts;
use super::deprecated::deprecated_values;
use crate::one_line::one_line;

const UNPACKED_LIMIT: usize = 64 * 1024 * 1024;
const ENTRY_LIMIT: usize = 10_000;
/// For each of the two files.
const FILE_LIMIT: usize = 2 * 1024 * 1024;
/// More characters than a name or a version has.
const LONGEST_NAME: usize = 128;

/// What the chart in a .tgz says about itself.
pub(crate) fn facts(archive: &[u8]) -> Result<ChartFacts, String> {
    let files = files(archive)?;
    let chart = files.chart.ok_or("it holds no Chart.yaml")?;
    // The parser's own message quotes the file.
    let chart: ChartYaml =
        serde_saphyr::from_slice(&chart).map_err(|_| "its Chart.yaml is not the YAML of a chart")?;
    let schema = match &files.schema {
        Some(schema) => serde_json::from_slice(schema)
            .map_err(|error| format!("its values.schema.json is not JSON: {error}"))?,
        None => Value::Null,
    };
    Ok(ChartFacts {
        name: one_line(&chart.name, LONGEST_NAME),
        version: one_line(&chart.version, LONGEST_NAME),
        deprecated: chart.deprecated,
        deprecated_values: deprecated_values(&schema),
    })
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChartYaml {
    name: String,
    version: String,
    deprecated: bool,
}

#[derive(Default)]
struct Files {
    chart: Option<Vec<u8>>,
    schema: Option<Vec<u8>>,
}

fn files(archive: &[u8]) -> Result<Files, String> {
    let mut files = Files::default();
    let mut archive = Archive::new(Limited { inner: MultiGzDecoder::new(archive), left: UNPACKED_LIMIT });
    let broken = |error: io::Error| match error.get_ref() {
        Some(inner) if inner.is::<TooLarge>() => inner.to_string(),
        _ => "it is no complete tar.gz archive".to_owned(),
    };
    for (count, entry) in archive.entries().map_err(broken)?.enumerate() {
        if count >= ENTRY_LIMIT {
            return Err(format!("it holds more than {ENTRY_LIMIT} files"));
        }
        let entry = entry.map_err(broken)?;
        let wanted = match in_chart(&entry.path_bytes()) {
            Some(b"Chart.yaml") => &mut files.chart,
            Some(b"values.schema.json") => &mut files.schema,
            _ => continue,
        };
        let mut content = Vec::new();
        entry.take(FILE_LIMIT as u64 + 1).read_to_end(&mut content).map_err(broken)?;
        if content.len() > FILE_LIMIT {
            return Err(format!(
                "its Chart.yaml or values.schema.json has more than {} MiB",
                FILE_LIMIT >> 20
            ));
        }
        *wanted = Some(content);
        if files.chart.is_some() && files.schema.is_some() {
            break;
        }
    }
    Ok(files)
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
