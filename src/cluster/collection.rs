//! All objects of one kind, as they are read, written, listed and watched.
//!
//! kube's `Api` reads all of the metadata. A [`Collection`] does not: the type that its objects are read into has only the
//! fields that its reader needs. No call is made without a deadline, except by watches, which have their own.

use std::marker::PhantomData;

use futures_util::Stream;
use kube::api::{
    DeleteParams, GetParams, ListParams, ObjectList, Patch, PatchParams, PostParams, Request, WatchEvent,
    WatchParams,
};
use kube::core::request::Error as RequestError;
use kube::{Client, Error, Resource, Result};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use serde_json::value::RawValue;

use super::api::{ApiError, Call, Deadline, Fault};
use super::objects::{Metadata, Object};

/// How many pages a list has at most. No cluster has so many objects, so such a list does not end.
const MOST_PAGES: u32 = 10_000;

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

/// All objects of one kind in the cluster, or in a namespace, read into a type that need not be a whole object.
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

    fn call<T: DeserializeOwned + 'static>(
        &self,
        verb: &'static str,
        name: Option<&str>,
        request: Made,
    ) -> Call<T> {
        let client = self.client.clone();
        let answer = async move { client.request(request.map_err(Error::BuildRequest)?).await };
        Call::new(verb, &self.request.url_path, name, answer)
    }
}

/// A request that is made, if it can be.
type Made = std::result::Result<hyper::Request<Vec<u8>>, RequestError>;

impl<K: DeserializeOwned + 'static> Collection<K> {
    /// The object of this name, if there is one.
    pub fn get_opt(&self, name: &str) -> Call<Option<K>> {
        let found = self.call("get", Some(name), self.request.get(name, &GetParams::default()));
        found.or_none()
    }

    /// Stores a new object, and returns it.
    pub fn create(&self, object: &impl Serialize) -> Call<K> {
        let request = body(object).and_then(|body| self.request.create(&PostParams::default(), body));
        self.call("create", None, request)
    }

    /// Replaces the object of this name, if it still has the resourceVersion of this one. Returns the new one.
    pub fn replace(&self, name: &str, object: &impl Serialize) -> Call<K> {
        let request = body(object).and_then(|body| self.request.replace(name, &PostParams::default(), body));
        self.call("update", Some(name), request)
    }

    /// Changes the object of this name, and returns the new one.
    pub fn patch(&self, name: &str, params: &PatchParams, patch: &Patch<&Value>) -> Call<K> {
        self.call("patch", Some(name), self.request.patch(name, params, patch))
    }

    /// The same; of the new one the API server sends the metadata alone.
    pub fn patch_metadata(&self, name: &str, params: &PatchParams, patch: &Patch<&Value>) -> Call<K> {
        let request = self.request.patch_metadata(name, params, patch);
        self.call("patch", Some(name), request)
    }

    /// Deletes the object of this name.
    pub fn delete(&self, name: &str, params: &DeleteParams) -> Call<IgnoredAny> {
        self.call("delete", Some(name), self.request.delete(name, params))
    }

    /// The objects, page by page.
    pub const fn pages(&self, params: ListParams) -> Pages<'_, K> {
        Pages {
            objects: self,
            params,
            metadata_alone: false,
            count: 0,
            is_over: false,
            version: None,
        }
    }

    /// The same; the API server sends their metadata alone.
    pub const fn metadata_pages(&self, params: ListParams) -> Pages<'_, K> {
        let mut pages = self.pages(params);
        pages.metadata_alone = true;
        pages
    }
}

fn body(object: &impl Serialize) -> std::result::Result<Vec<u8>, RequestError> {
    serde_json::to_vec(object).map_err(RequestError::SerializeBody)
}

/// A list that is read page by page: no more than one page is in memory at once.
pub struct Pages<'a, K> {
    objects: &'a Collection<K>,
    params: ListParams,
    metadata_alone: bool,
    count: u32,
    is_over: bool,
    version: Option<String>,
}

impl<K: DeserializeOwned + Clone + 'static> Pages<'_, K> {
    /// The objects of the next page; none after the last one.
    pub async fn next(&mut self, by: Deadline) -> std::result::Result<Option<Vec<K>>, ApiError> {
        if self.is_over {
            return Ok(None);
        }
        let request = &self.objects.request;
        let request = if self.metadata_alone {
            request.list_metadata(&self.params)
        } else {
            request.list(&self.params)
        };
        let call = self.objects.call::<ObjectList<K>>("list", None, request);
        if self.count == MOST_PAGES {
            return Err(call.failed(Fault::Endless));
        }
        let page = call.by(by).await?;
        self.count += 1;
        self.version = page.metadata.resource_version;
        self.is_over = !turn_page(&mut self.params, page.metadata.continue_);
        Ok(Some(page.items))
    }

    /// The resourceVersion of the list, as the last page has it.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }
}

impl Source for Collection<RawObject> {
    async fn list(&self, params: &ListParams) -> Result<ObjectList<RawObject>> {
        let request = self.request.list(params).map_err(Error::BuildRequest)?;
        self.client.request(request).await
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use hyper::Response;
    use kube::client::Body;
    use serde_json::json;
    use tower::service_fn;

    use super::*;

    #[tokio::test]
    async fn a_list_that_does_not_end_is_given_up() {
        let server = service_fn(async |_: hyper::Request<Body>| {
            let page =
                json!({"apiVersion": "v1", "kind": "NodeList", "metadata": {"continue": "a"}, "items": []});
            Ok::<_, Infallible>(Response::new(Body::from(page.to_string().into_bytes())))
        });
        let nodes = Collection::<Value>::new(Client::new(server, "default"), "/api/v1/nodes");
        let mut pages = nodes.pages(ListParams::default());
        let mut count = 0;
        let error = loop {
            match pages.next(Deadline::within(Duration::from_mins(1))).await {
                Ok(page) => count += u32::from(page.is_some()),
                Err(error) => break error,
            }
        };
        assert_eq!(count, MOST_PAGES);
        assert_eq!(
            error.to_string(),
            "list nodes: the API server's list does not end"
        );
    }
}
