//! Reading a request's body within bounds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body as _;

use super::rejection::{MAX_BODY_BYTES, Rejection};
use crate::http::Peer;

/// How many bytes of large bodies may be held at once, in all requests together: room for four of the largest.
const MAX_BYTES_IN_FLIGHT: usize = 32 * 1024 * 1024;

/// How many of these bytes one address may use: room for two of the largest bodies.
const SHARE: usize = MAX_BYTES_IN_FLIGHT / 2;

/// The first bytes of a body are not counted: a usual review has about 10 KB, and is always read. The number of
/// connections limits how many there are.
const FREE: usize = 64 * 1024;

/// The memory that all large bodies share.
#[derive(Debug, Clone, Default)]
pub struct BodyMemoryLimit(Arc<Mutex<HashMap<Option<Peer>, usize>>>);

/// A body, and the memory that it takes while it is held.
#[derive(Debug)]
pub struct HeldBody {
    /// The whole body.
    pub bytes: Bytes,
    _room: Room,
}

/// The memory that a body takes; free again when this is dropped.
#[derive(Debug)]
struct Room {
    memory: BodyMemoryLimit,
    peer: Option<Peer>,
    bytes: usize,
}

impl BodyMemoryLimit {
    /// Reads a body of `peer` to its end. If its declared length is too large, nothing is read.
    pub async fn read(&self, peer: Option<Peer>, mut body: Body) -> Result<HeldBody, Rejection> {
        if body.size_hint().lower() > MAX_BODY_BYTES as u64 {
            return Err(Rejection::TooLarge);
        }
        let mut room = Room {
            memory: self.clone(),
            peer,
            bytes: 0,
        };
        let (mut first, mut more) = (Bytes::new(), BytesMut::new());
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(Rejection::Broken)?.into_data() else {
                continue;
            };
            room.hold(first.len() + more.len() + data.len())?;
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

    /// Takes more memory, if there is enough. Does not wait: the requests that hold the rest may be waiting too.
    fn take(&self, peer: Option<Peer>, bytes: usize) -> Result<(), Rejection> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all = taken.values().sum::<usize>() + bytes;
        let own = taken.get(&peer).copied().unwrap_or_default() + bytes;
        if all > MAX_BYTES_IN_FLIGHT || own > SHARE {
            return Err(Rejection::Busy);
        }
        taken.insert(peer, own);
        Ok(())
    }

    fn give_back(&self, peer: Option<Peer>, bytes: usize) {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = taken.get_mut(&peer) {
            *own = own.saturating_sub(bytes);
            if *own == 0 {
                taken.remove(&peer);
            }
        }
    }

    #[cfg(test)]
    fn taken(&self) -> usize {
        self.0.lock().expect("a lock").values().sum()
    }
}

impl Room {
    /// Takes the memory that a body of `length` bytes needs.
    fn hold(&mut self, length: usize) -> Result<(), Rejection> {
        if length > MAX_BODY_BYTES {
            return Err(Rejection::TooLarge);
        }
        let more = length.saturating_sub(FREE) - self.bytes;
        if more > 0 {
            self.memory.take(self.peer, more)?;
            self.bytes += more;
        }
        Ok(())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.memory.give_back(self.peer, self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
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

    fn peer(last: u8) -> Peer {
        Peer([10, 0, 0, last].into())
    }

    #[tokio::test]
    async fn a_body_is_put_together_and_its_room_given_back() {
        let room = BodyMemoryLimit::default();
        for (count, taken) in [(0, 0), (1, 0), (2, 2 * 60_000 - FREE), (5, 5 * 60_000 - FREE)] {
            let held = room
                .read(Some(peer(1)), pieces(count, 60_000))
                .await
                .expect("a body");
            assert_eq!(held.bytes, vec![b'x'; 60_000 * count]);
            assert_eq!(room.taken(), taken);
            drop(held);
            assert_eq!(room.taken(), 0);
        }
    }

    #[tokio::test]
    async fn a_body_is_bounded_whether_it_says_its_size_or_not() {
        let room = BodyMemoryLimit::default();
        let largest = room.read(Some(peer(1)), pieces(1, MAX_BODY_BYTES)).await;
        assert_eq!(largest.expect("a body").bytes.len(), MAX_BODY_BYTES);
        let endless = room.read(Some(peer(1)), pieces(usize::MAX, 1 << 20)).await;
        assert!(matches!(endless, Err(Rejection::TooLarge)), "{endless:?}");
        let announced = room
            .read(Some(peer(1)), Body::from(vec![b'x'; MAX_BODY_BYTES + 1]))
            .await;
        assert!(matches!(announced, Err(Rejection::TooLarge)), "{announced:?}");
        assert_eq!(room.taken(), 0);
    }

    #[tokio::test]
    async fn an_address_has_its_share_and_all_together_are_bounded() {
        let room = BodyMemoryLimit::default();
        let large = |last| room.read(Some(peer(last)), pieces(7, 1 << 20));
        let mut held = Vec::new();
        for last in [1, 1, 2, 2] {
            held.push(large(last).await.expect("a body"));
            assert!(room.taken() <= MAX_BYTES_IN_FLIGHT);
        }
        for last in [1, 2, 3] {
            let rejected = large(last).await;
            assert!(matches!(rejected, Err(Rejection::Busy)), "{rejected:?}");
        }
        held.remove(0);
        assert!(matches!(large(2).await, Err(Rejection::Busy)), "beyond its share");
        assert!(large(3).await.is_ok());
    }

    #[tokio::test]
    async fn a_usual_body_is_read_though_all_room_is_taken() {
        let room = BodyMemoryLimit::default();
        for last in [1, 2] {
            room.take(Some(peer(last)), SHARE).expect("room");
        }
        for last in [1, 3] {
            assert!(room.read(Some(peer(last)), pieces(4, FREE / 4)).await.is_ok());
            let rejected = room.read(Some(peer(last)), pieces(5, FREE / 4)).await;
            assert!(matches!(rejected, Err(Rejection::Busy)), "{rejected:?}");
        }
    }
}
