//! All objects of one kind, as they are listed and watched.
//!
//! kube's `Api` reads all of the metadata. A [`Collection`] does not: the type that its objects are read into has only the
//! fields that its reader needs.

use std::marker::PhantomData;

use futures_util::Stream;
use kube::api::{GetParams, ListParams, ObjectList, Patch, PatchParams, Request, WatchEvent, WatchParams};
use kube::{Client, Error, Resource, Result};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::objects::{Metadata, Object};

/// The HTTP status "not found".
const NOT_FOUND: u16 = 404;

/// An object that says which version of it this is.
pub trait Versioned {
    /// Its `metadata.resourceVersion`.
    fn version(&self) -> Option<&str>;
}

impl<K: Resource> Versioned for K {
    fn version(&self) -> Option<&str> {
        self.meta().resource_version.as_deref()
    }
}

impl<L, A, S, T> Versioned for Object<Metadata<L, A>, S, T> {
    fn version(&self) -> Option<&str> {
        self.metadata.resource_version.as_deref()
    }
}

/// Goes to the next page of a list; false if that was the last one.
pub fn turn_page(params: &mut ListParams, token: Option<String>) -> bool {
    params.continue_token = token.filter(|token| !token.is_empty());
    params.continue_token.is_some()
}

/// An object as the API server sent it.
pub type RawObject = Box<RawValue>;

/// Where objects of one kind are listed and watched, undecoded: that is compiled once, not once for each kind.
pub trait Source {
    /// A page of them.
    async fn list(&self, params: &ListParams) -> Result<ObjectList<RawObject>>;

    /// Their changes after a version.
    async fn watch(
        &self,
        params: &WatchParams,
        version: &str,
    ) -> Result<impl Stream<Item = Result<WatchEvent<RawObject>>> + use<Self>>;
}

/// All objects of one kind in the cluster, read into a type that need not be a whole object.
pub struct Collection<K> {
    client: Client,
    request: Request,
    objects: PhantomData<fn() -> K>,
}

impl<K> Collection<K> {
    /// The objects at a path, such as `/api/v1/nodes`.
    pub fn new(client: Client, path: &str) -> Self {
        Self {
            client,
            request: Request::new(path),
            objects: PhantomData,
        }
    }

    /// The same objects, undecoded.
    pub fn raw(self) -> Collection<RawObject> {
        Collection {
            client: self.client,
            request: self.request,
            objects: PhantomData,
        }
    }
}

impl<K: DeserializeOwned> Collection<K> {
    /// The object of this name, if there is one.
    pub async fn get_opt(&self, name: &str) -> Result<Option<K>> {
        let request = self.request.get(name, &GetParams::default());
        match self.client.request(request.map_err(Error::BuildRequest)?).await {
            Err(Error::Api(status)) if status.code == NOT_FOUND => Ok(None),
            read => read.map(Some),
        }
    }

    /// Changes the object of this name, and returns the new one.
    pub async fn patch(&self, name: &str, params: &PatchParams, patch: &Patch<&Value>) -> Result<K> {
        let request = self.request.patch(name, params, patch);
        self.client.request(request.map_err(Error::BuildRequest)?).await
    }

    /// A page of the objects.
    pub async fn list(&self, params: &ListParams) -> Result<ObjectList<K>>
    where
        K: Clone,
    {
        let request = self.request.list(params).map_err(Error::BuildRequest)?;
        self.client.request(request).await
    }

    /// A page of the objects, of which the API server sends the metadata alone.
    pub async fn list_metadata(&self, params: &ListParams) -> Result<ObjectList<K>>
    where
        K: Clone,
    {
        let request = self.request.list_metadata(params).map_err(Error::BuildRequest)?;
        self.client.request(request).await
    }
}

impl Source for Collection<RawObject> {
    async fn list(&self, params: &ListParams) -> Result<ObjectList<RawObject>> {
        self.list(params).await
    }

    async fn watch(
        &self,
        params: &WatchParams,
        version: &str,
    ) -> Result<impl Stream<Item = Result<WatchEvent<RawObject>>> + use<>> {
        let request = self.request.watch(params, version).map_err(Error::BuildRequest)?;
        self.client.request_events(request).await
    }
}
