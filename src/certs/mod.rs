//! Where the serving certificate and the clients' authority come from, and how they are replaced while connections go on.
//! Knows nothing of sockets or requests.

mod client_authority;
pub(crate) mod client_names;
mod files;
mod metrics;
mod pair;
mod self_signed;

pub(crate) use client_authority::{ClientAuthorityError, ClientAuthorityFile};
pub(crate) use files::{CertificateFiles, FileError};
pub(crate) use metrics::CertificateMetrics;
pub(crate) use pair::Current;
pub(crate) use self_signed::{SelfSignedError, SelfSignedSource};
