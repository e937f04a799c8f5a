//! The reference page of a CRD: every field with its type, limits, rules and meaning, as Markdown.

use std::fmt::Write;

use serde_json::Value;

/// The page of one CRD; `examples` is their folder below docs/examples, `generated_by` the command that writes the page anew.
pub(crate) fn page(crd: &Value, examples: &str, generated_by: &str) -> String {
    let (spec, version) = (&crd["spec"], &crd["spec"]["versions"][0]);
    let (kind, schema) = (text(&spec["names"]["kind"]), &version["schema"]["openAPIV3Schema"]);
    let mut page = format!(
        "<!-- Generated from crates/vworkspace-api. Write it anew with: {generated_by} -->\n\n# {kind}\n\n{} \
         `{}.{}`, version `{}`, for short `{}`.\n\n\
         What its conditions say: [conditions](conditions.md#{}). Examples: [docs/examples]({}). The same at the command \
         line: `kubectl explain {}.spec`.\n",
        text(&schema["description"]),
        text(&spec["names"]["plural"]),
        text(&spec["group"]),
        text(&version["name"]),
        text(&spec["names"]["shortNames"][0]),
        kind.to_lowercase(),
        format_args!("../examples/{examples}"),
        text(&spec["names"]["singular"]),
    );
    write_rules(&mut page, schema);
    for part in ["spec", "status"] {
        write_block(&mut page, part, &schema["properties"][part]);
    }
    page
}

/// A section for an object: its rules, then a row for each field; objects among the fields get sections of their own.
fn write_block(page: &mut String, path: &str, block: &Value) {
    let _infallible = write!(page, "\n## {path}\n\n{}\n", prose(&block["description"]));
    write_rules(page, block);
    *page += "\n| Field | Type | Meaning |\n| --- | --- | --- |\n";
    let required: Vec<&str> = block["required"].as_array().into_iter().flatten().map(text).collect();
    let fields: Vec<_> = block["properties"].as_object().into_iter().flatten().collect();
    for (name, field) in &fields {
        let needed = if required.contains(&name.as_str()) { ", required" } else { "" };
        let (kind, limits) = (kind_of(path, name, field), limits(field));
        let meaning = [prose(&field["description"]), limits].concat();
        let _infallible = writeln!(page, "| `{name}` | {kind}{needed} | {meaning} |");
    }
    for (name, field) in fields {
        match (has_fields(field), has_fields(&field["items"])) {
            (true, _) => write_block(page, &format!("{path}.{name}"), field),
            (_, true) => {
                let described = with_description(&field["items"], field);
                write_block(page, &format!("{path}.{name}[]"), &described);
            }
            _ => {}
        }
    }
}

fn write_rules(page: &mut String, block: &Value) {
    for rule in rules(block) {
        let _infallible = write!(page, "\n* {rule}");
    }
    if rules(block).next().is_some() {
        *page += "\n";
    }
}

fn has_fields(schema: &Value) -> bool {
    schema.get("properties").is_some()
}

/// A list's items are described by the list.
fn with_description(items: &Value, list: &Value) -> Value {
    let mut items = items.clone();
    if items["description"].is_null() {
        items["description"] = list["description"].clone();
    }
    items
}

fn kind_of(path: &str, name: &str, field: &Value) -> String {
    let link = |suffix: &str| {
        format!("#{}", format!("{path}{name}{suffix}").replace(['.', '[', ']'], "").to_lowercase())
    };
    match (text(&field["type"]), has_fields(field), has_fields(&field["items"])) {
        (_, true, _) => format!("[object]({})", link("")),
        (_, _, true) => format!("[list]({})", link("")),
        ("array", ..) => format!("list of {}", text(&field["items"]["type"])),
        ("", ..) => "anything".to_owned(),
        (kind, ..) => kind.to_owned(),
    }
}

/// What a value may be, after its meaning.
fn limits(field: &Value) -> String {
    let mut limits = Vec::new();
    if let Some(words) = field["enum"].as_array() {
        let words: Vec<_> = words.iter().map(|word| format!("`{}`", text(word))).collect();
        limits.push(format!("One of {}.", words.join(", ")));
    }
    let number = |key: &str| field[key].as_f64();
    match (number("minimum"), number("maximum")) {
        (Some(least), Some(most)) => limits.push(format!("From {least} to {most}.")),
        (Some(least), None) => limits.push(format!("At least {least}.")),
        (None, _) => {}
    }
    if let Some(most) = field["maxItems"].as_u64() {
        limits.push(format!("At most {most} items."));
    }
    if !field["default"].is_null() {
        let default = field["default"].as_str().map_or_else(|| field["default"].to_string(), str::to_owned);
        limits.push(format!("Default: `{default}`."));
    }
    // The rules of a block stand in its own section.
    if !has_fields(field) {
        limits.extend(rules(field));
    }
    limits.into_iter().map(|limit| format!(" {limit}")).collect()
}

/// What the rules of a field expect, in the words of their messages.
fn rules(schema: &Value) -> impl Iterator<Item = String> {
    let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
    rules.filter_map(|rule| {
        // A message that is the same whatever was found says itself in which case the rule counts.
        if let Some(message) = rule["message"].as_str() {
            return Some(format!("Refused: {}.", escape(message)));
        }
        let mut literals = rule["messageExpression"].as_str()?.split('"').skip(1).step_by(2);
        let (_, expected) = literals.find_map(|literal| literal.split_once("; expected "))?;
        Some(format!("Expected: {}.", escape(expected)))
    })
}

fn prose(text_value: &Value) -> String {
    escape(&text(text_value).split_whitespace().collect::<Vec<_>>().join(" "))
}

fn escape(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('*', "\\*")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
