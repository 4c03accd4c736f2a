//! What receives the objects of a watch. Objects are decoded here, so that no more than this is compiled for each kind.

use futures_util::future::LocalBoxFuture;
use serde::de::DeserializeOwned;

use crate::cluster::collection::{RawObject, Versioned};

/// Receives the objects of a watch.
pub trait Follower {
    /// What is watched.
    type Object: Versioned + DeserializeOwned;

    /// A list begins: what was known before is replaced once it is complete.
    fn list_begins(&mut self);
    /// An object of the list.
    fn listed(&mut self, object: Self::Object);
    /// The list is complete.
    fn list_ends(&mut self);
    /// An object is new or has changed.
    fn changed(&mut self, object: Self::Object);
    /// An object is gone.
    fn gone(&mut self, object: &Self::Object);
    /// What was seen is complete up to this resourceVersion.
    fn complete_up_to(&mut self, _version: &str) {}
    /// The watch is down: from now on what is known may be out of date.
    fn lost(&mut self) {}
    /// Waits until there is reason to list everything again, although nothing is wrong.
    fn wants_list(&self) -> LocalBoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

/// Why an object of a watch cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableObject {
    #[error("an object cannot be decoded: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("an object has no version to continue from")]
    NoVersion,
}

/// A follower of objects that are still to be decoded.
pub trait RawFollower {
    fn list_begins(&mut self);
    fn listed(&mut self, object: &RawObject) -> Result<(), UnreadableObject>;
    fn list_ends(&mut self);
    /// An object is new or has changed; `version` becomes that of the object.
    fn changed(&mut self, object: &RawObject, version: &mut String) -> Result<(), UnreadableObject>;
    /// An object is gone; `version` becomes that of its deletion.
    fn gone(&mut self, object: &RawObject, version: &mut String) -> Result<(), UnreadableObject>;
    fn complete_up_to(&mut self, version: &str);
    fn lost(&mut self);
    fn wants_list(&self) -> LocalBoxFuture<'static, ()>;
}

impl<F: Follower> RawFollower for F {
    fn list_begins(&mut self) {
        Follower::list_begins(self);
    }

    fn listed(&mut self, object: &RawObject) -> Result<(), UnreadableObject> {
        Follower::listed(self, decoded(object)?);
        Ok(())
    }

    fn list_ends(&mut self) {
        Follower::list_ends(self);
    }

    fn changed(&mut self, object: &RawObject, version: &mut String) -> Result<(), UnreadableObject> {
        let object: F::Object = decoded(object)?;
        take_version(&object, version)?;
        Follower::changed(self, object);
        Ok(())
    }

    fn gone(&mut self, object: &RawObject, version: &mut String) -> Result<(), UnreadableObject> {
        let object: F::Object = decoded(object)?;
        take_version(&object, version)?;
        Follower::gone(self, &object);
        Ok(())
    }

    fn complete_up_to(&mut self, version: &str) {
        Follower::complete_up_to(self, version);
    }

    fn lost(&mut self) {
        Follower::lost(self);
    }

    fn wants_list(&self) -> LocalBoxFuture<'static, ()> {
        Follower::wants_list(self)
    }
}

fn decoded<K: DeserializeOwned>(object: &RawObject) -> Result<K, UnreadableObject> {
    Ok(serde_json::from_str(object.get())?)
}

fn take_version(object: &impl Versioned, version: &mut String) -> Result<(), UnreadableObject> {
    object
        .version()
        .ok_or(UnreadableObject::NoVersion)?
        .clone_into(version);
    Ok(())
}
