#![allow(clippy::expect_used)]

use super::*;

/// What can be read of it.
fn part(data: &[(&str, &str)]) -> CatalogPolicy {
    let data = data.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
    CatalogPolicy::read(&data)
}

/// All of it, or what is wrong with it.
fn read(data: &[(&str, &str)]) -> Result<CatalogPolicy, String> {
    let policy = part(data);
    policy.problem().map_or(Ok(policy), Err)
}

fn allowing(sources: &[&str]) -> CatalogPolicy {
    let text: String = sources.iter().map(|source| format!("- {source}\n")).collect();
    read(&[(SOURCES, &text)]).expect("a policy")
}

#[test]
fn absent_or_empty_is_no_window_and_every_source() {
    for data in [
        &[][..],
        &[(WINDOWS, ""), (SOURCES, "")],
        &[(WINDOWS, " \n"), (SOURCES, "# none yet\n")],
        &[(WINDOWS, "[]"), (SOURCES, "[]")],
        &[(WINDOWS, "null"), (SOURCES, "~")],
    ] {
        let policy = read(data).expect("a policy");
        assert_eq!(policy, CatalogPolicy::default(), "{data:?}");
        assert!(policy.allows("oci://anywhere.example/x") && policy.windows_of("shop", "web").is_empty());
    }
}

#[test]
fn a_source_holds_what_lies_below_it_and_nothing_else() {
    let told = [
        ("oci://r.example/charts", "oci://r.example/charts/web", true),
        ("oci://r.example/charts/", "oci://r.example/charts", true),
        ("oci://r.example/charts", "oci://r.example/charts/team/web/", true),
        ("oci://r.example", "oci://r.example/charts/web", true),
        ("oci://R.Example/charts", "OCI://r.eXample:443/charts/web", true),
        ("https://c.example", "https://c.example:0443", true),
        ("http://c.example:80/a", "http://c.example/a/b", true),
        ("oci://r.example:5000/charts", "oci://r.example:5000/charts/web", true),
        ("oci://[2001:db8::1]:5000/c", "oci://[2001:DB8:0:0:0:0:0:1]:5000/c/web", true),
        // Another place.
        ("oci://r.example/charts", "oci://r.example/charts-evil", false),
        ("oci://r.example/charts", "oci://r.example/Charts/web", false),
        ("oci://r.example/charts", "oci://r.example/", false),
        ("oci://r.example", "oci://r.example.evil/charts", false),
        ("oci://r.example", "oci://evil-r.example", false),
        ("oci://r.example", "oci://r.example:5000/charts", false),
        ("oci://r.example:5000", "oci://r.example/charts", false),
        ("https://c.example", "http://c.example", false),
        ("https://c.example", "http://c.example:443", false),
        ("https://c.example", "oci://c.example", false),
        // Tricks.
        ("oci://r.example", "oci://r.example@evil.example/charts", false),
        ("oci://r.example", "oci://user:hunter2@r.example/charts", false),
        ("oci://r.example", "oci://r.example:443@evil.example", false),
        ("oci://r.example", "oci://evil.example\\@r.example", false),
        ("oci://r.example", "oci://r.example%2eevil.example", false),
        ("oci://r.example", "oci://r.example\\.evil.example/", false),
        ("oci://r.example", "oci://r.example#.evil.example", false),
        ("oci://r.example", "oci://r.example?.evil.example", false),
        ("oci://r.example", "oci://r.example:", false),
        ("oci://r.example", "oci://r.example:+443/charts", false),
        ("oci://r.example", "oci://r.example:99999/charts", false),
        ("oci://r.example", "oci://r.example./charts", false),
        ("oci://r.example", "oci:///r.example/charts", false),
        ("oci://r.example", "r.example/charts", false),
        ("oci://r.example", " oci://r.example/charts", false),
        ("oci://r.example", "oci://r.example/charts\n", false),
        ("oci://r.example", "oci://r.exаmple/charts", false),
        ("oci://r.example/charts", "oci://r.example/charts/../evil", false),
        ("oci://r.example/charts", "oci://r.example/charts/..", false),
        ("oci://r.example/charts", "oci://r.example/./charts/web", false),
        ("oci://r.example/charts", "oci://r.example//charts/web", false),
        ("oci://r.example/charts", "oci://r.example/charts/%2e%2e/evil", false),
        ("oci://r.example/charts", "oci://r.example/charts%2Fweb", false),
        ("oci://r.example/charts", "oci://r.example/charts\\..\\evil", false),
    ];
    for (source, url, allowed) in told {
        assert_eq!(allowing(&[source]).allows(url), allowed, "{url} with {source}");
    }
}

#[test]
fn one_of_several_sources_is_enough_and_they_are_told_in_one_spelling() {
    let policy = allowing(&["https://Charts.example:443/", "oci://r.example:5000/a/"]);
    assert!(policy.allows("oci://r.example:5000/a/web") && policy.allows("https://charts.example/stable"));
    let told: Vec<_> = policy.allowed_sources().collect();
    assert_eq!(told, ["https://charts.example", "oci://r.example:5000/a"]);
}

const TWO: &str = "
- name: nightly
  schedule: 0 2 * * *
  duration: 2h
- name: shop freeze
  schedule: '0 0 24 DEC *'
  duration: 72h
  timeZone: Europe/Vienna
  catalogIds: [web, cart]
  namespaces:
    - shop
";

#[test]
fn a_window_applies_to_those_it_names_or_to_all() {
    let policy = read(&[(WINDOWS, TWO)]).expect("a policy");
    let names = |namespace, id| -> Vec<String> {
        policy.windows_of(namespace, id).into_iter().map(|window| window.name).collect()
    };
    assert_eq!(names("shop", "web"), ["nightly", "shop freeze"]);
    assert_eq!(names("shop", "blog"), ["nightly"]);
    assert_eq!(names("prod", "web"), ["nightly"]);
    let zones: Vec<_> = policy.windows_of("shop", "web").into_iter().map(|window| window.time_zone).collect();
    assert_eq!(zones, ["UTC", "Europe/Vienna"]);
}

#[test]
fn what_can_be_read_of_a_policy_holds_whatever_else_is_wrong_with_it() {
    let good = "- {name: good, schedule: 0 2 * * *, duration: 2h}\n";
    let bad = "- {name: bad, schedule: 0 2 * * *, duration: 2h, timeZone: Mars/Base}\n";
    let misspelt = "- {name: bad, schedule: 0 2 * * *, duration: 2h, timezone: UTC}\n";
    let (here, there) = ("- oci://here.example\n", "- oci://there.example\n");
    // Windows, sources; how many of the windows, whether here and there are allowed, and the problems.
    let table = [
        (format!("{bad}{good}"), String::new(), 1, (true, true), &["line 1: maintenanceWindows['bad']"][..]),
        (format!("{good}{misspelt}"), String::new(), 1, (true, true), &["line 2: unknown field `timezone`"]),
        (
            format!("{misspelt}{good}{bad}- 5\n"),
            String::new(),
            1,
            (true, true),
            &[
                "line 1: unknown field `timezone`",
                "line 3: maintenanceWindows['bad']",
                "line 4: invalid type",
            ],
        ),
        (good.repeat(2), String::new(), 2, (true, true), &["line 2: name is 'good'"]),
        (format!("{good}- {{"), String::new(), 0, (true, true), &["key maintenanceWindows"]),
        (good.to_owned(), format!("{here}- there.example\n"), 1, (true, false), &["line 2: 'there.example'"]),
        (String::new(), format!("{here}- a: b\n{there}"), 0, (true, true), &["line 2: "]),
        (String::new(), "- there.example\n".to_owned(), 0, (false, false), &["line 1: 'there.example'"]),
        (good.to_owned(), "a: b".to_owned(), 1, (false, false), &["key allowedChartSources"]),
        (bad.to_owned(), here.to_owned(), 0, (true, false), &["line 1: maintenanceWindows['bad']"]),
    ];
    for (windows, sources, count, allowed, problems) in table {
        let policy = part(&[(WINDOWS, &windows), (SOURCES, &sources)]);
        let told = policy.problem().expect("a problem");
        assert_eq!(policy.windows_of("shop", "web").len(), count, "{windows}{sources}: {told}");
        let allows = |host: &str| policy.allows(&format!("oci://{host}.example/web"));
        assert_eq!((allows("here"), allows("there")), allowed, "{windows}{sources}: {told}");
        assert_eq!(told.matches("ConfigMap vworkspace-catalog-policy").count(), problems.len(), "{told}");
        for problem in problems {
            assert!(told.contains(problem), "no {problem} in {told}");
        }
    }
}

#[test]
fn an_approval_is_required_of_those_that_are_named_and_of_all_if_that_cannot_be_read() {
    // Of shop/web, shop/blog, prod/web.
    let table = [
        ("", [false, false, false]),
        ("[]", [false, false, false]),
        ("- {}", [true, true, true]),
        ("- namespaces: [shop]", [true, true, false]),
        ("- catalogIds: [web]", [true, false, true]),
        ("- {catalogIds: [web], namespaces: [shop]}", [true, false, false]),
        ("- {catalogIds: [blog]}\n- {namespaces: [prod]}", [false, true, true]),
        ("- {catalogIds: [blog]}\n- {namespace: prod}", [true, true, true]),
        ("namespaces: [shop]", [true, true, true]),
        ("- [", [true, true, true]),
    ];
    for (text, required) in table {
        let policy = part(&[(APPROVALS, text)]);
        let told = [("shop", "web"), ("shop", "blog"), ("prod", "web")]
            .map(|(namespace, id)| policy.requires_approval(namespace, id));
        assert_eq!(told, required, "{text}");
    }
    let requires = |policy: CatalogPolicy| policy.requires_approval("shop", "web");
    assert!(requires(CatalogPolicy::unreadable("it is no map")) && requires(part(&[("approvals", "")])));
    assert!(!requires(part(&[(WINDOWS, "- 5")])), "another key says nothing about approvals");
}

#[test]
fn a_problem_hides_what_its_key_was_to_say_and_an_unknown_key_may_be_any() {
    let good = "- oci://a.example";
    let table = [
        (vec![(WINDOWS, "- 5"), (SOURCES, good)], (true, false)),
        (vec![(WINDOWS, "[]"), (SOURCES, "- 5")], (false, true)),
        (vec![("maintenanceWindow", "[]"), (SOURCES, good)], (true, true)),
        (vec![(SOURCES, good)], (false, false)),
    ];
    for (data, hides) in table {
        let policy = part(&data);
        assert_eq!((policy.hides_windows().is_some(), policy.hides_sources()), hides, "{data:?}");
    }
    let unreadable = CatalogPolicy::unreadable("it is no map");
    assert!(unreadable.hides_windows().is_some() && !unreadable.allows("oci://a.example/web"));
    let many: String = "- there.example\n".repeat(8);
    assert!(part(&[(SOURCES, &many)]).problem().expect("problems").ends_with("; and 3 more"));
}

#[test]
fn a_policy_that_cannot_be_read_names_key_line_and_what_is_expected() {
    let window = |field: &str, text: &str| {
        let is_it = |line: &&str| !line.trim_start_matches([' ', '-']).starts_with(&format!("{field}:"));
        let kept: Vec<&str> = "name: n\nschedule: 0 2 * * *\nduration: 2h".lines().filter(is_it).collect();
        format!("# one\n- {}\n  {text}\n", kept.join("\n  "))
    };
    let told = [
        (
            "maintenanceWindow",
            String::new(),
            "key maintenanceWindow: is no key of a policy; expected maintenanceWindows, allowedChartSources, ",
        ),
        (
            SOURCES,
            "- oci://a.example\n- b.example\n".to_owned(),
            ", line 2: 'b.example' has no scheme; expected an address such as oci://",
        ),
        (
            SOURCES,
            "- oci://*.example".to_owned(),
            ", line 1: 'oci://*.example' has the character '*'; expected",
        ),
        (SOURCES, "- u:hunter2@a.example".to_owned(), "an address has an @"),
        (SOURCES, "- ftp://a.example".to_owned(), "has a scheme other than oci, https and http; expected"),
        (SOURCES, "- oci://u:hunter2@a.example".to_owned(), ", line 1: an address has an @; expected"),
        (SOURCES, "- oci://a.example\n- ''\n".to_owned(), ", line 2: '' has no scheme; expected"),
        (SOURCES, "oci://a.example".to_owned(), ", line 1: "),
        (SOURCES, "a: b".to_owned(), "; expected a YAML list of addresses"),
        (SOURCES, "- a: b".to_owned(), "; expected a YAML list of addresses"),
        (
            SOURCES,
            "- oci://a.example\n---\n- oci://b.example".to_owned(),
            "; expected a YAML list of addresses",
        ),
        (SOURCES, "- [".to_owned(), "; expected a YAML list of addresses"),
        (WINDOWS, window("x", "timezone: UTC"), ", line 5: "),
        (
            WINDOWS,
            window("schedule", "schedule: 0 0 30 FEB *"),
            ", line 2: maintenanceWindows['n'].schedule is '0 0 30 FEB *'; expected a day",
        ),
        (
            WINDOWS,
            window("x", "timeZone: Mars/Base"),
            ", line 2: maintenanceWindows['n'].timeZone is 'Mars/Base'; expected the name",
        ),
        (WINDOWS, window("duration", "duration: 2 days"), "'2 days' is no duration; expected"),
        (
            WINDOWS,
            window("duration", "duration: 400h"),
            "duration is '400h'; expected a duration from 1m to 168h",
        ),
        (
            WINDOWS,
            window("name", "name: ''"),
            "name is ''; expected one that no other window in the list has",
        ),
        (
            WINDOWS,
            TWO.replace("shop freeze", "nightly"),
            ", line 5: name is 'nightly'; expected one that no other",
        ),
        (WINDOWS, window("duration", ""), "duration"),
    ];
    for (key, text, expected) in told {
        let error = read(&[(key, &text)]).expect_err(&text);
        assert!(error.starts_with(&format!("ConfigMap vworkspace-catalog-policy, key {key}")), "{error}");
        assert!(error.contains(expected) && error.contains("expected"), "{error}");
        assert!(!error.contains("hunter2") && !error.contains('\n'), "{error}");
    }
}
