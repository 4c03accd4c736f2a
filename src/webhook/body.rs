//! Reading a request's body within bounds.

use std::sync::Arc;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::refusal::{MAX_BODY_BYTES, Refusal};

/// How many bytes of bodies may be held at once, in all requests together. A review has about 10 KB; this is
/// room for nine of the largest, and for thousands of the usual ones.
const MAX_BYTES_IN_FLIGHT: usize = 64 * 1024 * 1024;

/// The room that all bodies share.
#[derive(Debug, Clone)]
pub(super) struct BodyMemoryLimit(Arc<Semaphore>);

/// A body, and the room that it takes while it is held.
#[derive(Debug)]
pub(super) struct HeldBody {
    /// All of it.
    pub(super) bytes: Bytes,
    _room: Option<OwnedSemaphorePermit>,
}

impl Default for BodyMemoryLimit {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_BYTES_IN_FLIGHT)))
    }
}

impl BodyMemoryLimit {
    /// Reads a body to its end. Nothing is read of one that says that it is too large.
    pub(super) async fn read(&self, mut body: Body) -> Result<HeldBody, Refusal> {
        if body.size_hint().lower() > u64::from(MAX_BODY_BYTES) {
            return Err(Refusal::TooLarge);
        }
        let (mut first, mut more, mut room) = (Bytes::new(), BytesMut::new(), None);
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(Refusal::Broken)?.into_data() else {
                continue;
            };
            self.take(&mut room, first.len() + more.len(), data.len())?;
            // Most bodies come in one piece, which is kept as it is.
            if first.is_empty() && more.is_empty() {
                first = data;
            } else {
                if more.is_empty() {
                    more.extend_from_slice(&std::mem::take(&mut first));
                }
                more.extend_from_slice(&data);
            }
        }
        Ok(HeldBody {
            bytes: if more.is_empty() { first } else { more.freeze() },
            _room: room,
        })
    }

    /// Takes room for `more` bytes on top of `held` ones. Does not wait: who holds the room may be waiting too.
    fn take(&self, room: &mut Option<OwnedSemaphorePermit>, held: usize, more: usize) -> Result<(), Refusal> {
        let total = held.saturating_add(more);
        let more = u32::try_from(more)
            .ok()
            .filter(|_| total <= MAX_BODY_BYTES as usize);
        let taken = Arc::clone(&self.0)
            .try_acquire_many_owned(more.ok_or(Refusal::TooLarge)?)
            .map_err(|_| Refusal::Busy)?;
        match room {
            Some(room) => room.merge(taken),
            None => *room = Some(taken),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::StreamBody;
    use hyper::body::Frame;

    use super::*;

    /// A body that comes in pieces and does not say how large it is.
    fn pieces(count: usize, size: usize) -> Body {
        let piece = Bytes::from(vec![b'x'; size]);
        let frames = (0..count).map(move |_| Ok::<_, std::io::Error>(Frame::data(piece.clone())));
        Body::new(StreamBody::new(Iter(frames)))
    }

    /// The iterator as a stream that is always ready.
    struct Iter<I>(I);

    impl<I: Iterator + Unpin> futures_core::Stream for Iter<I> {
        type Item = I::Item;

        fn poll_next(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<I::Item>> {
            std::task::Poll::Ready(self.get_mut().0.next())
        }
    }

    #[tokio::test]
    async fn a_body_is_put_together_and_its_room_given_back() {
        let room = BodyMemoryLimit::default();
        for count in [0, 1, 2, 5] {
            let held = room.read(pieces(count, 1000)).await.expect("a body");
            assert_eq!(held.bytes, vec![b'x'; 1000 * count]);
            assert_eq!(room.0.available_permits(), MAX_BYTES_IN_FLIGHT - 1000 * count);
            drop(held);
            assert_eq!(room.0.available_permits(), MAX_BYTES_IN_FLIGHT);
        }
    }

    #[tokio::test]
    async fn a_body_is_bounded_whether_it_says_its_size_or_not() {
        let room = BodyMemoryLimit::default();
        let limit = MAX_BODY_BYTES as usize;
        assert_eq!(
            room.read(pieces(1, limit)).await.expect("a body").bytes.len(),
            limit
        );
        let endless = room.read(pieces(usize::MAX, 1 << 20)).await;
        assert!(matches!(endless, Err(Refusal::TooLarge)), "{endless:?}");
        let announced = room.read(Body::from(vec![b'x'; limit + 1])).await;
        assert!(matches!(announced, Err(Refusal::TooLarge)), "{announced:?}");
        assert_eq!(room.0.available_permits(), MAX_BYTES_IN_FLIGHT);
    }

    #[tokio::test]
    async fn all_bodies_together_are_bounded() {
        let room = BodyMemoryLimit::default();
        let mut held = Vec::new();
        for _ in 0..MAX_BYTES_IN_FLIGHT / MAX_BODY_BYTES as usize {
            held.push(room.read(pieces(7, 1 << 20)).await.expect("a body"));
        }
        let refused = room.read(pieces(7, 1 << 20)).await;
        assert!(matches!(refused, Err(Refusal::Busy)), "{refused:?}");
        held.pop();
        assert!(room.read(pieces(7, 1 << 20)).await.is_ok());
    }
}
