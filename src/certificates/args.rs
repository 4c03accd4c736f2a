//! The flags of `certificates`.

use std::time::Duration;

use anyhow::bail;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::decide::Settings;
use crate::cluster::ClusterArgs;
use crate::runtime::flags;
use crate::runtime::telemetry::LogArgs;
use crate::serving::probes::ProbeArgs;

/// The flags of `certificates`.
#[derive(Debug, Args)]
pub struct CertificatesArgs {
    #[command(flatten)]
    pub probes: ProbeArgs,

    /// Lifetime of a CA. It is replaced after two thirds of its lifetime
    #[arg(long, env = "POOLGATE_CA_LIFE", default_value = "26280h", value_name = "TIME",
        value_parser = flags::interval)]
    ca_life: Duration,

    /// Lifetime of a serving certificate. It is replaced after two thirds of its lifetime
    #[arg(long, env = "POOLGATE_LEAF_LIFE", default_value = "2160h", value_name = "TIME",
        value_parser = flags::interval)]
    leaf_life: Duration,

    /// How long a new CA must be in every caBundle before it signs a certificate. API servers notice a new
    /// caBundle late
    #[arg(long, env = "POOLGATE_TRUST_WAIT", default_value = "1m", value_name = "TIME", value_parser = flags::time)]
    trust_wait: Duration,

    /// How long the old CA stays in every caBundle after a certificate of the new CA is stored. Kubelets update a
    /// mounted Secret late
    #[arg(long, env = "POOLGATE_SERVE_WAIT", default_value = "10m", value_name = "TIME", value_parser = flags::time)]
    serve_wait: Duration,

    /// How often to read Secrets and webhook configurations
    #[arg(long, env = "POOLGATE_LOOK_INTERVAL", default_value = "10s", value_name = "TIME",
        value_parser = flags::interval)]
    pub look_interval: Duration,

    /// Additional DNS name or IP address of the serving certificate (repeatable)
    #[arg(long, env = "POOLGATE_NAME", value_name = "NAME", value_delimiter = ',',
        value_parser = NonEmptyStringValueParser::new())]
    pub name: Vec<String>,

    /// The namespace of the Secrets, and of the Services in the certificate
    /// [default: the pod's namespace, else that of the context, else `default`]
    #[arg(long, short, env = "POOLGATE_NAMESPACE", value_name = "NAME")]
    pub namespace: Option<String>,

    #[command(flatten)]
    pub cluster: ClusterArgs,

    #[command(flatten)]
    pub log: LogArgs,
}

impl CertificatesArgs {
    /// Lifetimes and waits.
    pub fn settings(&self) -> anyhow::Result<Settings> {
        if self.leaf_life > self.ca_life {
            bail!("--leaf-life must not exceed --ca-life");
        }
        Ok(Settings {
            authority_life: self.ca_life,
            leaf_life: self.leaf_life,
            trust_wait: self.trust_wait,
            serve_wait: self.serve_wait,
        })
    }
}
