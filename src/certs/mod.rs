//! Where the serving certificate comes from, and how it is replaced while connections go on. Knows nothing of
//! sockets or requests.

mod current;
mod files;
mod metrics;
mod pair;
mod self_signed;

pub(crate) use current::Current;
pub(crate) use files::{FileError, FileSource};
pub(crate) use metrics::CertificateMetrics;
pub(crate) use self_signed::{SelfSignedError, SelfSignedSource};
