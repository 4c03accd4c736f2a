//! All objects of one kind, as they are read, written, listed and watched.
//!
//! kube's `Api` reads all of the metadata. A [`Collection`] does not: the type that its objects are read into has only the
//! fields that its reader needs. No call is made without a deadline.

use std::marker::PhantomData;

use futures_util::Stream;
use futures_util::future::BoxFuture;
use kube::api::{
    DeleteParams, GetParams, ListParams, ObjectList, Patch, PatchParams, PostParams, Request, WatchEvent,
    WatchParams,
};
use kube::core::request::Error as RequestError;
use kube::{Client, Error, Resource};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use serde_json::value::RawValue;

use super::api::{ApiError, Deadline, Fault, call};
use super::objects::{Metadata, Object};

/// The most pages of a list. No cluster has that many objects, so a longer list is endless.
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

impl<L, A, M, S, T> Versioned for Object<Metadata<L, A, M>, S, T> {
    fn version(&self) -> Option<&str> {
        self.metadata.resource_version.as_deref()
    }
}

/// Goes to the next page of a list; false if that was the last one.
fn turn_page(params: &mut ListParams, token: Option<String>) -> bool {
    params.continue_token = token.filter(|token| !token.is_empty());
    params.continue_token.is_some()
}

/// An object as the API server sent it.
pub type RawObject = Box<RawValue>;

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

    /// Makes a call. The future is boxed, because the client's takes kilobytes and would enlarge every future around
    /// it.
    fn call<'a, T: DeserializeOwned + Send>(
        &'a self,
        verb: &'static str,
        name: Option<&'a str>,
        request: Made,
        by: Deadline,
    ) -> BoxFuture<'a, Result<T, ApiError>> {
        Box::pin(async move {
            let answer = async {
                let mut request = request.map_err(Error::BuildRequest)?;
                // The client repeats a read in time.
                request.extensions_mut().insert(by);
                self.client.request(request).await
            };
            call(verb, &self.request.url_path, name, by, answer).await
        })
    }
}

/// A request that is made, if it can be.
type Made = Result<hyper::Request<Vec<u8>>, RequestError>;

impl<K: DeserializeOwned + Send + 'static> Collection<K> {
    /// The object of this name, if there is one.
    pub async fn get_opt(&self, name: &str, by: Deadline) -> Result<Option<K>, ApiError> {
        let request = self.request.get(name, &GetParams::default());
        match self.call("get", Some(name), request, by).await {
            Err(error) if error.is_not_found() => Ok(None),
            read => read.map(Some),
        }
    }

    /// Stores a new object, and returns it.
    pub async fn create(&self, object: &(impl Serialize + Sync), by: Deadline) -> Result<K, ApiError> {
        let request = body(object).and_then(|body| self.request.create(&PostParams::default(), body));
        self.call("create", None, request, by).await
    }

    /// Replaces the object of this name, if it still has the resourceVersion of this one. Returns the new one.
    pub async fn replace(
        &self,
        name: &str,
        object: &(impl Serialize + Sync),
        by: Deadline,
    ) -> Result<K, ApiError> {
        let request = body(object).and_then(|body| self.request.replace(name, &PostParams::default(), body));
        self.call("update", Some(name), request, by).await
    }

    /// Changes the object of this name, and returns the new one.
    pub async fn patch(
        &self,
        name: &str,
        params: &PatchParams,
        patch: &Patch<&Value>,
        by: Deadline,
    ) -> Result<K, ApiError> {
        let request = self.request.patch(name, params, patch);
        self.call("patch", Some(name), request, by).await
    }

    /// The same; of the new one the API server sends the metadata alone.
    pub async fn patch_metadata(
        &self,
        name: &str,
        params: &PatchParams,
        patch: &Patch<&Value>,
        by: Deadline,
    ) -> Result<K, ApiError> {
        let request = self.request.patch_metadata(name, params, patch);
        self.call("patch", Some(name), request, by).await
    }

    /// Deletes the object of this name.
    pub async fn delete(
        &self,
        name: &str,
        params: &DeleteParams,
        by: Deadline,
    ) -> Result<IgnoredAny, ApiError> {
        let request = self.request.delete(name, params);
        self.call("delete", Some(name), request, by).await
    }

    /// Their changes after a version. `by` is for the begin of the stream.
    pub async fn watch(
        &self,
        params: &WatchParams,
        version: &str,
        by: Deadline,
    ) -> Result<impl Stream<Item = kube::Result<WatchEvent<K>>> + use<K>, ApiError>
    where
        K: Clone,
    {
        let request = self.request.watch(params, version).map_err(Error::BuildRequest);
        let answer = async { self.client.request_events(request?).await };
        call("watch", &self.request.url_path, None, by, answer).await
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

fn body(object: &impl Serialize) -> Result<Vec<u8>, RequestError> {
    serde_json::to_vec(object).map_err(RequestError::SerializeBody)
}

/// A list that is read page by page, so that only one page is in memory at a time.
pub struct Pages<'a, K> {
    objects: &'a Collection<K>,
    params: ListParams,
    metadata_alone: bool,
    count: u32,
    is_over: bool,
    version: Option<String>,
}

impl<K: DeserializeOwned + Clone + Send + 'static> Pages<'_, K> {
    /// The objects of the next page; none after the last one.
    pub async fn next(&mut self, by: Deadline) -> Result<Option<Vec<K>>, ApiError> {
        if self.is_over {
            return Ok(None);
        }
        let request = &self.objects.request;
        let request = if self.metadata_alone {
            request.list_metadata(&self.params)
        } else {
            request.list(&self.params)
        };
        if self.count == MOST_PAGES {
            let path = &self.objects.request.url_path;
            return Err(ApiError::new("list", path, None, Fault::Endless));
        }
        let page: ObjectList<K> = self.objects.call("list", None, request, by).await?;
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
        assert_eq!(error.to_string(), "list nodes: the API server's list is endless");
    }
}
