use super::*;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Resource;
use kube::api::DynamicObject;

use crate::object::ObjectKey;

fn operator() -> Operator {
    Operator::new(Settings {
        product: crate::product::TESTED,
        namespace: "system".to_owned(),
        lease: "lease".to_owned(),
        address: ([127, 0, 0, 1], 0).into(),
        workers: 1,
        watch_namespaces: Vec::new(),
        cluster_id: None,
    })
}

fn watch<K: Resource<DynamicType = ()>>(selection: Selection, names: Option<Names>) -> Watch {
    Watch {
        resource: resource_of::<K>(),
        is_cluster_scoped: false,
        selection,
        concerns: Concerns::Everything,
        names: names.into_iter().collect(),
    }
}

fn by_one(_: &DynamicObject) -> Vec<ObjectKey> {
    Vec::new()
}

fn by_another(object: &DynamicObject) -> Vec<ObjectKey> {
    vec![ObjectKey::of(object)]
}

#[test]
fn the_same_objects_are_watched_once_and_others_of_the_kind_by_themselves() {
    let mut operator = operator();
    let mut declare = |watch: Watch| {
        let (triggers, _) = mpsc::unbounded_channel();
        let listener = Listener { concerns: Concerns::Everything, triggers, controller: 0 };
        operator.watch(watch, listener)
    };
    let policy = || Selection::named("policy").within("system");
    let places = [
        ("first", watch::<ConfigMap>(policy(), None), 0),
        ("the same", watch::<ConfigMap>(policy(), None), 0),
        ("the same, found by names", watch::<ConfigMap>(policy(), Some(by_one)), 0),
        ("found by other names", watch::<ConfigMap>(policy(), Some(by_another)), 1),
        ("children of the same kind", watch::<ConfigMap>(Selection::labels("owner"), None), 2),
        ("another kind", watch::<Secret>(policy(), None), 3),
    ];
    for (name, watch, expected) in places {
        assert_eq!(declare(watch), expected, "{name}");
    }
    let told: Vec<usize> = operator.kinds.iter().map(|kind| kind.listeners.len()).collect();
    assert_eq!(told, [3, 1, 1, 1], "each hears of what it has declared");
}

/// Tells when it is dropped.
struct Ending(mpsc::UnboundedSender<&'static str>);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.send("ended");
    }
}

#[tokio::test]
async fn a_service_runs_in_each_term_and_not_between_them() {
    let (sender, leading) = watch::channel(false);
    let (begun, mut begins) = mpsc::unbounded_channel();
    let (client, _) = crate::act::testing::answering(|_| crate::act::testing::status(404));
    let service: Service = Arc::new(move |_| {
        let begun = begun.clone();
        Box::pin(async move {
            let _ending = Ending(begun.clone());
            let _ = begun.send("begun");
            std::future::pending::<()>().await;
        })
    });
    let running = tokio::spawn(while_leading(leading, client, service));
    for leads in [true, false, true, false] {
        sender.send_replace(leads);
        let expected = if leads { "begun" } else { "ended" };
        assert_eq!(begins.recv().await, Some(expected));
    }
    drop(sender);
    assert!(running.await.is_ok(), "it ends with the operator");
}

#[test]
fn objects_without_a_namespace_are_watched_once_whatever_namespaces_are() {
    let kind = |is_cluster_scoped| Kind {
        resource: resource_of::<ConfigMap>(),
        selection: Selection::all(),
        is_cluster_scoped,
        names: Vec::new(),
        importance: Importance::Other,
        listeners: Vec::new(),
    };
    let namespaces = ["a".to_owned(), "b".to_owned()];
    assert_eq!(kind(true).parts(&namespaces), [None]);
    assert_eq!(kind(false).parts(&namespaces), [Some("a".to_owned()), Some("b".to_owned())]);
}

#[tokio::test]
async fn a_task_that_panics_is_told_and_one_that_ends_is_not() {
    let mut tasks = JoinSet::new();
    tasks.spawn(async {});
    tasks.spawn(async { panic!("a rule is wrong") });
    assert!(first_panic(&mut tasks).await.contains("a rule is wrong"));
    tasks.spawn(async {});
    let never = tokio::time::timeout(Duration::from_millis(20), first_panic(&mut tasks)).await;
    assert!(never.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_service_that_panics_is_begun_anew_in_the_same_term() {
    let (_sender, leading) = watch::channel(true);
    let (begun, mut count) = mpsc::unbounded_channel();
    let service: Service = Arc::new(move |_| {
        let _ = begun.send(());
        Box::pin(async { panic!("a service is wrong") })
    });
    let (client, _) = crate::act::testing::answering(|_| crate::act::testing::status(404));
    let serving = tokio::spawn(while_leading(leading, client, service));
    for _ in 0..3 {
        count.recv().await.unwrap();
    }
    serving.abort();
}
