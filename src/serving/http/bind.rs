//! Where a server listens.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use tokio::net::TcpListener;

/// Where the user wants a server to listen: a port, with or without an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenAddr {
    ip: Option<IpAddr>,
    port: u16,
}

/// All interfaces, of both address families.
pub const EVERYWHERE: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

/// An address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} for {what}: {cause}")]
pub struct BindError {
    what: &'static str,
    address: ListenAddr,
    cause: io::Error,
}

impl ListenAddr {
    /// The address that was given, if a client can connect to it.
    pub fn named_ip(self) -> Option<IpAddr> {
        self.ip.filter(|ip| !ip.is_unspecified())
    }
}

impl FromStr for ListenAddr {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(port) = text.strip_prefix(':').unwrap_or(text).parse() {
            return Ok(Self { ip: None, port });
        }
        let address: SocketAddr = text
            .parse()
            .map_err(|_| "write a port (8443) or an address with a port (127.0.0.1:8443, [::1]:8443)")?;
        Ok(Self {
            ip: Some(address.ip()),
            port: address.port(),
        })
    }
}

impl fmt::Display for ListenAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ip {
            Some(ip) => SocketAddr::new(ip, self.port).fmt(f),
            None => write!(f, "port {}", self.port),
        }
    }
}

/// Opens the socket; `what` names the server in an error, `otherwise` is where it listens if the user gave only a port.
pub async fn bind(
    what: &'static str,
    address: ListenAddr,
    otherwise: IpAddr,
) -> Result<TcpListener, BindError> {
    let at = |ip| TcpListener::bind(SocketAddr::new(ip, address.port));
    let ip = address.ip.unwrap_or(otherwise);
    let bound = match at(ip).await {
        // This takes IPv4 as well; a machine without IPv6 has only the other one.
        Err(error)
            if ip == EVERYWHERE && address.ip.is_none() && error.kind() != io::ErrorKind::AddrInUse =>
        {
            at(Ipv4Addr::UNSPECIFIED.into()).await
        }
        bound => bound,
    };
    bound.map_err(|cause| BindError { what, address, cause })
}

/// The address that a client can connect to, if the socket knows it.
pub fn local_addr(listener: &TcpListener) -> String {
    listener
        .local_addr()
        .map_or_else(|_| "unknown".into(), |address| address.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_in_every_usual_form() {
        for (text, shown) in [
            ("8443", "port 8443"),
            (":8443", "port 8443"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("[::]:8443", "[::]:8443"),
        ] {
            assert_eq!(text.parse::<ListenAddr>().expect(text).to_string(), shown);
        }
        for wrong in [
            "",
            ":",
            "localhost:8443",
            "127.0.0.1",
            "::1:8443x",
            "70000",
            "-1",
            "1.2.3.4:70000",
        ] {
            assert!(wrong.parse::<ListenAddr>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_an_address_that_clients_can_connect_to_is_named() {
        let named = |text: &str| text.parse::<ListenAddr>().expect(text).named_ip();
        assert_eq!(named("8443"), None);
        assert_eq!(named("0.0.0.0:1"), None);
        assert_eq!(named("[::1]:1"), Some(Ipv6Addr::LOCALHOST.into()));
    }
}
