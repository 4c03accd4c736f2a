//! One side of a comparison: the NodePools and the other objects of files, of a Git revision or of a cluster.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail, ensure};
use jiff::Timestamp;
use poolgate_core::drift::{DriftClaim, HASH_ANNOTATION, HASH_VERSION_ANNOTATION};
use poolgate_core::facts::{ApiVersion, GROUP, NODEPOOL_LABEL};
use poolgate_core::json::Json;
use poolgate_core::manifest::{Limits, Lines, ManifestObject};
use serde::Serialize;
use serde_json::Value;

use super::checkout::Checkout;
use super::git;
use crate::input::{Manifests, Unread};
use crate::sources::cluster::{Cluster, ClusterReadError, Request};
use crate::sources::{Class, Input, LeftAlone, Renderable, Renderer, Source, Whole, origin};
use crate::terminal;

/// The objects of one side.
#[derive(Debug, Default)]
pub struct Side {
    pub pools: Vec<Placed>,
    /// The objects of other kinds, node classes among them.
    pub others: Vec<Placed>,
    /// What is not compared, and why.
    pub skipped: Vec<String>,
    /// The NodeClaims of a cluster by their pool.
    pub claims: Option<HashMap<String, Vec<DriftClaim>>>,
    /// The node of each NodeClaim, and whether something bounds its drain.
    nodes: HashMap<String, (String, bool)>,
}

/// An object, and where it is.
#[derive(Debug)]
pub struct Placed {
    pub key: Key,
    /// Its file below the root; empty if the root is a file, standard input or a cluster.
    pub path: String,
    /// Its file and line, to be printed.
    pub place: String,
    /// The folder of its file, which has the policy.
    pub folder: PathBuf,
    pub version: ApiVersion,
    pub object: Value,
}

/// The user's file for the source that a renderer names.
type FileOf<'f> = &'f dyn Fn(&str) -> Option<String>;

/// Nothing is rendered.
fn nowhere(_: &str) -> Option<String> {
    None
}

/// What an object is called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Key {
    pub group: String,
    pub kind: String,
    pub name: String,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", terminal::name(&self.kind), terminal::name(&self.name))
    }
}

impl Side {
    /// What stands in a file, below a directory or in standard input. Against a cluster nothing may be left to fill in.
    pub fn of_files(manifests: &Manifests, root: &Path, is_for_cluster: bool) -> anyhow::Result<Self> {
        let mut side = Self::default();
        for input in &manifests.inputs {
            let path = match &input.source {
                Source::File(path) => path.strip_prefix(root).unwrap_or(path).to_string_lossy(),
                _ => "".into(),
            };
            side.add(manifests, input, &path, is_for_cluster, &nowhere)?;
        }
        Ok(side)
    }

    /// What stood there in a revision of Git, read as what stands there now.
    pub fn of_revision(revision: &str, root: &Path, now: &mut Manifests) -> anyhow::Result<Self> {
        let mut side = Self::default();
        for (path, text) in git::files(revision, root)? {
            let file = if path.is_empty() {
                root.to_owned()
            } else {
                root.join(&path)
            };
            if now.excludes(&file) {
                continue;
            }
            let input = Input {
                name: terminal::clean(&format!("{revision}:{}", file.display())),
                source: Source::Text { text, path: file },
                is_named: path.is_empty(),
            };
            // What stands there now is named as skipped.
            if now.whole(&input) == Whole::Whole {
                side.add(now, &input, &path, false, &nowhere)?;
            }
        }
        Ok(side)
    }

    /// What a program has rendered. Against a cluster nothing may be left to fill in.
    pub fn of_rendered(
        manifests: &Manifests,
        sources: &Renderable,
        is_for_cluster: bool,
    ) -> anyhow::Result<Self> {
        let mut side = Self::default();
        let file_of = |said: &str| sources.source(said);
        for input in &manifests.inputs {
            side.add(manifests, input, "", is_for_cluster, &file_of)?;
        }
        Ok(side)
    }

    /// What is rendered of the same sources in a revision of Git.
    pub fn of_checkout(
        now: &Manifests,
        revision: &str,
        sources: &Renderable,
        renderer: &Renderer,
    ) -> anyhow::Result<Self> {
        let checkout = Checkout::of(revision, sources.root())?;
        let then = sources.try_map(|path| checkout.path(path))?;
        let root = terminal::clean(&sources.root().display().to_string());
        let revision = terminal::clean(revision);
        ensure!(
            checkout.has(then.root()),
            "--git: {root} is outside of the Git working tree"
        );
        if !then.root().exists() {
            terminal::remark(&format!("{revision} has no {root}: all of it is new"));
            return Ok(Self::default());
        }
        let text = renderer.render(&then).map_err(|error| {
            let error = terminal::with_causes(&error);
            anyhow!("{}", checkout.named(&error, &revision))
        })?;
        let input = Input {
            name: format!("{revision}:{}", sources.name()),
            source: sources.text(text),
            is_named: true,
        };
        let mut side = Self::default();
        let file_of = |said: &str| Some(checkout.named(&then.source(said)?, &revision));
        side.add(now, &input, "", false, &file_of)?;
        Ok(side)
    }

    /// What a cluster has stored.
    pub fn of_cluster(cluster: &Cluster) -> anyhow::Result<Self> {
        let mut side = Self::default();
        cluster.each(Request::NodePools, |object: Value| {
            let name = text(&object, "/metadata/name").to_owned();
            let key = Key {
                group: GROUP.to_owned(),
                kind: "NodePool".to_owned(),
                name,
            };
            side.pools.push(Placed {
                path: String::new(),
                place: "in the cluster".to_owned(),
                folder: PathBuf::from("."),
                version: ApiVersion::V1,
                key,
                object,
            });
        })?;
        let mut claims: HashMap<String, Vec<DriftClaim>> = HashMap::new();
        cluster.each(Request::NodeClaims, |object: Value| {
            // One that is being deleted goes anyway.
            if object.pointer("/metadata/deletionTimestamp").is_none()
                && let (Some(pool), claim) = drift_claim(&object)
            {
                let is_bounded = object.pointer("/spec/terminationGracePeriod").is_some();
                let node = (text(&object, "/status/nodeName").to_owned(), is_bounded);
                side.nodes.insert(claim.name.to_string(), node);
                claims.entry(pool).or_default().push(claim);
            }
        })?;
        side.claims = Some(claims);
        Ok(side)
    }

    /// Reads what keeps the nodes of these NodeClaims although they drift; whether anything keeps one.
    pub fn read_kept(
        &mut self,
        cluster: &Cluster,
        drifting: &[&str],
        at: Timestamp,
    ) -> Result<bool, ClusterReadError> {
        let nodes = drifting.iter().filter_map(|claim| self.nodes.get(*claim));
        let nodes: BTreeMap<String, bool> = nodes.filter(|(node, _)| !node.is_empty()).cloned().collect();
        let mut kept: HashMap<String, String> = HashMap::new();
        if !nodes.is_empty() {
            let request = Request::Kept { nodes: &nodes, at };
            cluster.each(request, |(node, why)| drop(kept.insert(node, why)))?;
        }
        for claim in self.claims.iter_mut().flat_map(HashMap::values_mut).flatten() {
            let node = self.nodes.get(&*claim.name).map(|(node, _)| node);
            claim.kept = node
                .and_then(|node| kept.get(node))
                .map(|why| terminal::clean(why).into());
        }
        Ok(!kept.is_empty())
    }

    fn add(
        &mut self,
        manifests: &Manifests,
        input: &Input,
        path: &str,
        is_for_cluster: bool,
        file_of: FileOf<'_>,
    ) -> anyhow::Result<()> {
        let name = &input.name;
        let source = match manifests.read(input) {
            Ok(source) => source,
            Err(Unread::NotText(_)) => {
                self.skipped.push(format!("{name}: not compared: it is no text"));
                return Ok(());
            }
            Err(Unread::Failed(error)) => return Err(error).with_context(|| name.clone()),
        };
        let lines = Lines::new(&source.text);
        for document in source.documents(&Limits::default()) {
            match (document.class, document.unread()) {
                // Without its documents, every object of the other side would be gone or new.
                (Class::Unrelated, Some((offset, why))) if !input.is_named => {
                    if source.text.contains("NodeClass") {
                        self.skipped
                            .push(format!("{name}:{}: not compared: {why}", lines.position(offset)));
                    }
                    continue;
                }
                (_, Some((offset, why))) => bail!("{name}:{}: {why}", lines.position(offset)),
                (Class::Patch, None) => {
                    self.skipped
                        .push(format!("{name}: not compared: {}", LeftAlone::Patch));
                    continue;
                }
                _ => {}
            }
            for found in document.objects() {
                let (pool, object) = (found.pool, found.object);
                let said = origin::by_kustomize(object.value);
                let said = said.or_else(|| origin::by_helm(&document.document));
                let place = said.and_then(|said| file_of(&said));
                let place =
                    place.unwrap_or_else(|| format!("{name}:{}", lines.position(found.span.start()).line));
                let Some(key) = key(&object) else { continue };
                if pool.is_some() {
                    let left = if is_for_cluster {
                        document.left(object.value)
                    } else {
                        document.edits_left(object.value)
                    };
                    let left = left.map(|why| why.to_string()).unwrap_or_default();
                    ensure!(
                        left.is_empty(),
                        "{place}: {key} cannot be compared: {left}. Render it first"
                    );
                }
                let list = if pool.is_some() {
                    &mut self.pools
                } else {
                    &mut self.others
                };
                list.push(Placed {
                    key,
                    path: path.to_owned(),
                    place,
                    folder: input.folder().to_owned(),
                    version: pool.unwrap_or(ApiVersion::V1),
                    object: object.value.into(),
                });
            }
        }
        Ok(())
    }
}

/// What an object is called; `None` without a group, which Karpenter's objects and node classes have.
fn key(object: &ManifestObject<'_>) -> Option<Key> {
    let (group, _) = object.version?.split_once('/')?;
    let name = object
        .value
        .get("metadata")
        .and_then(|metadata| metadata.get("name"));
    Some(Key {
        group: group.to_owned(),
        kind: object.kind?.to_owned(),
        name: name.and_then(Json::as_str).unwrap_or_default().to_owned(),
    })
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// A NodeClaim with the name of its pool.
fn drift_claim(claim: &Value) -> (Option<String>, DriftClaim) {
    let strings = |pointer| {
        let map = claim
            .pointer(pointer)
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        map.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
    };
    let labels: BTreeMap<String, String> = strings("/metadata/labels").collect();
    let annotation = |key: &str| {
        let mut all = strings("/metadata/annotations");
        all.find(|(name, _)| name == key).map(|(_, value)| value.into())
    };
    let pool = labels.get(NODEPOOL_LABEL).cloned();
    let claim = DriftClaim {
        name: text(claim, "/metadata/name").into(),
        hash: annotation(HASH_ANNOTATION),
        hash_version: annotation(HASH_VERSION_ANNOTATION),
        kept: None,
        labels,
    };
    (pool, claim)
}
