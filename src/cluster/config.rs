//! Which cluster there is, found as kubectl finds it.

use std::path::PathBuf;
use std::time::Duration;
use std::{env, io};

use clap::Args;
use kube::Config;
use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use poolgate_files::sources::cluster::ClusterFlags;

/// How long connecting may take, TLS included.
const CONNECT: Duration = Duration::from_secs(10);

/// How long a request may take to be written.
const WRITE: Duration = Duration::from_secs(10);

/// A variable that kubelet sets in every pod.
const IN_CLUSTER: &str = "KUBERNETES_SERVICE_HOST";

/// The flags about the cluster.
#[derive(Debug, Args)]
pub struct ClusterArgs {
    /// The kubeconfig of the cluster
    /// [default: as kubectl: $KUBECONFIG, ~/.kube/config, then the pod's service account]
    #[arg(long, env = "POOLGATE_KUBECONFIG", value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig [default: its current one]
    #[arg(long, env = "POOLGATE_CONTEXT", value_name = "NAME")]
    context: Option<String>,
}

/// Where the ledgers are.
#[derive(Debug, Args)]
pub struct LedgerArgs {
    /// The namespace of the ledgers and of the reconcilers' Lease
    #[arg(
        long,
        env = "POOLGATE_LEDGER_NAMESPACE",
        value_name = "NAME",
        default_value = "poolgate-ledgers"
    )]
    pub ledger_namespace: String,
}

/// A kubeconfig or context that the user gives, and that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{what} cannot be used: {cause}")]
pub struct UnusableRoute {
    /// The flags, with their values.
    what: String,
    /// What is wrong.
    pub cause: UnusableKubeconfig,
}

/// A kubeconfig that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UnusableKubeconfig {
    /// No file of those that kubectl would read exists.
    #[error("no kubeconfig exists at $KUBECONFIG or ~/.kube/config")]
    Nowhere,
    /// A file cannot be read.
    #[error("{} cannot be read: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// A file is not YAML, or not a kubeconfig.
    #[error("{}: {cause}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: KubeconfigError,
    },
    /// kube cannot connect with what they say.
    #[error("{0}")]
    Content(#[from] KubeconfigError),
}

impl UnusableKubeconfig {
    /// Whether there is no kubeconfig, or one without a context, which is how kubectl treats a missing one.
    pub const fn is_missing(&self) -> bool {
        matches!(
            self,
            Self::Nowhere | Self::Content(KubeconfigError::CurrentContextNotSet)
        )
    }
}

/// The result of the search.
#[derive(Debug)]
pub enum Found {
    /// A cluster.
    Cluster(Box<Config>),
    /// There is no kubeconfig, and this process does not run in a pod.
    Nowhere,
    /// One that the user did not give, and that cannot be used.
    Unusable(UnusableConfig),
}

/// Why a configured cluster cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UnusableConfig {
    /// The kubeconfig is broken.
    #[error("kubeconfig: {0}")]
    Kubeconfig(#[from] UnusableKubeconfig),
    /// The pod has no account.
    #[error("the pod's service account: {0}")]
    InCluster(#[from] InClusterError),
}

/// Looks for the cluster. Only a file that the user named must exist, so an old file left on a laptop does not stop a
/// server.
pub async fn find(args: &ClusterArgs) -> Result<Found, UnusableRoute> {
    find_at(ClusterFlags {
        kubeconfig: args.kubeconfig.as_deref(),
        context: args.context.as_deref(),
    })
    .await
}

/// Looks for the cluster by these flags.
pub async fn find_at(route: ClusterFlags<'_>) -> Result<Found, UnusableRoute> {
    match (config_of(route).await, route.named()) {
        (Ok(config), _) => Ok(with_deadlines(config)),
        (Err(cause), Some(what)) => Err(UnusableRoute { what, cause }),
        (Err(cause), None) if cause.is_missing() => Ok(in_cluster()),
        (Err(cause), None) => Ok(Found::Unusable(cause.into())),
    }
}

/// The kubeconfig, as kubectl finds it: the file that is given, or those of `$KUBECONFIG` or the home directory that exist.
pub fn kubeconfig_of(route: ClusterFlags<'_>) -> Result<Kubeconfig, UnusableKubeconfig> {
    let paths = match route.kubeconfig {
        Some(path) => vec![path.to_owned()],
        None => usual_files(),
    };
    let read = |path: &PathBuf| {
        Kubeconfig::read_from(path).map_err(|cause| match cause {
            KubeconfigError::ReadConfig(cause, path) => UnusableKubeconfig::Unreadable { path, cause },
            KubeconfigError::Parse(_) => UnusableKubeconfig::Malformed {
                path: path.clone(),
                cause,
            },
            cause => cause.into(),
        })
    };
    let (first, more) = paths.split_first().ok_or(UnusableKubeconfig::Nowhere)?;
    more.iter()
        .try_fold(read(first)?, |merged, path| Ok(merged.merge(read(path)?)?))
}

/// The files that kubectl reads by default. kube's own list also has missing ones.
fn usual_files() -> Vec<PathBuf> {
    let named = env::var_os("KUBECONFIG").filter(|paths| !paths.is_empty());
    let paths = match named {
        Some(paths) => env::split_paths(&paths).collect(),
        None => env::home_dir().map_or_else(Vec::new, |home| vec![home.join(".kube/config")]),
    };
    paths.into_iter().filter(|path| path.exists()).collect()
}

async fn config_of(route: ClusterFlags<'_>) -> Result<Config, UnusableKubeconfig> {
    let kubeconfig = kubeconfig_of(route)?;
    let options = KubeConfigOptions {
        context: route.context.map(Into::into),
        ..KubeConfigOptions::default()
    };
    let authority = authority_file(&kubeconfig, route.context);
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    // As kube does for the pod's account: the file is read again, so that a new CA needs no restart.
    config.root_cert_file = authority;
    Ok(config)
}

/// The CA file that verifies a context's API server, unless the kubeconfig contains the CA.
fn authority_file(kubeconfig: &Kubeconfig, context: Option<&str>) -> Option<PathBuf> {
    let name = context.or(kubeconfig.current_context.as_deref())?;
    let mut contexts = kubeconfig.contexts.iter();
    let context = contexts.find(|context| context.name == name)?.context.as_ref()?;
    let mut clusters = kubeconfig.clusters.iter();
    let cluster = clusters.find(|cluster| cluster.name == context.cluster)?;
    let cluster = cluster.cluster.as_ref()?;
    match &cluster.certificate_authority_data {
        Some(_) => None,
        None => cluster.certificate_authority.as_ref().map(PathBuf::from),
    }
}

fn in_cluster() -> Found {
    if std::env::var_os(IN_CLUSTER).is_none() {
        return Found::Nowhere;
    }
    match Config::incluster() {
        Ok(config) => with_deadlines(config),
        Err(error) => Found::Unusable(error.into()),
    }
}

/// A cluster, with deadlines for connections and writes. Reads have theirs elsewhere, because a watch is read for a long
/// time.
fn with_deadlines(mut config: Config) -> Found {
    config.connect_timeout = Some(CONNECT);
    config.write_timeout = Some(WRITE);
    // Watches retry with their own back-off.
    config.default_retry = false;
    Found::Cluster(Box::new(config))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn args(kubeconfig: Option<&std::path::Path>, context: Option<&str>) -> ClusterArgs {
        ClusterArgs {
            kubeconfig: kubeconfig.map(Into::into),
            context: context.map(Into::into),
        }
    }

    const TWO_CONTEXTS: &str = "\
apiVersion: v1
kind: Config
current-context: blue
clusters:
- {name: blue, cluster: {server: 'https://blue.example.com'}}
- {name: green, cluster: {server: 'https://green.example.com'}}
users:
- {name: me, user: {token: t}}
contexts:
- {name: blue, context: {cluster: blue, user: me}}
- {name: green, context: {cluster: green, user: me}}
";

    #[tokio::test]
    async fn the_named_file_and_context_are_taken_with_deadlines() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("config");
        fs::write(&path, TWO_CONTEXTS).expect("a file");
        for (context, host) in [(None, "blue.example.com"), (Some("green"), "green.example.com")] {
            let Ok(Found::Cluster(config)) = find(&args(Some(&path), context)).await else {
                panic!("a cluster");
            };
            assert_eq!(config.cluster_url.host(), Some(host));
            assert_eq!(config.connect_timeout, Some(CONNECT));
        }
    }

    #[tokio::test]
    async fn the_authoritys_file_is_that_of_the_context_and_data_comes_before_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let authority = rcgen::generate_simple_self_signed(Vec::new()).expect("a certificate");
        let pem = authority.cert.pem();
        fs::write(directory.path().join("green.crt"), &pem).expect("a file");
        let data = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &pem);
        let green = "server: 'https://green.example.com'";
        let path = directory.path().join("config");
        let file = directory.path().join("green.crt");
        for (more, expected) in [
            ("certificate-authority: green.crt".to_owned(), Some(&file)),
            (
                format!("certificate-authority: green.crt, certificate-authority-data: {data}"),
                None,
            ),
        ] {
            fs::write(&path, TWO_CONTEXTS.replace(green, &format!("{green}, {more}"))).expect("a file");
            for (context, expected) in [(Some("green"), expected), (None, None)] {
                let Ok(Found::Cluster(config)) = find(&args(Some(&path), context)).await else {
                    panic!("a cluster");
                };
                assert_eq!(config.root_cert_file.as_ref(), expected, "{more}");
            }
        }
    }

    #[tokio::test]
    async fn what_is_named_and_not_there_is_reported_with_its_name() {
        let missing = std::path::Path::new("/no/such/file");
        let error = find(&args(Some(missing), None))
            .await
            .expect_err("an error")
            .to_string();
        assert!(
            error.starts_with("--kubeconfig /no/such/file cannot be used: "),
            "{error}"
        );
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("config");
        fs::write(&path, TWO_CONTEXTS).expect("a file");
        let error = find(&args(Some(&path), Some("red")))
            .await
            .expect_err("an error")
            .to_string();
        assert!(error.contains("--context red cannot be used: "), "{error}");
    }

    #[test]
    fn a_file_that_is_no_kubeconfig_is_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("config");
        for text in ["users: [", "users:\n- {name: me, user: 5}\n", "apiVersion: {}\n"] {
            fs::write(&path, text).expect("a file");
            let route = ClusterFlags {
                kubeconfig: Some(&path),
                context: None,
            };
            let error = kubeconfig_of(route).expect_err("an error").to_string();
            assert!(error.starts_with(path.to_str().expect("text")), "{error}");
        }
    }
}
