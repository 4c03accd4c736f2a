//! A webhook that always gives the same answer, and reads no more of a review than it needs for that.

use std::convert::Infallible;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::Deserialize;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::support::pki::Pki;

/// The names of NodeClaims that contain this are denied.
pub(crate) const DENIED: &str = "-denied-";

#[derive(Deserialize)]
struct Review<'r> {
    #[serde(borrow)]
    request: Asked<'r>,
}

#[derive(Deserialize)]
struct Asked<'r> {
    uid: &'r str,
    #[serde(default)]
    name: &'r str,
}

/// Serves on loopback as long as the runtime lives. Returns the address.
pub(crate) async fn serve(pki: &Pki) -> Result<String> {
    let chain = CertificateDer::pem_file_iter(&pki.server_cert)?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(&pki.server_key)?;
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    let tls = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let tls = tls.clone();
            // A closed connection needs no handling.
            tokio::spawn(async move { drop(connection(stream, tls).await) });
        }
    });
    Ok(format!("https://{address}"))
}

async fn connection(stream: TcpStream, tls: TlsAcceptor) -> Result<()> {
    stream.set_nodelay(true)?;
    let stream = TokioIo::new(tls.accept(stream).await?);
    let service = service_fn(|request| async move {
        let answer = answer(request).await.unwrap_or_else(|error| error.to_string());
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(answer))))
    });
    hyper::server::conn::http1::Builder::new()
        .serve_connection(stream, service)
        .await?;
    Ok(())
}

async fn answer(request: Request<Incoming>) -> Result<String> {
    let body = request.into_body().collect().await?.to_bytes();
    let review: Review<'_> = serde_json::from_slice(&body).context("no review")?;
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": review.request.uid, "allowed": !review.request.name.contains(DENIED)},
    });
    Ok(answer.to_string())
}
