//! What an archive says of its chart. Anybody can make one: whatever is in it, reading it takes a few MiB and well below a
//! second.

mod deprecated;
mod schema;
mod unpack;

use std::io::Read;

use serde::Deserialize;

pub(crate) use deprecated::DeprecatedValue;

use deprecated::deprecated_values;
use operator_kit::one_line;
use schema::Schema;

/// More characters than a name or a version has.
const LONGEST_NAME: usize = 128;
/// Many times what a Chart.yaml with all its annotations has.
const YAML_NODES: usize = 10_000;

/// What a chart says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ChartFacts {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) deprecated: bool,
    /// In the order of their paths.
    pub(crate) deprecated_values: Vec<DeprecatedValue>,
}

/// What the chart in a .tgz says about itself.
pub(crate) fn of(archive: impl Read) -> Result<ChartFacts, String> {
    let files = unpack::files(archive)?;
    let chart = chart_yaml(&files.chart.ok_or("it holds no Chart.yaml")?)?;
    Ok(ChartFacts {
        name: one_line(&chart.name, LONGEST_NAME),
        version: one_line(&chart.version, LONGEST_NAME),
        deprecated: chart.deprecated,
        deprecated_values: files.schema.map_or(Ok(Vec::new()), |schema| deprecated_in(&schema))?,
    })
}

/// The keys that a values.schema.json marks as deprecated.
pub(crate) fn deprecated_in(schema: &[u8]) -> Result<Vec<DeprecatedValue>, String> {
    let schema = Schema::read(schema);
    schema
        .map(|schema| deprecated_values(&schema))
        .map_err(|error| format!("its values.schema.json is not JSON: {error}"))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChartYaml {
    name: String,
    version: String,
    deprecated: bool,
}

/// What is anchored is kept for its aliases, at many times the size of its text: nobody needs that in a Chart.yaml.
fn chart_yaml(text: &[u8]) -> Result<ChartYaml, String> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 4 * YAML_NODES,
            max_nodes: YAML_NODES,
            max_recorded_anchor_events: YAML_NODES / 10,
            max_recorded_anchor_bytes: unpack::CHART_LIMIT,
        },
        with_snippet: false,
    };
    // The parser's own message quotes the file.
    serde_saphyr::from_slice_with_options(text, options)
        .map_err(|_| "its Chart.yaml is not the YAML of a chart".to_owned())
}
