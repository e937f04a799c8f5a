#![allow(clippy::panic)]

use serde_json::json;

use super::*;

fn found(values: &Value) -> Option<(String, Why)> {
    let Value::Object(values) = values else { panic!("values are an object") };
    first(values).map(|finding| (finding.path, finding.why))
}

const PEM: &str = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----";

#[test]
fn a_secret_is_found_with_its_path_and_what_gives_it_away() {
    let told = [
        (json!({"password": "hunter2"}), "password", Why::Key),
        (json!({"auth": {"adminPassword": "hunter2"}}), "auth.adminPassword", Why::Key),
        (json!({"rootpassword": "hunter2"}), "rootpassword", Why::Key),
        (json!({"clientSecret": "hunter2"}), "clientSecret", Why::Key),
        (json!({"apiKey": "hunter2"}), "apiKey", Why::Key),
        (json!({"APIKey": "hunter2"}), "APIKey", Why::Key),
        (json!({"apikey": "hunter2"}), "apikey", Why::Key),
        (json!({"s3": {"accessKey": "hunter2"}}), "s3.accessKey", Why::Key),
        (json!({"s3": {"secretkey": "hunter2"}}), "s3.secretkey", Why::Key),
        (json!({"aws": {"secretAccessKey": "hunter2"}}), "aws.secretAccessKey", Why::Key),
        (json!({"token": "hunter2"}), "token", Why::Key),
        (json!({"AUTH_TOKEN": "hunter2"}), "AUTH_TOKEN", Why::Key),
        (json!({"auth-token": "12345"}), "auth-token", Why::Key),
        (json!({"passwords": ["hunter2"]}), "passwords[0]", Why::Key),
        (json!({"a": [{"b": 1}, {"token": "hunter2"}]}), "a[1].token", Why::Key),
        (json!({"a.b": {"token": "hunter2"}}), "[\"a.b\"].token", Why::Key),
        (json!({"password": {"value": "hunter2"}}), "password.value", Why::Key),
        (json!({"env": [{"name": "DB_PASSWORD", "value": "hunter2"}]}), "env[0].value", Why::NameBeside),
        (json!({"password": "changeme"}), "password", Why::Key),
        (json!({"password": "<a>hunter2<b>"}), "password", Why::Key),
        (json!({"password": "${A}hunter2${B}"}), "password", Why::Key),
        (json!({"password": "{{ \"hunter2\" }}"}), "password", Why::Key),
        (json!({"tls": {"key": PEM}}), "tls.key", Why::PrivateKey),
        (json!({"existingSecret": PEM}), "existingSecret", Why::PrivateKey),
        (json!({"conf": format!("x\n  {PEM}\n")}), "conf", Why::PrivateKey),
        (json!({"k": "-----BEGIN PRIVATE KEY-----"}), "k", Why::PrivateKey),
        (
            json!({"k": "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY-----"}),
            "k",
            Why::PrivateKey,
        ),
        (json!({"dsn": "postgres://app:hunter2@db:5432/app"}), "dsn", Why::UrlPassword),
        (json!({"args": ["--db=redis://:hunter2@r", "x"]}), "args[0]", Why::UrlPassword),
        (json!({"dsn": "http://a.example and http://u:p@ss@h"}), "dsn", Why::UrlPassword),
    ];
    for (values, path, why) in told {
        assert_eq!(found(&values), Some((path.to_owned(), why)), "{values}");
    }
}

#[test]
fn what_names_a_secret_or_stands_for_one_is_allowed() {
    for values in [
        json!({"auth": {"existingSecret": "db"}}),
        json!({"existingSecretPassword": "key-in-it", "existingPasswordSecret": "db"}),
        json!({"tls": {"secretName": "web-tls"}, "tlsSecretName": "web-tls"}),
        json!({"passwordSecretRef": "db", "tokenSecretName": "t", "passwordSecretKeyRef": {"name": "db", "key": "password"}}),
        json!({"password": {"secretName": "db", "key": "password"}}),
        json!({"env": [{"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}]}),
        json!({"env": [{"name": "LOG_LEVEL", "value": "debug"}, {"name": "DB_PASSWORD_FILE", "value": "/run/db"}]}),
        json!({"secretKeys": {"adminPasswordKey": "admin-password"}}),
        json!({"imagePullSecrets": ["regcred"], "pullSecrets": [{"name": "regcred"}]}),
        json!({"password": "<set via externalSecret>", "token": "<SET VIA external-secret>"}),
        json!({"password": "", "token": "  ", "secret": null}),
        json!({"password": "${DB_PASSWORD}", "token": "$(TOKEN)", "secret": "{{ .Values.global.secret }}"}),
        json!({"password": 12345, "token": true, "createSecret": "true", "secret": false}),
        json!({"passwordPolicy": "strict", "tokenTtl": "1h", "secretStore": "vault", "keyboard": "us"}),
        json!({"monkey": "x", "key": "y", "publicKey": "-----BEGIN PUBLIC KEY-----", "broken": "-----BEGIN"}),
        json!({"url": "https://user@example.org/a:b@c", "dsn": "postgres://app:${PASSWORD}@db/app", "x": "http://a:80/"}),
        json!({"dsn": "postgres://app:<set via externalSecret>@db", "y": "://", "z": "a@b:c"}),
    ] {
        assert_eq!(found(&values), None, "{values}");
    }
}
