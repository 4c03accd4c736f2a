//! Reading a request's body within bounds.

use std::sync::Arc;

use axum::body::Body;
use bytes::BytesMut;
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::rejection::{MAX_BODY_BYTES, Rejection};

/// How many bytes of large bodies all requests together may hold: room for four of the largest.
const MAX_BYTES_IN_FLIGHT: usize = 32 * 1024 * 1024;

/// The first bytes of a body are not counted: a usual review has about 10 KB, and is always read. The number of
/// connections limits how many there are.
const FREE: usize = 64 * 1024;

/// The memory that all large bodies share, a permit for each byte.
#[derive(Debug)]
pub struct BodyMemory(Arc<Semaphore>);

/// A body, and the memory that it takes while it is held.
#[derive(Debug)]
pub struct HeldBody {
    /// The whole body.
    pub bytes: BytesMut,
    _memory: Option<OwnedSemaphorePermit>,
}

impl Default for BodyMemory {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_BYTES_IN_FLIGHT)))
    }
}

impl BodyMemory {
    /// Reads a body to its end. If its declared length is too large, nothing is read.
    pub async fn read(&self, mut body: Body) -> Result<HeldBody, Rejection> {
        if body.size_hint().lower() > MAX_BODY_BYTES as u64 {
            return Err(Rejection::TooLarge);
        }
        // What is declared is not believed beyond what is free.
        let declared = usize::try_from(body.size_hint().lower()).unwrap_or(FREE);
        let mut bytes = BytesMut::with_capacity(declared.min(FREE));
        let mut memory = None::<OwnedSemaphorePermit>;
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(Rejection::Broken)?.into_data() else {
                continue;
            };
            let length = bytes.len() + data.len();
            if length > MAX_BODY_BYTES {
                return Err(Rejection::TooLarge);
            }
            let more = length.saturating_sub(bytes.len().max(FREE));
            if more > 0 {
                let more = self.take(more)?;
                match &mut memory {
                    Some(memory) => memory.merge(more),
                    None => memory = Some(more),
                }
            }
            bytes.extend_from_slice(&data);
        }
        Ok(HeldBody {
            bytes,
            _memory: memory,
        })
    }

    /// Takes more memory, if there is enough. Does not wait: the requests that hold the rest may be waiting too.
    fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Rejection> {
        let permits = u32::try_from(bytes).map_err(|_| Rejection::TooLarge)?;
        Arc::clone(&self.0)
            .try_acquire_many_owned(permits)
            .map_err(|_| Rejection::Busy)
    }

    #[cfg(test)]
    fn taken(&self) -> usize {
        MAX_BYTES_IN_FLIGHT - self.0.available_permits()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body_util::StreamBody;
    use hyper::body::Frame;

    use super::*;

    /// A body that arrives in pieces and does not declare its length.
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
        let room = BodyMemory::default();
        for (count, taken) in [(0, 0), (1, 0), (2, 2 * 60_000 - FREE), (5, 5 * 60_000 - FREE)] {
            let held = room.read(pieces(count, 60_000)).await.expect("a body");
            assert_eq!(held.bytes, vec![b'x'; 60_000 * count]);
            assert_eq!(room.taken(), taken);
            drop(held);
            assert_eq!(room.taken(), 0);
        }
    }

    #[tokio::test]
    async fn a_body_is_bounded_whether_it_says_its_size_or_not() {
        let room = BodyMemory::default();
        let largest = room.read(pieces(1, MAX_BODY_BYTES)).await;
        assert_eq!(largest.expect("a body").bytes.len(), MAX_BODY_BYTES);
        let endless = room.read(pieces(usize::MAX, 1 << 20)).await;
        assert!(matches!(endless, Err(Rejection::TooLarge)), "{endless:?}");
        let announced = room.read(Body::from(vec![b'x'; MAX_BODY_BYTES + 1])).await;
        assert!(matches!(announced, Err(Rejection::TooLarge)), "{announced:?}");
        assert_eq!(room.taken(), 0);
    }

    #[tokio::test]
    async fn large_bodies_are_bounded_together_and_a_usual_one_is_always_read() {
        let room = BodyMemory::default();
        let large = || room.read(pieces(7, 1 << 20));
        let mut held = Vec::new();
        for _ in 0..4 {
            held.push(large().await.expect("a body"));
        }
        let rejected = large().await;
        assert!(matches!(rejected, Err(Rejection::Busy)), "{rejected:?}");
        let _rest = room.take(MAX_BYTES_IN_FLIGHT - room.taken()).expect("the rest");
        assert!(room.read(pieces(4, FREE / 4)).await.is_ok());
        let rejected = room.read(pieces(5, FREE / 4)).await;
        assert!(matches!(rejected, Err(Rejection::Busy)), "{rejected:?}");
        held.pop();
        assert!(large().await.is_ok());
    }
}
