//! Where the serving certificate and the client CA come from, and how they are replaced while connections stay open.
//! Knows nothing of sockets or requests.

mod authority;
mod client_authority;
pub(crate) mod client_names;
mod files;
mod metrics;
mod pair;
mod pem;
mod self_signed;
mod trust;

pub(crate) use authority::{Authority, AuthorityError, Issued};
pub(crate) use client_authority::ClientAuthorityFile;
pub(crate) use files::CertificateFiles;
pub(crate) use metrics::{CertificateMetrics, CertificateTimes};
pub(crate) use pair::{Current, Pair, PairError, unix_seconds};
pub(crate) use pem::{read_certificates, write_certificates};
pub(crate) use self_signed::SelfSignedSource;
pub(crate) use trust::verify;
