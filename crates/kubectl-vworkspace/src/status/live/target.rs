//! One thing to look at: all objects of a type, or one by its name.

use futures::{Stream, StreamExt};
use kube::Api;
use kube::api::{DynamicObject, ListParams};
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::Value;

use super::LiveError;
use super::connect::Connection;
use super::resource::ServedKind;
use crate::status::args::StatusArgs;
use crate::status::row::Row;

/// How many objects to ask for at a time.
const PAGE: u32 = 500;

#[derive(Clone)]
pub(super) struct Target {
    api: Api<DynamicObject>,
    kind: ServedKind,
    namespace: Option<String>,
    name: Option<String>,
    selector: Option<String>,
}

impl Target {
    pub(super) fn new(
        connection: &Connection,
        kind: &ServedKind,
        name: Option<&str>,
        args: &StatusArgs,
    ) -> Result<Target, LiveError> {
        if let Some(name) = name {
            let instead = match (args.all_namespaces, &args.selector) {
                (true, _) => "be looked up in all namespaces: expected -n NAMESPACE instead of -A",
                (false, Some(_)) => "go with a selector: expected TYPE alone with -l",
                (false, None) => "",
            };
            if !instead.is_empty() {
                return Err(LiveError::Arguments(format!("{}/{name} cannot {instead}", kind.full_name())));
            }
        }
        let namespace = (kind.namespaced && !args.all_namespaces)
            .then(|| args.namespace.clone().unwrap_or_else(|| connection.namespace.clone()));
        let client = connection.client.clone();
        let api = match &namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &kind.resource),
            None => Api::all_with(client, &kind.resource),
        };
        let (name, selector) = (name.map(str::to_owned), args.selector.clone());
        Ok(Target { api, kind: kind.clone(), namespace, name, selector })
    }

    /// The objects as they are now.
    pub(super) async fn read(&self) -> Result<Vec<Value>, LiveError> {
        let failed = |cause| LiveError::Request { action: self.action("read"), cause: Box::new(cause) };
        if let Some(name) = &self.name {
            let found = self.api.get_opt(name).await.map_err(failed)?;
            return Ok(found.into_iter().map(|object| self.value(object)).collect());
        }
        let mut params =
            ListParams { label_selector: self.selector.clone(), ..ListParams::default() }.limit(PAGE);
        let mut objects = Vec::new();
        loop {
            let page = self.api.list(&params).await.map_err(failed)?;
            objects.extend(page.items.into_iter().map(|object| self.value(object)));
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Ok(objects),
            }
        }
    }

    /// The objects and every change of them. After an error the watch starts again by itself, later and later.
    pub(super) fn watch(
        &self,
    ) -> impl Stream<Item = Result<watcher::Event<Value>, LiveError>> + Send + 'static {
        let fields = self.name.as_ref().map(|name| format!("metadata.name={name}"));
        let config = watcher::Config {
            label_selector: self.selector.clone(),
            field_selector: fields,
            ..Default::default()
        };
        let target = self.clone();
        watcher(self.api.clone(), config).default_backoff().map(move |event| match event {
            Ok(event) => Ok(map(event, |object| target.value(object))),
            Err(error) => Err(target.watch_error(error)),
        })
    }

    fn watch_error(&self, error: watcher::Error) -> LiveError {
        let cause = match error {
            watcher::Error::InitialListFailed(cause)
            | watcher::Error::WatchStartFailed(cause)
            | watcher::Error::WatchFailed(cause) => cause,
            watcher::Error::WatchError(status) => kube::Error::Api(status),
            watcher::Error::NoResourceVersion => {
                return LiveError::Arguments(format!("{} cannot be watched", self.kind.full_name()));
            }
        };
        LiveError::Request { action: self.action("watch"), cause: Box::new(cause) }
    }

    /// What to show for a named object that does not exist.
    pub(super) fn missing(&self) -> Option<Row> {
        let name = self.name.clone()?;
        let resource = &self.kind.resource;
        let namespace = self.namespace.clone().unwrap_or_default();
        Some(Row::not_found(resource.api_version.clone(), resource.kind.clone(), namespace, name))
    }

    fn action(&self, verb: &str) -> String {
        let what = match &self.name {
            Some(name) => format!("{}/{name}", self.kind.full_name()),
            None => self.kind.full_name(),
        };
        match &self.namespace {
            Some(namespace) => format!("{verb} {what} in namespace {namespace}"),
            None => format!("{verb} {what}"),
        }
    }

    /// Items of a list do not say what they are.
    fn value(&self, object: DynamicObject) -> Value {
        let mut value = serde_json::to_value(object).unwrap_or_default();
        if let Value::Object(fields) = &mut value {
            fields.insert("apiVersion".to_owned(), Value::from(self.kind.resource.api_version.as_str()));
            fields.insert("kind".to_owned(), Value::from(self.kind.resource.kind.as_str()));
        }
        value
    }
}

fn map<A, B>(event: watcher::Event<A>, f: impl FnOnce(A) -> B) -> watcher::Event<B> {
    match event {
        watcher::Event::Apply(object) => watcher::Event::Apply(f(object)),
        watcher::Event::Delete(object) => watcher::Event::Delete(f(object)),
        watcher::Event::Init => watcher::Event::Init,
        watcher::Event::InitApply(object) => watcher::Event::InitApply(f(object)),
        watcher::Event::InitDone => watcher::Event::InitDone,
    }
}
