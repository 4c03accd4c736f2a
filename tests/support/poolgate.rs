//! A real `poolgate serve`, or a `poolgate gate`.

use std::fs;
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};

use super::running::Running;

/// A server, on ports of its own.
pub(crate) struct Poolgate(Running);

impl Deref for Poolgate {
    type Target = Running;

    fn deref(&self) -> &Running {
        &self.0
    }
}

impl DerefMut for Poolgate {
    fn deref_mut(&mut self) -> &mut Running {
        &mut self.0
    }
}

impl Poolgate {
    /// Starts one that looks at no cluster, with a certificate of its own, and waits until it is ready.
    pub(crate) fn serve() -> Self {
        Self::serve_with(&[])
    }

    /// The same with more arguments.
    pub(crate) fn serve_with(arguments: &[&str]) -> Self {
        Self::start(&[&["--no-cluster", "--self-signed"], arguments].concat())
    }

    /// Starts one as the arguments say, and waits until it is ready.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_as("serve", arguments)
    }

    /// Starts a gate as the arguments say, and waits until it is ready.
    pub(crate) fn start_gate(arguments: &[&str]) -> Self {
        Self::start_as("gate", arguments)
    }

    fn start_as(command: &str, arguments: &[&str]) -> Self {
        let directory = Running::directory();
        let ca = directory.path().join("ca.crt");
        let mut all = vec![command, "--listen=127.0.0.1:0"];
        all.extend(arguments);
        if arguments.contains(&"--self-signed") {
            all.extend(["--ca-out", ca.to_str().expect("a path in UTF-8")]);
        }
        let mut running = Running::start(directory, &all);
        running.wait_until_ready();
        Self(running)
    }

    /// The address of the admission port.
    pub(crate) fn admission(&self) -> SocketAddr {
        self.address("admission")
    }

    /// The certificate that a client has to trust, if the server made its own.
    pub(crate) fn ca(&self) -> String {
        fs::read_to_string(self.directory.path().join("ca.crt")).expect("poolgate has written --ca-out")
    }
}
