//! The CA of the clients' certificates, from a file that is read again while connections stay open.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{Error, RootCertStore};

use crate::runtime::polled_file::{Load, LoadMetrics, Polled, read_in_time};

/// Why a file cannot be used as client CA.
#[derive(Debug, thiserror::Error)]
#[error("the client CA {}: {cause}", path.display())]
pub struct ClientAuthorityError {
    path: PathBuf,
    cause: Cause,
}

#[derive(Debug, thiserror::Error)]
enum Cause {
    #[error("cannot be read: {0}")]
    Read(io::Error),
    #[error("cannot be read: {0}")]
    Pem(pem::Error),
    #[error("it contains no certificate (BEGIN CERTIFICATE block)")]
    NoCertificate,
    #[error("certificate {number} is damaged: {cause}")]
    Damaged { number: usize, cause: Error },
    #[error("it cannot be used: {0}")]
    Unusable(rustls::server::VerifierBuilderError),
}

/// The file, and what takes over the CA in it.
pub struct ClientAuthorityFile {
    path: PathBuf,
    accept_only: Box<dyn Fn(Arc<dyn ClientCertVerifier>) + Send + Sync>,
}

impl ClientAuthorityFile {
    /// Reads the file for the first time. `accept_only` gets what checks the clients' certificates, now and after each change.
    pub async fn open(
        path: PathBuf,
        metrics: LoadMetrics,
        accept_only: impl Fn(Arc<dyn ClientCertVerifier>) + Send + Sync + 'static,
    ) -> Result<Polled<Self>, ClientAuthorityError> {
        let accept_only = Box::new(accept_only);
        Polled::open(Self { path, accept_only }, metrics).await
    }

    fn failed(&self, cause: Cause) -> ClientAuthorityError {
        ClientAuthorityError {
            path: self.path.clone(),
            cause,
        }
    }
}

impl Load for ClientAuthorityFile {
    type Contents = Vec<u8>;
    type Error = ClientAuthorityError;

    async fn read(&self) -> Result<Vec<u8>, ClientAuthorityError> {
        let read = read_in_time(self.path.clone()).await;
        read.map_err(|cause| self.failed(Cause::Read(cause)))
    }

    fn load(&mut self, pem: &Vec<u8>) -> Result<(), ClientAuthorityError> {
        let (verifier, certificates) = verifier(pem).map_err(|cause| self.failed(cause))?;
        tracing::info!(certificates, "loaded the client CA");
        (self.accept_only)(verifier);
        Ok(())
    }

    fn rejected(&self, error: &ClientAuthorityError) {
        tracing::error!(%error, "the new client CA cannot be used; the previous one stays in force");
    }
}

/// The verifier of a bundle, all of whose certificates must be usable, and how many they are. Clients get no hints: with
/// them a client whose certificate is of another CA would show none, and both sides would see the wrong error.
fn verifier(pem: &[u8]) -> Result<(Arc<dyn ClientCertVerifier>, usize), Cause> {
    let mut roots = RootCertStore::empty();
    for (number, certificate) in (1..).zip(CertificateDer::pem_slice_iter(pem)) {
        roots
            .add(certificate.map_err(Cause::Pem)?)
            .map_err(|cause| Cause::Damaged { number, cause })?;
    }
    if roots.is_empty() {
        return Err(Cause::NoCertificate);
    }
    let (certificates, provider) = (roots.len(), Arc::new(aws_lc_rs::default_provider()));
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .clear_root_hint_subjects()
        .build()
        .map_err(Cause::Unusable)?;
    Ok((verifier, certificates))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use arc_swap::ArcSwap;
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
    use rustls::pki_types::UnixTime;

    use super::*;

    fn authority() -> CertifiedIssuer<'static, KeyPair> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority")
    }

    /// The verifier in force.
    type Current = ArcSwap<Arc<dyn ClientCertVerifier>>;

    /// Whether a certificate of `issuer` is accepted.
    fn takes(current: &Current, issuer: &CertifiedIssuer<'static, KeyPair>) -> bool {
        let key = KeyPair::generate().expect("a key");
        let leaf = CertificateParams::new(vec!["client".into()])
            .and_then(|params| params.signed_by(&key, issuer))
            .expect("a certificate");
        let verifier = current.load();
        verifier
            .verify_client_cert(leaf.der(), &[], UnixTime::now())
            .is_ok()
    }

    #[tokio::test]
    async fn a_new_bundle_is_taken_whole_and_an_unusable_one_leaves_the_old_in_force() {
        let [old, new, other] = [authority(), authority(), authority()];
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("clients.pem");
        fs::write(&path, old.pem()).expect("written");
        let metrics = LoadMetrics::default();
        let current = Arc::new(Current::from_pointee(WebPkiClientVerifier::no_client_auth()));
        let taken = Arc::clone(&current);
        let accept_only = move |verifier| taken.store(Arc::new(verifier));
        let opened = ClientAuthorityFile::open(path.clone(), metrics.clone(), accept_only).await;
        let mut polled = opened.expect("an authority");
        assert!(takes(&current, &old) && !takes(&current, &new));

        let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let whole = new.pem();
        let (half, _) = whole.split_at(whole.len() / 2);
        for (errors, unusable) in (1..).zip([
            String::new(),
            "no certificate".into(),
            half.into(),
            whole.clone() + damaged,
        ]) {
            fs::write(&path, &unusable).expect("written");
            polled.poll().await;
            assert!(takes(&current, &old) && !takes(&current, &new), "{unusable}");
            assert_eq!(metrics.counts(), (1, errors, 1), "{unusable}");
        }

        fs::write(&path, new.pem() + &other.pem()).expect("written");
        polled.poll().await;
        assert!(takes(&current, &new) && takes(&current, &other) && !takes(&current, &old));
        assert_eq!(metrics.counts(), (2, 4, 0));
    }

    #[tokio::test]
    async fn a_start_without_a_usable_bundle_fails_with_the_path_and_the_reason() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("clients.pem");
        let open = async || {
            let opened = ClientAuthorityFile::open(path.clone(), LoadMetrics::default(), |_| ()).await;
            opened.err().expect("an error").to_string()
        };
        let error = open().await;
        assert!(
            error.contains("clients.pem: cannot be read: No such file"),
            "{error}"
        );
        fs::write(&path, "").expect("written");
        let error = open().await;
        assert!(
            error.ends_with("clients.pem: it contains no certificate (BEGIN CERTIFICATE block)"),
            "{error}"
        );
    }
}
