//! Receivers of the objects of a watch.

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;

use crate::cluster::collection::Versioned;

/// Receives the objects of a watch.
pub trait Follower {
    /// The kind that is watched.
    type Object: Versioned + DeserializeOwned + Clone + Send + 'static;

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
    /// The seen state is complete up to this resourceVersion.
    fn complete_up_to(&mut self, _version: &str) {}
    /// The watch is down: the known state may become outdated.
    fn lost(&mut self) {}
    /// Whether the changes that were missed are enough after a failure. If not, everything is listed again.
    fn resumes(&self) -> bool {
        false
    }
    /// The changes that were missed have been seen.
    fn caught_up(&mut self) {}
    /// Waits until there is reason to list everything again, although nothing is wrong.
    fn wants_list(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}
