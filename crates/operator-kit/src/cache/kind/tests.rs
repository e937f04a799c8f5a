use super::*;

#[test]
fn a_list_from_the_past_is_not_taken_until_it_has_to_be() {
    let list = |cache: &KindCache, objects: &[(&str, &str)], version: &str, past: Past| {
        cache.begin_list(&None);
        for (name, version) in objects {
            cache.list_item(&None, &object(Some("shop"), name, version).into());
        }
        cache.end_list(&None, version, past)
    };
    let cache = KindCache::of_parts([None]);
    assert!(matches!(list(&cache, &[("a", "5"), ("b", "6")], "7", Past::Refused), Listed::First(2)));
    cache.put(&None, &object(Some("shop"), "a", "9").into());
    let version =
        |name: &str| cache.get(&ObjectKey::namespaced("shop", name)).map(|kept| kept.version.clone());
    let both = || (version("a"), version("b"));
    let now = (Some("9".into()), Some("6".into()));
    // Also one that shows nothing at all, as from before the objects were there.
    for old in [&[("a", "5")] as &[_], &[("a", "9")], &[]] {
        assert!(matches!(list(&cache, old, "8", Past::Refused), Listed::Past(9)), "{old:?}");
        assert_eq!(both(), now);
    }
    let gone_and_new = list(&cache, &[("a", "9"), ("c", "3")], "9", Past::Refused);
    assert!(matches!(gone_and_new, Listed::Again(changed) if changed.len() == 2));
    assert!(matches!(list(&cache, &[("a", "5")], "5", Past::Accepted), Listed::Restored(_)));
    assert_eq!(version("a").as_deref(), Some("5"));
    assert!(
        matches!(list(&cache, &[("a", "5")], "6", Past::Refused), Listed::Again(_)),
        "it counts from there"
    );
}

fn object(namespace: Option<&str>, name: &str, version: &str) -> DynamicObject {
    serde_json::from_value(serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": name, "resourceVersion": version}}))
    .unwrap()
}

fn names(objects: &[Arc<Kept>]) -> Vec<String> {
    let mut names: Vec<_> =
        objects.iter().map(|kept| ObjectKey::of(&kept.read::<DynamicObject>().unwrap()).name).collect();
    names.sort();
    names
}

fn list(cache: &KindCache, part: Option<&str>, objects: &[(&str, &str)]) -> Vec<String> {
    let owned = part.map(str::to_owned);
    cache.begin_list(&owned);
    for (name, version) in objects {
        cache.list_item(&owned, &object(part, name, version).into());
    }
    // Later than everything before it.
    let version = cache.age(&ObjectKey { namespace: owned.clone(), name: String::new() }).newest + 10;
    match cache.end_list(&owned, &version.to_string(), Past::Refused) {
        Listed::First(count) => vec![format!("first {count}")],
        Listed::Again(changed) => names(&changed),
        Listed::Back(changed) => [vec!["back".to_owned()], names(&changed)].concat(),
        Listed::Restored(_) | Listed::Past(_) => panic!("from the past"),
    }
}

fn whole() -> KindCache {
    KindCache::of_parts([None])
}

#[test]
fn a_second_list_tells_what_is_new_changed_and_gone_and_nothing_else() {
    let cache = whole();
    assert_eq!(list(&cache, None, &[("a", "1"), ("b", "2"), ("c", "3")]), ["first 3"]);
    assert_eq!(list(&cache, None, &[("a", "1"), ("b", "4"), ("d", "5")]), ["b", "c", "d"]);
}

#[test]
fn a_list_that_is_still_coming_in_hides_nothing() {
    let cache = whole();
    list(&cache, None, &[("a", "1")]);
    cache.begin_list(&None);
    assert!(cache.get(&ObjectKey { namespace: None, name: "a".to_owned() }).is_some());
}

#[test]
fn a_deletion_moves_the_cache_forward() {
    let cache = whole();
    list(&cache, None, &[("a", "1")]);
    cache.remove(&None, &object(None, "a", "17"));
    let key = ObjectKey { namespace: None, name: "a".to_owned() };
    assert_eq!((cache.age(&key).newest, cache.all().len()), (17, 0));
}

#[test]
fn a_kind_that_disappears_takes_its_objects_along() {
    let cache = whole();
    list(&cache, None, &[("a", "1")]);
    assert_eq!(names(&cache.not_installed(&None)), ["a"]);
    assert_eq!(cache.progress(), Progress::NotInstalled);
}

#[test]
fn a_namespace_that_cannot_be_listed_does_not_hold_the_others_back() {
    let cache = KindCache::of_parts(["x", "y"].map(|part| Some(part.to_owned())));
    list(&cache, Some("x"), &[("a", "1")]);
    assert_eq!(cache.progress(), Progress::Starting);
    let hidden = Some("y".to_owned());
    assert!(cache.unlisted(&hidden, "forbidden") && !cache.unlisted(&hidden, "forbidden"), "told once");
    assert_eq!(cache.progress(), Progress::Synced);
    let at = |namespace| cache.progress_at(&ObjectKey::namespaced(namespace, "a"));
    assert_eq!((at("x"), at("y")), (Progress::Synced, Progress::Unlisted("forbidden".into())));
    // What can be listed again is news for everybody, also if it looks as before; and so is what has gone meanwhile.
    assert_eq!(list(&cache, Some("y"), &[("b", "2")]), ["back", "b"]);
    cache.unlisted(&hidden, "forbidden");
    assert_eq!(list(&cache, Some("y"), &[]), ["back", "b"]);
    assert_eq!(at("y"), Progress::Synced);
}

#[test]
fn namespaces_that_are_watched_one_by_one_do_not_touch_each_other() {
    let cache = KindCache::of_parts(["x", "y"].map(|part| Some(part.to_owned())));
    list(&cache, Some("x"), &[("a", "1")]);
    assert_eq!(cache.progress(), Progress::Starting, "the other namespace is not known yet");
    list(&cache, Some("y"), &[("b", "2")]);
    assert_eq!(cache.progress(), Progress::Synced);
    assert_eq!(cache.keys(), [ObjectKey::namespaced("x", "a"), ObjectKey::namespaced("y", "b")]);
    cache.reached(&Some("y".to_owned()), "12");
    let newest = |namespace| cache.age(&ObjectKey::namespaced(namespace, "c")).newest;
    assert_eq!((newest("x"), newest("y")), (10, 12), "one watch may be ahead of another");
    assert_eq!(list(&cache, Some("x"), &[]), ["a"]);
    assert_eq!(names(&cache.all()), ["b"]);
}

/// Objects are found by their label `of`.
fn owner(object: &DynamicObject) -> Vec<ObjectKey> {
    let label = object.metadata.labels.as_ref().and_then(|labels| labels.get("of"));
    label.map(|name| ObjectKey::namespaced("x", name)).into_iter().collect()
}

#[test]
fn an_object_is_found_by_what_it_names_now() {
    let cache = whole().found_by(&[owner]);
    let labelled = |name: &str, of: &str| {
        let mut object = object(Some("x"), name, "1");
        object.metadata.labels = Some([("of".to_owned(), of.to_owned())].into());
        object
    };
    let found = |of: &str| {
        let found = cache.named(&ObjectKey::namespaced("x", of));
        found.into_iter().map(|(key, _)| key.name).collect::<Vec<_>>()
    };
    cache.begin_list(&None);
    for (name, of) in [("b", "web"), ("a", "web"), ("c", "webb")] {
        cache.list_item(&None, &labelled(name, of).into());
    }
    cache.end_list(&None, "1", Past::Accepted);
    assert_eq!((found("web"), found("webb")), (vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned()]));
    cache.put(&None, &labelled("a", "webb").into());
    cache.remove(&None, &labelled("b", "web"));
    assert_eq!((found("web"), found("webb")), (vec![], vec!["a".to_owned(), "c".to_owned()]));
    cache.not_installed(&None);
    assert_eq!(found("webb"), Vec::<String>::new());
}
