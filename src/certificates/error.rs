//! Why a certificate is not renewed.

use super::objects::AUTHORITY;
use crate::cluster::ApiError;
use crate::serving::certs::AuthorityError;

/// Why a step is not done.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// Something was not read or not written.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// A Secret does not exist.
    #[error("Secret {0} does not exist, and poolgate is not allowed to create it. Apply the manifests again")]
    NoSecret(&'static str),
    #[error("could not create a certificate: {0}")]
    Issue(#[from] AuthorityError),
    #[error(
        "the clock is earlier than the creation time of the certificates, so nothing is renewed. If a clock that \
         was ahead created them, empty the Secret {AUTHORITY}"
    )]
    ClockIsBehind,
    /// Another writer keeps undoing the writes. It is named if known.
    #[error(
        "{0} overwrites poolgate's changes. If it is cert-manager, remove the annotation cert-manager.io/inject-ca-from"
    )]
    Contested(String),
    #[error("reading and writing the certificates took more than {} s", .0.as_secs())]
    TooLong(std::time::Duration),
}
