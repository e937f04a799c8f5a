//! The part of the reference page that tells what an operation can be asked for: a section per template.

use std::fmt::Write;

use vworkspace_api::operation::{ParameterKind, TEMPLATES, Template};

/// All templates, as Markdown.
pub(crate) fn sections() -> String {
    let mut text = "\n## What can be asked for\n\nEach pair of `type` and `engine` that there is. The target must carry the \
         annotation, with the engine in its list: `ops.vworkspace.io/backup: velero`.\n\n\
         | Template | type | engine | Annotation | Runs in this version |\n| --- | --- | --- | --- | --- |\n"
        .to_owned();
    for template in TEMPLATES {
        let supported = if template.is_supported { "yes" } else { "no" };
        let _infallible = writeln!(
            text,
            "| [{0}](#{1}) | `{2}` | `{3}` | `ops.vworkspace.io/{4}` | {supported} |",
            template.name,
            template.name.replace('.', "").to_lowercase(),
            template.type_,
            template.engine,
            template.verb,
        );
    }
    TEMPLATES.iter().for_each(|template| write_section(&mut text, template));
    text
}

fn write_section(text: &mut String, template: &Template) {
    let approval = if template.needs_approval { " It needs an approval." } else { "" };
    let ready = if template.requires_ready { "true" } else { "false" };
    let example = if template.is_supported {
        format!(" Example: [{0}.yaml](../examples/operations/{0}.yaml).", template.name)
    } else {
        " This version cannot run it.".to_owned()
    };
    // The meaning of a restore says so already.
    let approval = if template.meaning.contains("approval") { "" } else { approval };
    let _infallible = write!(
        text,
        "\n### {}\n\n{}{approval} Without `policy.requireReady`: `{ready}`.{example}\n\n\
         | Parameter | Type | Meaning | Example |\n| --- | --- | --- | --- |\n",
        template.name, template.meaning,
    );
    for parameter in template.parameters {
        let needed = if parameter.required { ", required" } else { "" };
        let former = if parameter.former { ", without effect" } else { "" };
        let _infallible = writeln!(
            text,
            "| `{}` | {}{needed}{former} | {} | `{}` |",
            parameter.name,
            kind(parameter.kind),
            parameter.meaning.replace('|', "\\|"),
            parameter.example.replace('|', "\\|"),
        );
    }
}

fn kind(kind: ParameterKind) -> String {
    match kind {
        ParameterKind::Text => "text".to_owned(),
        ParameterKind::Name => "name of an object".to_owned(),
        ParameterKind::Boolean => "boolean".to_owned(),
        ParameterKind::Number { least } => format!("number from {least}"),
        ParameterKind::TextList => "list of texts".to_owned(),
        ParameterKind::TextMap => "map of texts".to_owned(),
        ParameterKind::Retention => "duration, also with days".to_owned(),
        ParameterKind::Env => "list or map".to_owned(),
        ParameterKind::Object => "object".to_owned(),
        ParameterKind::OneOf(words) => {
            words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or ")
        }
    }
}
