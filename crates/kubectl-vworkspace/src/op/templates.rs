//! What an operation can be asked for, from the one table of crate `vworkspace-api`.

use std::io::{self, Write};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use serde::Serialize;
use vworkspace_api::operation::{Parameter, TEMPLATES, Template};

use super::{OpError, Output, write_json};
use crate::exit::Exit;
use crate::style::{DIM, STRONG, styled};

/// Which templates to show.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubectl vworkspace op templates                  all of them, with their parameters
  kubectl vworkspace op templates restore.velero   one of them
  kubectl vworkspace op templates -o json          for programs")]
pub struct TemplatesArgs {
    /// Only this one
    #[arg(value_name = "TEMPLATE", value_parser = all(), ignore_case = true, hide_possible_values = true)]
    pub template: Option<String>,

    /// How to write it
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Output,
}

/// Every template as a value of the command line.
fn all() -> PossibleValuesParser {
    PossibleValuesParser::new(TEMPLATES.iter().map(value))
}

/// Those that this version can run; the others are understood, so that it can be said that it cannot.
pub(super) fn runnable() -> PossibleValuesParser {
    PossibleValuesParser::new(TEMPLATES.iter().map(|template| value(template).hide(!template.is_supported)))
}

fn value(template: &Template) -> PossibleValue {
    PossibleValue::new(template.name).help(template.meaning)
}

/// The template of that name, in any case.
pub(crate) fn named(name: &str) -> Result<&'static Template, OpError> {
    TEMPLATES.iter().find(|template| template.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let names: Vec<&str> = TEMPLATES.iter().map(|template| template.name).collect();
        OpError::Refused(format!("found {name:?}; expected one of {}", names.join(", ")))
    })
}

/// Writes them.
pub(super) fn run(args: &TemplatesArgs, out: &mut impl Write) -> Result<Exit, OpError> {
    let templates: Vec<&Template> = match &args.template {
        Some(name) => vec![named(name)?],
        None => TEMPLATES.iter().collect(),
    };
    match args.output {
        Output::Json => {
            let told: Vec<ToldTemplate> = templates.into_iter().map(ToldTemplate::of).collect();
            write_json(&told, out)?;
        }
        Output::Text => {
            for (place, template) in templates.into_iter().enumerate() {
                if place > 0 {
                    writeln!(out)?;
                }
                write_template(template, out)?;
            }
        }
    }
    Ok(Exit::AllCurrent)
}

fn write_template(template: &Template, out: &mut impl Write) -> io::Result<()> {
    let note = if template.is_supported { "" } else { "  (this version cannot run it)" };
    writeln!(out, "{}{}", styled(STRONG, template.name), styled(DIM, note))?;
    writeln!(out, "  {}", template.meaning)?;
    let ready = if template.requires_ready { "must be ready" } else { "need not be ready" };
    let approval = if template.needs_approval { "always" } else { "if it is asked for" };
    writeln!(out, "  The target {ready}. An approval: {approval}.")?;
    let width = template.parameters.iter().map(|parameter| parameter.name.len()).max().unwrap_or_default();
    for parameter in template.parameters {
        let Parameter { name, meaning, required, .. } = parameter;
        let need = if *required { "Required. " } else { "" };
        writeln!(out, "    {name:width$}  {need}{meaning}")?;
        if !parameter.former {
            writeln!(
                out,
                "    {:width$}  {}",
                "",
                styled(DIM, format!("Expected: {}.", parameter.expected()))
            )?;
        }
    }
    Ok(())
}

/// The fields are an interface.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ToldTemplate {
    name: &'static str,
    #[serde(rename = "type")]
    type_: &'static str,
    engine: &'static str,
    verb: &'static str,
    meaning: &'static str,
    requires_ready: bool,
    needs_approval: bool,
    supported: bool,
    parameters: Vec<ToldParameter>,
}

#[derive(Debug, Serialize)]
struct ToldParameter {
    name: &'static str,
    required: bool,
    expected: String,
    example: &'static str,
    meaning: &'static str,
    former: bool,
}

impl ToldTemplate {
    fn of(template: &'static Template) -> Self {
        let told = |parameter: &'static Parameter| ToldParameter {
            name: parameter.name,
            required: parameter.required,
            expected: parameter.expected(),
            example: parameter.example,
            meaning: parameter.meaning,
            former: parameter.former,
        };
        ToldTemplate {
            name: template.name,
            type_: template.type_.as_str(),
            engine: template.engine.as_str(),
            verb: template.verb,
            meaning: template.meaning,
            requires_ready: template.requires_ready,
            needs_approval: template.needs_approval,
            supported: template.is_supported,
            parameters: template.parameters.iter().map(told).collect(),
        }
    }
}
