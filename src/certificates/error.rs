//! Why a certificate is not renewed.

use super::objects::AUTHORITY;
use crate::certs::AuthorityError;
use crate::cluster::ApiError;

/// Why a step is not done.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// Something was not read or not written.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// A Secret does not exist.
    #[error("there is no Secret {0}: poolgate may fill it, but not create it; apply the manifests again")]
    NoSecret(&'static str),
    #[error("no certificate can be made: {0}")]
    Issue(#[from] AuthorityError),
    #[error(
        "the clock is before the time at which the certificates were made, and nothing is made by it; if they were \
         made by a clock that was ahead, empty the Secret {AUTHORITY}"
    )]
    ClockIsBehind,
    /// Another writer undoes what was written, again and again. It is named, if that is known.
    #[error(
        "{0} undoes what poolgate writes: only one of them may write it; if it is cert-manager, remove the annotation \
         cert-manager.io/inject-ca-from"
    )]
    Contested(String),
    #[error("reading and writing the certificates took more than {} s", .0.as_secs())]
    TooLong(std::time::Duration),
}
