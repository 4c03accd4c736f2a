//! What the API server stores: objects, their versions, and every change of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::cluster::CLAIMS;

/// The path of all objects of a kind, and the name of one.
pub(super) type Key = (String, String);

/// A change of an object.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) version: u64,
    pub(super) key: Key,
    /// What was stored before; `None` if the object is new.
    pub(super) before: Option<Arc<Value>>,
    /// What is stored now; `None` if it is gone.
    pub(super) now: Option<Arc<Value>>,
}

/// Why a write is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    NotFound,
    /// It has changed, or another owner has the field.
    Conflict,
    Exists,
    /// A fence denies it.
    Invalid,
}

/// All objects of the cluster.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) version: u64,
    objects: BTreeMap<Key, Arc<Value>>,
    /// The fields that each manager has applied, as paths into the object.
    applied: BTreeMap<Key, BTreeMap<String, BTreeSet<Vec<String>>>>,
    pub(super) changes: Vec<Change>,
    /// Watches from an older version are refused.
    pub(super) compacted: u64,
    uids: u64,
    announced: watch::Sender<u64>,
}

/// What the fence of claims denies to everybody, whatever the state of the claim: manifests/helm/templates/fences/claims.yaml.
fn is_relabelled(before: &Value, now: &Value) -> bool {
    before["metadata"]["labels"]["karpenter.sh/nodepool"]
        != now["metadata"]["labels"]["karpenter.sh/nodepool"]
}

/// The metadata of an object.
pub(super) fn metadata<'v>(object: &'v Value, field: &str) -> &'v str {
    object["metadata"][field].as_str().unwrap_or_default()
}

impl Store {
    pub(super) fn new() -> Self {
        Self {
            version: 100,
            objects: BTreeMap::new(),
            applied: BTreeMap::new(),
            changes: Vec::new(),
            compacted: 0,
            uids: 0,
            announced: watch::Sender::new(100),
        }
    }

    /// Tells the version of each change.
    pub(super) fn announcements(&self) -> watch::Receiver<u64> {
        self.announced.subscribe()
    }

    pub(super) fn get(&self, path: &str, name: &str) -> Option<Arc<Value>> {
        self.objects.get(&(path.into(), name.into())).cloned()
    }

    /// All objects at a path, by name.
    pub(super) fn list(&self, path: &str) -> impl Iterator<Item = &Arc<Value>> {
        let from = (path.to_owned(), String::new());
        let objects = self.objects.range(from..);
        objects
            .take_while(move |((at, _), _)| at == path)
            .map(|(_, object)| object)
    }

    /// A UID that no other object has.
    pub(super) fn uid(&mut self) -> String {
        self.uids += 1;
        format!("uid-{:04}", self.uids)
    }

    /// Stores a new object.
    pub(super) fn create(&mut self, path: &str, mut object: Value, at: &str) -> Result<Arc<Value>, Refusal> {
        let name = metadata(&object, "name").to_owned();
        if self.get(path, &name).is_some() {
            return Err(Refusal::Exists);
        }
        if metadata(&object, "uid").is_empty() {
            object["metadata"]["uid"] = self.uid().into();
        }
        object["metadata"]["creationTimestamp"] = at.into();
        Ok(self.put((path.into(), name), Some(object)))
    }

    /// Replaces an object, which must have the version and the UID that the new one names.
    pub(super) fn replace(
        &mut self,
        path: &str,
        name: &str,
        mut object: Value,
    ) -> Result<Arc<Value>, Refusal> {
        let stored = self.get(path, name).ok_or(Refusal::NotFound)?;
        for field in ["resourceVersion", "uid"] {
            let wanted = metadata(&object, field);
            if !wanted.is_empty() && wanted != metadata(&stored, field) {
                return Err(Refusal::Conflict);
            }
        }
        if path == CLAIMS && is_relabelled(&stored, &object) {
            return Err(Refusal::Invalid);
        }
        for field in ["uid", "creationTimestamp", "deletionTimestamp"] {
            let kept = &stored["metadata"][field];
            if !kept.is_null() {
                object["metadata"][field] = kept.clone();
            }
        }
        Ok(self.put((path.into(), name.into()), Some(object)))
    }

    /// Changes an object by a JSON merge patch.
    pub(super) fn merge(&mut self, path: &str, name: &str, change: &Value) -> Result<Arc<Value>, Refusal> {
        let stored = self.get(path, name).ok_or(Refusal::NotFound)?;
        let mut object = (*stored).clone();
        merge(&mut object, change);
        self.replace(path, name, object)
    }

    /// Applies a manager's whole share of an object: what it no longer names is removed, unless another one has it too.
    pub(super) fn apply(
        &mut self,
        path: &str,
        name: &str,
        (manager, force): (&str, bool),
        share: &Value,
    ) -> Result<Arc<Value>, Refusal> {
        let key = (path.to_owned(), name.to_owned());
        let stored = self.get(path, name).ok_or(Refusal::NotFound)?;
        let uid = metadata(share, "uid");
        if !uid.is_empty() && uid != metadata(&stored, "uid") {
            return Err(Refusal::Conflict);
        }
        let mut wanted = BTreeMap::new();
        leaves(share, &mut Vec::new(), &mut wanted);
        let managers = self.applied.entry(key.clone()).or_default();
        let mut object = (*stored).clone();
        for (_, fields) in managers.iter_mut().filter(|(other, _)| *other != manager) {
            let disputed = |field: &Vec<String>| {
                wanted
                    .get(field)
                    .is_some_and(|value| at(&object, field).is_some_and(|stored| stored != value))
            };
            if !force && fields.iter().any(disputed) {
                return Err(Refusal::Conflict);
            }
            if force {
                let lost: Vec<_> = fields.iter().filter(|field| disputed(field)).cloned().collect();
                for field in lost {
                    fields.remove(&field);
                }
            }
        }
        let before = managers.remove(manager).unwrap_or_default();
        for field in before.iter().filter(|field| !wanted.contains_key(*field)) {
            if !managers.values().any(|fields| fields.contains(field)) {
                remove(&mut object, field);
            }
        }
        for (field, value) in &wanted {
            set(&mut object, field, value.clone());
        }
        managers.insert(manager.into(), wanted.into_keys().collect());
        Ok(self.put(key, Some(object)))
    }

    /// Another client writes these fields with a name of its own, as `kubectl edit` does: they are no longer what the
    /// managers have applied alone.
    pub(super) fn claim_fields(&mut self, path: &str, name: &str, manager: &str, share: &Value) {
        let mut wanted = BTreeMap::new();
        leaves(share, &mut Vec::new(), &mut wanted);
        let managers = self.applied.entry((path.into(), name.into())).or_default();
        managers
            .entry(manager.into())
            .or_default()
            .extend(wanted.into_keys());
    }

    /// Removes an object.
    pub(super) fn remove(&mut self, path: &str, name: &str) {
        let key = (path.to_owned(), name.to_owned());
        if self.objects.contains_key(&key) {
            self.applied.remove(&key);
            self.put(key, None);
        }
    }

    fn put(&mut self, key: Key, object: Option<Value>) -> Arc<Value> {
        let before = self.objects.get(&key).cloned();
        // A write that changes nothing is none.
        if let (Some(before), Some(object)) = (&before, &object) {
            let mut same = object.clone();
            same["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"].clone();
            if same == **before {
                return Arc::clone(before);
            }
        }
        self.version += 1;
        let version = self.version;
        let now = object.map(|mut object| {
            object["metadata"]["resourceVersion"] = version.to_string().into();
            Arc::new(object)
        });
        match &now {
            Some(object) => drop(self.objects.insert(key.clone(), Arc::clone(object))),
            None => drop(self.objects.remove(&key)),
        }
        let object = now.clone().or_else(|| before.clone()).unwrap_or_default();
        self.changes.push(Change {
            version,
            key,
            before,
            now,
        });
        self.announced.send_replace(version);
        object
    }
}

/// Applies a JSON merge patch.
fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    for (field, value) in patch {
        let fields = object.as_object_mut().expect("an object");
        if value.is_null() {
            fields.remove(field);
        } else {
            merge(fields.entry(field.as_str()).or_insert(json!(null)), value);
        }
    }
}

/// The fields of labels, annotations and spec that an applied share names.
fn leaves(value: &Value, path: &mut Vec<String>, found: &mut BTreeMap<Vec<String>, Value>) {
    let is_identity = |field: &str| matches!(field, "apiVersion" | "kind" | "name" | "uid");
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                if !is_identity(field) {
                    path.push(field.clone());
                    leaves(value, path, found);
                    path.pop();
                }
            }
        }
        leaf => drop(found.insert(path.clone(), leaf.clone())),
    }
}

fn at<'v>(object: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(object, |object, field| object.get(field))
}

fn set(object: &mut Value, path: &[String], value: Value) {
    let field = path
        .iter()
        .fold(object, |object, field| &mut object[field.as_str()]);
    *field = value;
}

fn remove(object: &mut Value, path: &[String]) {
    let Some((last, parents)) = path.split_last() else {
        return;
    };
    let parent = parents
        .iter()
        .try_fold(object, |object, field| object.get_mut(field));
    if let Some(fields) = parent.and_then(Value::as_object_mut) {
        fields.remove(last);
    }
}
