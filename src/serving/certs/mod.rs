//! Where the serving certificate and the client CA come from, and how they are replaced while connections stay open.
//! Knows nothing of sockets or requests.

mod authority;
mod client_authority;
pub mod client_names;
mod files;
mod metrics;
mod pair;
mod pem;
mod self_signed;
mod trust;

pub use authority::{Authority, AuthorityError, Issued};
pub use client_authority::ClientAuthorityFile;
pub use files::CertificateFiles;
pub use metrics::{CertificateMetrics, CertificateTimes};
pub use pair::{Current, Pair, PairError, unix_seconds};
pub use pem::{read_certificates, write_certificates};
pub use self_signed::self_signed;
pub use trust::verify;
