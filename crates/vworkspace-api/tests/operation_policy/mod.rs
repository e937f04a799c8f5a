//! The admission policy of operations: what the rules of the CRD cannot see, from the table of templates.

use serde_json::{Map, Value, json};
use vworkspace_api::operation::parameters::MAX_PARAMETERS;
use vworkspace_api::operation::{Engine, Parameter, TEMPLATES, Template};

const NAME: &str = "vworkspace-operations";
const ABOUT: &str = "\
# What the rules of the CRD cannot see: whether an engine can do a type, which parameters it has then, and that they do not change.
# They are looked at once, when the operation is created: everything else that happens to it later passes. What a parameter may hold
# is for the CRD and the operator.
";

/// The policy and its binding, as YAML.
pub(crate) fn manifests(generated_by: &str) -> String {
    let [policy, binding] =
        [policy(), binding()].map(|object| serde_saphyr::to_string(&object).expect("a policy is YAML"));
    format!(
        "# Generated from crates/vworkspace-api. Write it anew with: {generated_by}\n{ABOUT}{policy}---\n{binding}"
    )
}

fn policy() -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": NAME},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": ["ops.vworkspace.io"],
                "apiVersions": ["v1alpha1"],
                "operations": ["CREATE", "UPDATE"],
                "resources": ["operations"],
            }]},
            "matchConditions": [
                {
                    "name": "parameters-are-new",
                    // dyn: the names of a map without a schema are not known to the compiler of CEL.
                    "expression": "oldObject == null || dyn(object).spec.?parameters.orValue({}) != dyn(oldObject).spec.?parameters.orValue({})",
                },
            ],
            "variables": variables(),
            "validations": validations(),
        },
    })
}

fn binding() -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": NAME},
        "spec": {"policyName": NAME, "validationActions": ["Deny"]},
    })
}

fn variables() -> Value {
    let pairs = map(|template| (pair(template), template.name.into()));
    let engines = map(|template| {
        let engines: Vec<&str> = Template::engines_of(template.type_).map(Engine::as_str).collect();
        (template.type_.to_string(), engines.into())
    });
    let names = map(|template| {
        let names: Vec<&str> = template.parameters.iter().map(|parameter| parameter.name).collect();
        (template.name.to_owned(), names.into())
    });
    let needed = map(|template| {
        let needed = template.parameters.iter().filter(|parameter| parameter.required);
        let words = |parameter: &Parameter| (parameter.name.to_owned(), parameter.expected().into());
        (template.name.to_owned(), needed.map(words).collect::<Map<_, _>>().into())
    });
    json!([
        {"name": "parameters", "expression": "dyn(object).spec.?parameters.orValue({})"},
        {"name": "template", "expression": format!("{pairs}[?object.spec.type + '/' + object.spec.engine].orValue('')")},
        {"name": "engines", "expression": format!("{engines}[?object.spec.type].orValue([])")},
        {"name": "names", "expression": format!("{names}[?variables.template].orValue([])")},
        {"name": "needed", "expression": format!("{needed}[?variables.template].orValue({{}})")},
        {"name": "unknown", "expression": "variables.parameters.filter(name, !(name in variables.names))"},
        {"name": "missing", "expression": "variables.needed.filter(name, !(name in variables.parameters))"},
    ])
}

/// The messages are those of `OperationSpec::request`, as far as CEL can. A map has no order: the first name is the smallest.
fn validations() -> Value {
    json!([
        {
            "expression": "oldObject == null",
            "message": "spec.parameters would change; expected no change, because an operation does one thing: create another",
            "reason": "Invalid",
        },
        {
            "expression": "oldObject != null || variables.template != ''",
            "messageExpression": "\"spec.engine: found '\" + object.spec.engine + \"' for type \" + object.spec.type + \"; expected one of \" + variables.engines.join(', ')",
            "reason": "Invalid",
        },
        {
            "expression": format!("oldObject != null || variables.parameters.size() <= {MAX_PARAMETERS}"),
            "messageExpression": format!("\"spec.parameters: found \" + string(variables.parameters.size()) + \" parameters; expected at most {MAX_PARAMETERS}\""),
            "reason": "Invalid",
        },
        {
            "expression": "oldObject != null || variables.template == '' || variables.unknown.size() == 0",
            "messageExpression": "\"spec.parameters.\" + (variables.unknown.min().size() > 60 ? variables.unknown.min().substring(0, 60) + \"...\" : variables.unknown.min()) + \": found a parameter that \" + variables.template + \" does not have; expected one of \" + variables.names.join(', ') + (variables.unknown.size() > 1 ? \". And \" + string(variables.unknown.size() - 1) + \" more\" : \"\")",
            "reason": "Invalid",
        },
        {
            "expression": "oldObject != null || variables.missing.size() == 0",
            "messageExpression": "\"spec.parameters.\" + variables.missing.min() + \": found nothing; expected \" + variables.needed[variables.missing.min()]",
            "reason": "Invalid",
        },
    ])
}

fn pair(template: &Template) -> String {
    format!("{}/{}", template.type_, template.engine)
}

/// A map of CEL, which writes it as JSON does.
fn map(entry: impl Fn(&Template) -> (String, Value)) -> Value {
    Value::Object(TEMPLATES.iter().map(entry).collect())
}
