//! Clients that ask an API server all the time, while something happens to those that it asks.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::client::Client;
use super::control_plane::ControlPlane;
use super::full::full;
use super::wait::wait_for;

const CLIENTS: u64 = 8;

/// What became of the requests.
#[derive(Default)]
pub(crate) struct Load {
    over: AtomicBool,
    asked: AtomicU64,
    lost: Mutex<Vec<String>>,
}

/// Ends the clients, also where the test fails.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Load {
    /// Lets each client create what `request` says for its number, the path and the object, again and again until `work` is
    /// done.
    pub(crate) fn during(
        plane: &ControlPlane,
        request: impl Fn(u64) -> (&'static str, Value),
        work: impl FnOnce(&Self),
    ) -> Self {
        let load = Self::default();
        thread::scope(|scope| {
            let _over = SetAtEnd(&load.over);
            for client in 0..CLIENTS {
                let (load, (path, object)) = (&load, request(client));
                scope.spawn(move || {
                    let api = Client::of(plane);
                    // Some ask nearly all the time, some now and then: connections are new, in use, and kept.
                    let shortest = if full() { 0 } else { 100 };
                    let pause = Duration::from_millis(shortest + client * client * 10);
                    while !load.over.load(Ordering::Relaxed) {
                        match api.try_create(path, &object) {
                            Ok(_) => drop(load.asked.fetch_add(1, Ordering::Relaxed)),
                            Err(error) => load.lost.lock().expect("a lock").push(error.to_string()),
                        }
                        thread::sleep(pause);
                    }
                });
            }
            work(&load);
        });
        load
    }

    /// How many requests were answered.
    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Why those that were not were not.
    pub(crate) fn lost(&self) -> Vec<String> {
        self.lost.lock().expect("a lock").clone()
    }

    /// Waits until more are answered.
    pub(crate) fn wait_for_more(&self) {
        let before = self.asked();
        wait_for("requests", || (self.asked() > before + CLIENTS).then_some(()));
    }
}
