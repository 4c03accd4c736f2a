//! The flags that `serve` and `gate` share.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{BoolishValueParser, NonEmptyStringValueParser};
use poolgate_core::facts::{KarpenterVersion, TargetKarpenter};

use crate::cluster::ClusterArgs;
use crate::runtime::flags;
use crate::runtime::telemetry::LogArgs;
use crate::serving::http::{EVERYWHERE, ListenAddr};
use crate::serving::probes::ProbeArgs;

/// How long a server in a cluster keeps serving after SIGTERM, until the rest of the cluster knows that it stops.
const CLUSTER_SHUTDOWN_DELAY: Duration = Duration::from_secs(10);

/// The flags of a webhook server.
#[derive(Debug, Args)]
pub struct WebhookArgs {
    /// Where to listen for admission reviews: a port, or an address with a port.
    /// With --self-signed, a port alone means 127.0.0.1
    #[arg(long, env = "POOLGATE_LISTEN", default_value = "8443", value_name = "ADDR")]
    pub listen: ListenAddr,

    #[command(flatten)]
    pub probes: ProbeArgs,

    /// The serving certificate with its chain (PEM), reloaded when it changes
    #[arg(long, env = "POOLGATE_TLS_CERT", value_name = "FILE")]
    tls_cert: Option<PathBuf>,

    /// The key of the serving certificate, PEM (PKCS#8, SEC1 or PKCS#1)
    #[arg(long, env = "POOLGATE_TLS_KEY", value_name = "FILE")]
    tls_key: Option<PathBuf>,

    /// Create a certificate for this machine instead, to try poolgate
    #[arg(long, env = "POOLGATE_SELF_SIGNED", value_parser = BoolishValueParser::new())]
    self_signed: bool,

    /// With --self-signed: where to write the CA certificate that clients must trust
    #[arg(long, env = "POOLGATE_CA_OUT", value_name = "FILE")]
    ca_out: Option<PathBuf>,

    /// CAs (PEM) that may sign client certificates, reloaded when they change. Probes and metrics are exempt
    #[arg(long, env = "POOLGATE_CLIENT_CA", value_name = "FILE")]
    pub client_ca: Option<PathBuf>,

    /// With --client-ca: an accepted common name or DNS name of a client certificate (repeatable) [default: any name]
    #[arg(long, env = "POOLGATE_CLIENT_NAME", value_name = "NAME", value_delimiter = ',',
        value_parser = NonEmptyStringValueParser::new(), requires = "client_ca")]
    pub client_name: Vec<String>,

    /// How often to check the certificate files for changes
    #[arg(long, env = "POOLGATE_CERT_POLL_INTERVAL", default_value = "10s", value_name = "TIME",
        value_parser = flags::interval)]
    pub cert_poll_interval: Duration,

    /// The Karpenter release of the cluster, such as 1.14.1
    /// [default: the release of the cluster's NodePool definition, or the newest known without a cluster]
    #[arg(long, env = "POOLGATE_KARPENTER_VERSION", value_name = "VERSION")]
    karpenter_version: Option<KarpenterVersion>,

    /// How long to keep serving after SIGTERM, while requests may still arrive
    /// [default: 10s, with --self-signed 0s]
    #[arg(long, env = "POOLGATE_SHUTDOWN_DELAY", value_name = "TIME", value_parser = flags::time)]
    shutdown_delay: Option<Duration>,

    #[command(flatten)]
    pub cluster: ClusterArgs,

    #[command(flatten)]
    pub log: LogArgs,
}

/// Where the certificate comes from.
#[derive(Debug, PartialEq, Eq)]
pub enum CertificateChoice {
    /// From two files.
    Files {
        /// The chain.
        certificate: PathBuf,
        /// The key of its leaf.
        key: PathBuf,
    },
    /// From this process.
    SelfSigned {
        /// Where to write the certificate that a client must trust.
        ca_out: Option<PathBuf>,
    },
}

/// Flags that contradict each other. Each message says what to type.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateChoiceError {
    /// Neither was given.
    #[error(
        "a certificate is required: set --tls-cert FILE and --tls-key FILE, or try poolgate with --self-signed"
    )]
    None,
    /// Both were given.
    #[error("--self-signed cannot be combined with --tls-cert or --tls-key")]
    Both,
    /// A certificate without a key.
    #[error("--tls-cert requires --tls-key FILE")]
    NoKey,
    /// A key without a certificate.
    #[error("--tls-key requires --tls-cert FILE")]
    NoCertificate,
    /// There is no CA to write.
    #[error("--ca-out requires --self-signed")]
    NoAuthority,
}

impl WebhookArgs {
    /// Where the certificate comes from: exactly one of two ways.
    pub fn certificate(&self) -> Result<CertificateChoice, CertificateChoiceError> {
        match (self.self_signed, &self.tls_cert, &self.tls_key) {
            (true, None, None) => Ok(CertificateChoice::SelfSigned {
                ca_out: self.ca_out.clone(),
            }),
            (true, _, _) => Err(CertificateChoiceError::Both),
            (false, None, None) => Err(CertificateChoiceError::None),
            (false, Some(_), None) => Err(CertificateChoiceError::NoKey),
            (false, None, Some(_)) => Err(CertificateChoiceError::NoCertificate),
            (false, Some(_), Some(_)) if self.ca_out.is_some() => Err(CertificateChoiceError::NoAuthority),
            (false, Some(certificate), Some(key)) => Ok(CertificateChoice::Files {
                certificate: certificate.clone(),
                key: key.clone(),
            }),
        }
    }

    /// Whether the certificate is one that an API server can trust.
    pub fn can_be_registered(&self) -> bool {
        !self.self_signed
    }

    /// The interface for a port without an address. A self-signed certificate is of use only on this machine.
    pub fn interface(&self) -> IpAddr {
        if self.self_signed {
            Ipv4Addr::LOCALHOST.into()
        } else {
            EVERYWHERE
        }
    }

    /// How long to keep serving after the first signal. On a laptop nothing else has to notice the signal.
    pub fn shutdown_delay(&self) -> Duration {
        let otherwise = if self.self_signed {
            Duration::ZERO
        } else {
            CLUSTER_SHUTDOWN_DELAY
        };
        self.shutdown_delay.unwrap_or(otherwise)
    }

    /// The Karpenter that NodePools are checked for while nothing is known of the cluster.
    pub fn karpenter(&self) -> TargetKarpenter {
        self.karpenter_version
            .map_or_else(TargetKarpenter::default, TargetKarpenter::from)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: WebhookArgs,
    }

    fn parse(line: &str) -> WebhookArgs {
        let words = std::iter::once("poolgate").chain(line.split_whitespace());
        Line::try_parse_from(words).expect(line).args
    }

    #[test]
    fn exactly_one_source_of_a_certificate_is_taken() {
        use CertificateChoiceError as Error;
        let choice = |line: &str| parse(line).certificate();
        let files = CertificateChoice::Files {
            certificate: "a".into(),
            key: "b".into(),
        };
        assert_eq!(choice("--tls-cert a --tls-key b"), Ok(files));
        assert_eq!(
            choice("--self-signed"),
            Ok(CertificateChoice::SelfSigned { ca_out: None })
        );
        assert_eq!(choice(""), Err(Error::None));
        assert_eq!(choice("--ca-out c"), Err(Error::None));
        assert_eq!(choice("--tls-cert a"), Err(Error::NoKey));
        assert_eq!(choice("--tls-key b"), Err(Error::NoCertificate));
        assert_eq!(choice("--self-signed --tls-key b"), Err(Error::Both));
        assert_eq!(
            choice("--tls-cert a --tls-key b --ca-out c"),
            Err(Error::NoAuthority)
        );
    }

    #[test]
    fn a_laptop_is_left_at_once_and_a_cluster_slowly() {
        assert_eq!(parse("--self-signed").shutdown_delay(), Duration::ZERO);
        assert_eq!(
            parse("--self-signed --shutdown-delay 3s").shutdown_delay(),
            Duration::from_secs(3)
        );
        assert_eq!(
            parse("--tls-cert a --tls-key b").shutdown_delay(),
            CLUSTER_SHUTDOWN_DELAY
        );
        assert_eq!(parse("--tls-cert a --tls-key b").interface(), EVERYWHERE);
        assert_eq!(parse("--self-signed").interface(), Ipv4Addr::LOCALHOST);
    }

    #[test]
    fn wrong_values_are_rejected() {
        for line in [
            "--listen here",
            "--shutdown-delay 3",
            "--cert-poll-interval 0s",
            "--log-format xml",
        ] {
            let words = std::iter::once("poolgate").chain(line.split_whitespace());
            assert!(Line::try_parse_from(words).is_err(), "{line}");
        }
    }
}
