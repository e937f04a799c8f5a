use proptest::prelude::*;

use super::*;

const KNOWN: [&str; 6] = ["web", "shop", "values", "values.yaml", "Secret", "Service"];

fn untrusted(message: &str) -> String {
    redact(message, Quotes::Untrusted { known: &KNOWN })
}

#[test]
fn credentials_are_masked_whoever_wrote_the_message() {
    let told = [
        ("GET https://u:hunter2@r.example/v2: 401", "GET https://***@r.example/v2: 401"),
        ("oci://hunter2@r.example and redis://:hunter2@h", "oci://***@r.example and redis://***@h"),
        ("http://u:hun@ter2@h/x", "http://***@h/x"),
        ("Authorization: Bearer hunter2.x-y_z= refused", "Authorization: Bearer *** refused"),
        ("authorization: basic aHVudGVyMg==, retry", "authorization: basic ***, retry"),
        ("login with password=hunter2&x=1", "login with password=***&x=1"),
        ("DB_PASSWORD=hunter2 db", "DB_PASSWORD=*** db"),
        ("config: password: correct hunter2, user: x", "config: password: ***, user: x"),
        ("refused token: hunter2 (401)", "refused token: *** (401)"),
        ("{\"password\":\"hun\\\"ter2\",\"user\":\"x\"}", "{\"password\":***,\"user\":\"x\"}"),
        ("apiKey: 'hunter2' clientSecret='hunter2'", "apiKey: *** clientSecret=***"),
        ("jwt eyJhbGciOiJIUzI1NiJ9.aHVudGVyMg.c2ln is old", "jwt *** is old"),
        ("claim vws2.aHVudGVyMg.c2ln is old", "claim *** is old"),
        ("a -----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY----- b", "a *** b"),
        ("a -----BEGIN PRIVATE KEY-----\nhunter2", "a ***"),
    ];
    for (message, expected) in told {
        assert_eq!(redact(message, Quotes::Trusted), expected);
        let untrusted = untrusted(message);
        assert!(!untrusted.contains("hunter2") && !untrusted.contains("aHVudGVyMg"), "{untrusted}");
    }
}

#[test]
fn what_is_no_credential_stays_where_values_are_for_everybody() {
    for message in [
        "failed to get credential: failed to get secret 'ns/x': secrets \"x\" not found",
        "could not resolve Secret chart values reference 'ns/x' with key 'password': key not found",
        "values don't meet the specifications of the schema(s): - at '/token': got number, want string",
        "UNAUTHORIZED: authentication required; Bearer token missing, Basic auth refused",
        "GET https://r.example:5000/v2/web/manifests/9.9.9: MANIFEST_UNKNOWN: manifest unknown; map[Tag:9.9.9]",
        "pulled oci://r.example:5000/charts/web@sha256:0123 and web@1.0.0",
        "Helm install failed for release shop/web with chart web@1.0.0: context deadline exceeded",
    ] {
        assert_eq!(redact(message, Quotes::Trusted), message);
    }
}

/// Flux's and Helm's own messages, with `hunter2` where a value can be.
#[test]
fn values_from_a_secret_are_gone_and_what_helps_stays() {
    let told = [
        (
            "Helm install failed for release shop/web with chart web@1.0.0: execution error at (web/templates/x.yaml:1:25): bad hunter2\nand 'more hunter2",
            "Helm install failed for release shop/web with chart web@1.0.0: execution error at (web/templates/x.yaml:1:25): ***",
        ),
        (
            "template: web/templates/x.yaml:1:25: executing \"web/templates/x.yaml\" at <include \"web.p\" .>: error calling include: template: web/templates/_p.tpl:3:4: executing \"web.p\" at <fail .Values.p>: error calling fail: hunter2",
            "template: web/templates/x.yaml:1:25: executing \"web/templates/x.yaml\" at <include \"***\" .>: error calling include: template: web/templates/_p.tpl:3:4: executing \"***\" at <fail .Values.p>: error calling fail: ***",
        ),
        (
            "parse error at (web/templates/x.yaml:3): unexpected \"}\" in operand",
            "parse error at (web/templates/x.yaml:3): unexpected \"***\" in operand",
        ),
        (
            "at <.Values.port>: wrong type for value; expected string; got int",
            "at <.Values.port>: wrong type for value; expected string; got int",
        ),
        (
            "values don't meet the specifications of the schema(s) in the following chart(s):\nweb:\n- at '/replicas': minimum: got 4711, want 1\n",
            "values don't meet the specifications of the schema(s) in the following chart(s): web: - at '/replicas': minimum: got ***, want 1",
        ),
        (
            "- at '/auth/pin': 'hunter2' does not match pattern '^[0-9]+$'",
            "- at '/auth/pin': '***' does not match pattern '***'",
        ),
        (
            "- at '/password': 'it\\'s hunter2' does not match pattern",
            "- at '/password': *** does not match pattern",
        ),
        ("- at '/password': minLength: got 7, want 12", "- at '/password': minLength: got ***, want 12"),
        (
            "- at '/port': got string, want integer\n- at '': missing property 'image'",
            "- at '/port': got string, want integer - at '': missing property 'image'",
        ),
        (
            "- at '': additional properties 'hunter2', 'b' not allowed",
            "- at '': additional properties '***', '***' not allowed",
        ),
        (
            "- at '/mail': 'hunter2' is not valid email: no hunter2 here",
            "- at '/mail': '***' is not valid email: ***",
        ),
        (
            "- at '/x': 'anyOf' failed\n  - at '/x': '/hunter2' does not match",
            "- at '/x': 'anyOf' failed - at '/x': '***' does not match",
        ),
        ("- at '/x': 'hunter2' failed, and 'not' too", "- at '/x': '***' failed, and '***' too"),
        (
            "ValidatingAdmissionPolicy 'is hunter2' with binding 'b' denied request: no",
            "ValidatingAdmissionPolicy '***' with binding 'b' denied request: ***",
        ),
        (
            "could not resolve Secret chart values reference 'shop/values' with key 'values.yaml': secrets \"values\" not found",
            "could not resolve Secret chart values reference 'shop/values' with key 'values.yaml': secrets \"values\" not found",
        ),
        (
            "could not resolve Secret chart values reference 'shop/values' with key 'values.yaml': error converting YAML to JSON: yaml: line 1: could not find expected ':'",
            "could not resolve Secret chart values reference 'shop/values' with key 'values.yaml': error converting YAML to JSON: yaml: line 1: could not find expected '***'",
        ),
        (
            "yaml: unmarshal errors:\n  line 3: cannot unmarshal !!str `hun`ter2` into int",
            "yaml: unmarshal errors: line 3: cannot unmarshal !!str `***` into int",
        ),
        ("yaml: unknown anchor 'hunter2' referenced", "yaml: unknown anchor '***' referenced"),
        (
            "json: cannot unmarshal number 4711 into Go struct field Spec.spec.replicas of type int32",
            "json: cannot unmarshal number *** into Go struct field Spec.spec.replicas of type int32",
        ),
        (
            "unable to parse key: key \"hunter2\" has no value",
            "unable to parse key: key \"***\" has no value",
        ),
        (
            "1 error occurred:\n\t* Service \"web\" is invalid: spec.ports[0].port: Invalid value: 4711: must be between 1 and 65535, inclusive\n\n",
            "1 error occurred: * Service \"web\" is invalid: spec.ports[0].port: Invalid value: ***: must be between 1 and 65535, inclusive",
        ),
        (
            "* Service \"hunter2\" is invalid: spec.type: Unsupported value: \"hunter2\": supported values: \"ClusterIP\"",
            "* Service \"***\" is invalid: spec.type: Unsupported value: ***: supported values: \"***\"",
        ),
        (
            "metadata.name: Invalid value: \"hun: \\\"ter2\": a DNS-1035 label must",
            "metadata.name: Invalid value: ***: a DNS-1035 label must",
        ),
        (
            "* deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: hunter2",
            "* deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ***",
        ),
        (
            "admission webhook \"v.example.org\" denied the request: hunter2",
            "admission webhook \"v.example.org\" denied the request: ***",
        ),
        (
            "forbidden: exceeded quota: q, requested: count/deployments.apps=1",
            "forbidden: exceeded quota: q, requested: count/deployments.apps=1",
        ),
        (
            "secrets is forbidden: User \"system:serviceaccount:shop:sa\" cannot list resource \"secrets\" in API group \"\" in the namespace \"shop\"",
            "secrets is forbidden: User \"system:serviceaccount:shop:sa\" cannot list resource \"secrets\" in API group \"\" in the namespace \"shop\"",
        ),
        (
            "error validating data: invalid type for spec.replicas: got \"string\", expected \"integer\"",
            "error validating data: invalid type for spec.replicas: got \"string\", expected \"integer\"",
        ),
        (
            "it's the users' fault, we've seen u'hunter2' there",
            "it's the users' fault, we've seen u'***' there",
        ),
        ("open '/hunter2': no such file", "open '***': no such file"),
        ("an open 'quote with hunter2", "an open '***"),
        (
            "context deadline exceeded\n\nLast Helm logs:\n\nhunter2",
            "context deadline exceeded Last Helm logs:***",
        ),
    ];
    for (message, expected) in told {
        let told = untrusted(message);
        assert_eq!(told, expected, "{message}");
        assert!(!told.contains("hunter2") && !told.contains("ter2") && !told.contains("4711"), "{told}");
    }
}

#[test]
fn a_long_message_is_cut_between_characters_and_stays_on_one_line() {
    assert_eq!(redact(" a\r\n\tb\u{7}\u{2028}c  ", Quotes::Trusted), "a b c");
    let long = redact(&"ü".repeat(40_000), Quotes::Trusted);
    assert_eq!((long.chars().count(), long.ends_with("ü...")), (1003, true));
    assert_eq!(redact(&"ü".repeat(1000), Quotes::Trusted), "ü".repeat(1000));
}

proptest! {
    #[test]
    fn whatever_the_value_go_quotes_it_and_it_is_gone(value in "[ -~]{8,40}", before in "[a-z ]{0,20}", quote in "['\"]") {
        let escaped = value.replace('\\', "\\\\").replace(&quote, &format!("\\{quote}"));
        let told = untrusted(&format!("{before} {quote}{escaped}{quote} is wrong"));
        // Words that the program itself writes may occur in a value by chance.
        let inner = value.trim();
        prop_assert!(inner.len() < 8 || !told.contains(inner), "{}", told);
    }

    #[test]
    fn no_message_makes_it_panic_or_grow_too_long(message in any::<String>(), known in any::<String>()) {
        for quotes in [Quotes::Trusted, Quotes::Untrusted { known: &[&known] }] {
            let told = redact(&message, quotes);
            prop_assert!(told.chars().count() <= 1000 && !told.contains('\n'));
        }
    }
}

#[test]
fn where_nothing_follows_nothing_is_masked() {
    for message in ["it failed. Last Helm logs:", "denied the request: "] {
        assert_eq!(untrusted(message).trim(), message.trim());
    }
    assert_eq!(untrusted("denied the request: hunter2"), "denied the request: ***");
}

#[test]
fn a_key_of_several_lines_is_no_line_of_a_text() {
    let table = [
        ("a\n\n b=1 \n", vec!["a", "b=1"]),
        (
            "a\n-----BEGIN RSA PRIVATE KEY-----\nhunter2\nhunter2\n-----END RSA PRIVATE KEY-----\nb",
            vec!["a", "***", "b"],
        ),
        ("a\n-----BEGIN PRIVATE KEY-----\nhunter2\n", vec!["a", "***"]),
        ("hunter2\nhunter2\n-----END PRIVATE KEY-----\nb", vec!["***", "b"]),
        ("password:\n  hunter2\nb", vec!["password:", "***", "b"]),
    ];
    for (text, expected) in table {
        assert_eq!(redact_lines(text), expected, "{text}");
    }
}
