//! The floor: an empty handler behind the same TLS, HTTP and runtimes as poolgate's. What it costs is not ours to save.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use anyhow::Result;
use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle};
use tokio_rustls::TlsAcceptor;

/// An answer of poolgate's size.
const ANSWER: &str = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002","allowed":true}}"#;

/// Serves with the certificate in this directory until the process is killed. Prints the port first.
#[allow(clippy::print_stdout)]
pub(crate) fn serve(directory: &Path) -> Result<()> {
    let chain = CertificateDer::pem_file_iter(directory.join("tls.crt"))?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(directory.join("tls.key"))?;
    let mut config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let tls = TlsAcceptor::from(Arc::new(config));
    let threads = thread::available_parallelism()?.get().min(4);
    let threads: Vec<Handle> = (0..threads).map(|_| runtime()).collect::<Result<_>>()?;
    let answer = async |_: Bytes| ([(CONTENT_TYPE, "application/json")], ANSWER);
    let router = Router::new().route("/validate", post(answer)).with_state(());
    let accepting = Builder::new_current_thread().enable_all().build()?;
    accepting.block_on(async {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        println!("{}", listener.local_addr()?.port());
        for thread in threads.iter().cycle() {
            let stream = listener.accept().await?.0.into_std()?;
            let (tls, router) = (tls.clone(), router.clone());
            // A closed connection needs no handling.
            thread.spawn(async move { drop(connection(stream, tls, router).await) });
        }
        Ok(())
    })
}

fn runtime() -> Result<Handle> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
    Ok(handle)
}

async fn connection(stream: std::net::TcpStream, tls: TlsAcceptor, router: Router) -> Result<()> {
    let stream = TcpStream::from_std(stream)?;
    stream.set_nodelay(true)?;
    let stream = TokioIo::new(tls.accept(stream).await?);
    hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(stream, TowerToHyperService::new(router))
        .await?;
    Ok(())
}
