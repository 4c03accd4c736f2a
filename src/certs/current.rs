//! The certificate in force. A handshake reads it without a lock.

use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// The certificate that the next handshake shows.
#[derive(Debug)]
pub(crate) struct Current(ArcSwap<CertifiedKey>);

impl Current {
    pub(super) fn new(key: CertifiedKey) -> Arc<Self> {
        Arc::new(Self(ArcSwap::from_pointee(key)))
    }

    pub(super) fn replace(&self, key: CertifiedKey) {
        self.0.store(Arc::new(key));
    }

    #[cfg(test)]
    pub(super) fn leaf(&self) -> Vec<u8> {
        self.0.load().end_entity_cert().expect("a leaf").to_vec()
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}
