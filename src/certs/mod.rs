//! Where the serving certificate comes from, and how it is replaced while connections go on. Knows nothing of
//! sockets or requests.

mod files;
mod metrics;
mod pair;
mod self_signed;

pub(crate) use files::{CertificateFiles, FileError};
pub(crate) use metrics::CertificateMetrics;
pub(crate) use pair::Current;
pub(crate) use self_signed::{SelfSignedError, SelfSignedSource};
