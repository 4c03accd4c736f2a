//! All objects of one kind, as far as they are looked at: the type that they are read into may hold as few of their
//! fields as its reader needs, which kube's `Api` does not allow (it wants all of the metadata).

use std::fmt::Debug;
use std::marker::PhantomData;

use futures_util::Stream;
use kube::api::{DynamicObject, ListParams, Object, ObjectList, Request, WatchEvent, WatchParams};
use kube::{Client, Error, Result};
use serde::de::DeserializeOwned;

/// An object that says which version of it this is.
pub(crate) trait Versioned {
    /// Its `metadata.resourceVersion`.
    fn version(&self) -> Option<&str>;
}

impl Versioned for DynamicObject {
    fn version(&self) -> Option<&str> {
        self.metadata.resource_version.as_deref()
    }
}

impl<P: Clone, U: Clone> Versioned for Object<P, U> {
    fn version(&self) -> Option<&str> {
        self.metadata.resource_version.as_deref()
    }
}

/// All objects of one kind in the cluster.
pub(crate) struct Collection<K> {
    client: Client,
    request: Request,
    objects: PhantomData<fn() -> K>,
}

impl<K: Clone + DeserializeOwned + Debug> Collection<K> {
    /// The objects at a path, such as `/api/v1/nodes`.
    pub(crate) fn new(client: Client, path: &str) -> Self {
        Self {
            client,
            request: Request::new(path),
            objects: PhantomData,
        }
    }

    /// A page of them.
    pub(crate) async fn list(&self, params: &ListParams) -> Result<ObjectList<K>> {
        let request = self.request.list(params).map_err(Error::BuildRequest)?;
        self.client.request(request).await
    }

    /// Their changes after a version.
    pub(crate) async fn watch(
        &self,
        params: &WatchParams,
        version: &str,
    ) -> Result<impl Stream<Item = Result<WatchEvent<K>>> + use<K>> {
        let request = self.request.watch(params, version).map_err(Error::BuildRequest)?;
        self.client.request_events(request).await
    }
}
