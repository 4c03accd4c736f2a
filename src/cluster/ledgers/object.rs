//! A ledger as a ConfigMap.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use poolgate_core::api::LEDGER_LABEL;
use poolgate_core::nodelimit::ledger::{Ledger, UnreadableLedger};

/// Where ledgers are listed and watched.
pub fn path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

/// The prefix of a ledger's name, before the UID of its pool.
const PREFIX: &str = "poolgate-ledger-";

/// The kind of its owner.
const OWNER_KIND: &str = "NodePool";

/// The keys of the ConfigMap's data.
const POOL: &str = "nodepool";
const LEDGER: &str = "ledger.json";

/// The NodePool that owns a ledger: when it is deleted, so is the ledger.
#[derive(Debug, Clone, Copy)]
pub struct Owner<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its uid: a NodePool created again under the name is another owner, with a ledger of its own.
    pub uid: &'a str,
}

/// A ConfigMap that should be a ledger and is not, and that this release does not overwrite.
#[derive(Debug, Clone, thiserror::Error)]
#[error("ConfigMap {namespace}/{name}: {fault}")]
pub struct BrokenLedger {
    namespace: Box<str>,
    name: Box<str>,
    /// Its resourceVersion; 0 if it has none.
    pub version: u64,
    #[source]
    fault: Fault,
}

#[derive(Debug, Clone, thiserror::Error)]
enum Fault {
    #[error("data[\"{LEDGER}\"]: {0}")]
    Newer(UnreadableLedger),
    #[error("data[\"{POOL}\"] is not the name of the ledger's NodePool")]
    OtherPool,
    #[error("its name does not have the UID of a NodePool after \"{PREFIX}\"")]
    Name,
    #[error("metadata.resourceVersion is not a number")]
    NoVersion,
}

/// The name of the ledger of the pool with this UID. It depends on nothing else: the ledger of a deleted pool cannot
/// become that of the next pool of its name, whatever becomes of it.
pub fn name(uid: &str) -> String {
    format!("{PREFIX}{uid}")
}

/// The ConfigMap that replaces the ledger of `version` with this one; a new one if there is no version.
pub fn write(owner: Owner<'_>, ledger: &Ledger, version: Option<u64>) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name(owner.uid)),
            labels: Some(BTreeMap::from([(LEDGER_LABEL.to_owned(), "true".to_owned())])),
            resource_version: version.map(|version| version.to_string()),
            owner_references: Some(vec![OwnerReference {
                api_version: "karpenter.sh/v1".into(),
                kind: OWNER_KIND.into(),
                name: owner.name.into(),
                uid: owner.uid.into(),
                ..OwnerReference::default()
            }]),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([
            (POOL.to_owned(), owner.name.to_owned()),
            (LEDGER.to_owned(), ledger.write()),
        ])),
        ..ConfigMap::default()
    }
}

/// Its resourceVersion.
pub fn version(object: &ConfigMap) -> Option<u64> {
    object.metadata.resource_version.as_ref()?.parse().ok()
}

/// A ledger as it is stored.
#[derive(Debug, Clone)]
pub struct StoredLedger {
    /// The name of the NodePool that owns it.
    pub pool: Box<str>,
    /// Its resourceVersion.
    pub version: u64,
    /// The UID of its ConfigMap.
    pub uid: Box<str>,
    /// The UID of that NodePool.
    pub owner: Box<str>,
    /// Its content; a closed ledger if that cannot be read.
    pub ledger: Arc<Ledger>,
    /// Why it cannot be read.
    pub lost: Option<Arc<str>>,
}

impl StoredLedger {
    /// The NodePool that owns it.
    pub fn owner(&self) -> Owner<'_> {
        Owner {
            name: &self.pool,
            uid: &self.owner,
        }
    }
}

/// Reads a ledger. One that cannot be read counts as closed, and is overwritten with a closed one.
pub fn parse(object: &ConfigMap) -> Result<StoredLedger, BrokenLedger> {
    parse_for(object, None)
}

/// The same for a pool of a known name.
pub fn parse_for(object: &ConfigMap, pool: Option<&str>) -> Result<StoredLedger, BrokenLedger> {
    content(object, pool).map_err(|fault| BrokenLedger {
        namespace: object.metadata.namespace.as_deref().unwrap_or_default().into(),
        name: object.metadata.name.as_deref().unwrap_or_default().into(),
        version: version(object).unwrap_or_default(),
        fault,
    })
}

fn content(object: &ConfigMap, pool: Option<&str>) -> Result<StoredLedger, Fault> {
    let field = |key: &str| object.data.as_ref()?.get(key).map(String::as_str);
    let version = version(object).ok_or(Fault::NoVersion)?;
    let metadata = &object.metadata;
    let owner = metadata
        .name
        .as_deref()
        .and_then(|name| name.strip_prefix(PREFIX));
    let owner = owner.filter(|owner| !owner.is_empty()).ok_or(Fault::Name)?;
    let stored = |pool: &str, ledger, lost: Option<String>| StoredLedger {
        pool: pool.into(),
        version,
        uid: metadata.uid.as_deref().unwrap_or_default().into(),
        owner: owner.into(),
        ledger: Arc::new(ledger),
        lost: lost.map(Arc::from),
    };
    let named = field(POOL).filter(|named| !named.is_empty() && pool.is_none_or(|pool| pool == *named));
    let Some(named) = named else {
        let pool = pool.ok_or(Fault::OtherPool)?;
        return Ok(stored(
            pool,
            Ledger::closed(version),
            Some(Fault::OtherPool.to_string()),
        ));
    };
    let lost = match field(LEDGER).map(Ledger::parse) {
        Some(Ok(ledger)) => return Ok(stored(named, ledger, None)),
        Some(Err(newer @ UnreadableLedger::Newer(_))) => return Err(Fault::Newer(newer)),
        Some(Err(error)) => format!("data[\"{LEDGER}\"]: {error}"),
        None => format!("data[\"{LEDGER}\"] is missing"),
    };
    Ok(stored(named, Ledger::closed(version), Some(lost)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> Owner<'_> {
        Owner { name, uid: "uid-1" }
    }

    fn stored(pool: &str) -> ConfigMap {
        let mut object = write(owner(pool), &Ledger::default(), Some(7));
        object.metadata.namespace = Some("system".into());
        object
    }

    #[test]
    fn what_is_written_is_read_back_and_belongs_to_the_pool() {
        let object = stored("general");
        assert_eq!(object.metadata.name.as_deref(), Some("poolgate-ledger-uid-1"));
        let owner = &object.metadata.owner_references.as_ref().expect("an owner")[0];
        assert_eq!((owner.kind.as_str(), owner.uid.as_str()), ("NodePool", "uid-1"));
        let stored = parse(&object).expect("a ledger");
        assert_eq!(
            (&*stored.pool, &*stored.owner, stored.version),
            ("general", "uid-1", 7)
        );
        assert_eq!(*stored.ledger, Ledger::default());
    }

    #[test]
    fn a_pool_that_is_created_again_has_a_ledger_of_its_own() {
        let mut again = stored("general");
        let next = Owner {
            name: "general",
            uid: "uid-2",
        };
        assert_ne!(
            again.metadata.name,
            write(next, &Ledger::default(), None).metadata.name
        );
        // What an object says of its owner does not make it another pool's.
        again.metadata.owner_references.as_mut().expect("an owner")[0].uid = "uid-2".into();
        assert_eq!(&*parse(&again).expect("a ledger").owner, "uid-1");
        again.metadata.name = Some(PREFIX.into());
        assert!(matches!(
            parse(&again),
            Err(BrokenLedger {
                fault: Fault::Name,
                ..
            })
        ));
        // A NodePool's name may be longer than what is left of a ConfigMap's.
        assert!(parse(&stored(&"a".repeat(253))).is_ok());
    }

    fn changed(change: impl FnOnce(&mut BTreeMap<String, String>)) -> ConfigMap {
        let mut object = stored("general");
        change(object.data.as_mut().expect("data"));
        object
    }

    #[test]
    fn a_ledger_that_cannot_be_read_is_a_closed_one_and_says_why() {
        let lost = |object: &ConfigMap| {
            let stored = parse_for(object, Some("general")).expect("a closed ledger");
            assert!(stored.ledger.is_closed());
            assert_eq!((&*stored.pool, stored.version), ("general", 7));
            stored.lost.expect("why").to_string()
        };
        let text = lost(&changed(|data| drop(data.insert(LEDGER.into(), "{".into()))));
        assert!(
            text.starts_with("data[\"ledger.json\"]: the ledger cannot be parsed: EOF while parsing"),
            "{text}"
        );
        let text = lost(&changed(|data| drop(data.remove(LEDGER))));
        assert_eq!(text, "data[\"ledger.json\"] is missing");
        let other = changed(|data| drop(data.insert(POOL.into(), "other".into())));
        assert!(lost(&other).starts_with("data[\"nodepool\"] is not the name"));
        let unnamed = changed(|data| drop(data.remove(POOL)));
        let text = parse(&unnamed).expect_err("nobody says whose it is").to_string();
        assert!(
            text.starts_with("ConfigMap system/poolgate-ledger-uid-1: data[\"nodepool\"]"),
            "{text}"
        );
    }

    #[test]
    fn a_ledger_of_a_later_release_is_not_replaced() {
        let newer = changed(|data| drop(data.insert(LEDGER.into(), r#"{"version":2}"#.into())));
        let text = parse_for(&newer, Some("general"))
            .expect_err("an error")
            .to_string();
        assert!(text.contains("Run one release everywhere"), "{text}");
    }
}
