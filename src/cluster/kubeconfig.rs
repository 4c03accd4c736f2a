//! A kubeconfig, read as kubectl reads it: `$KUBECONFIG` with all its files, or the one in the home directory.
//!
//! kube's own reader decodes YAML straight into its forty types, which makes 400 KB of code; here the reader of
//! manifests makes a value first, for which scalars mean what they mean to kubectl.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::{env, fs};

use kube::config::{Kubeconfig, KubeconfigError};
use poolgate_core::manifest::{self, Limits, Lines};
use serde::Deserialize as _;
use serde_json::{Value, json};

/// A kubeconfig that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UnusableKubeconfig {
    /// There is no file to read.
    #[error("there is no kubeconfig: $KUBECONFIG is not set, and there is no home directory")]
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
    #[error("{}:{place}: {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// A line, or a field.
        place: String,
        /// What is wrong.
        what: String,
    },
    /// It can be read, but kube cannot connect with it.
    #[error("{0}")]
    Content(#[from] KubeconfigError),
}

impl UnusableKubeconfig {
    /// Whether there is no kubeconfig, or one without a context, which is how kubectl treats a missing one.
    pub fn is_missing(&self) -> bool {
        match self {
            Self::Nowhere | Self::Content(KubeconfigError::CurrentContextNotSet) => true,
            Self::Unreadable { cause, .. } => cause.kind() == ErrorKind::NotFound,
            _ => false,
        }
    }
}

/// The kubeconfig that kubectl takes if none is given.
pub fn load() -> Result<Kubeconfig, UnusableKubeconfig> {
    if let Some(paths) = env::var_os("KUBECONFIG").filter(|paths| !paths.is_empty()) {
        load_all(&paths)
    } else {
        let home = env::home_dir().filter(|home| !home.as_os_str().is_empty());
        load_from(&home.ok_or(UnusableKubeconfig::Nowhere)?.join(".kube/config"))
    }
}

/// The files of `$KUBECONFIG` merged; the first that sets a value wins. Missing files are left out, as kubectl does, unless
/// all are missing.
fn load_all(paths: &OsStr) -> Result<Kubeconfig, UnusableKubeconfig> {
    let mut merged = None;
    let mut missing = UnusableKubeconfig::Nowhere;
    for path in env::split_paths(paths).filter(|path| !path.as_os_str().is_empty()) {
        match load_from(&path) {
            Ok(next) => merged = Some(merge(merged, next)?),
            Err(error) if error.is_missing() => missing = error,
            Err(error) => return Err(error),
        }
    }
    merged.ok_or(missing)
}

/// One file. The paths in it begin at its directory.
pub fn load_from(path: &Path) -> Result<Kubeconfig, UnusableKubeconfig> {
    let text = fs::read_to_string(path).map_err(|cause| UnusableKubeconfig::Unreadable {
        path: path.into(),
        cause,
    })?;
    let malformed = |place: String, what: String| UnusableKubeconfig::Malformed {
        path: path.into(),
        place,
        what,
    };
    let lines = Lines::new(&text);
    let mut merged = None;
    for document in manifest::parse(&text, &Limits::default()) {
        if let Some(problem) = document.unreadable() {
            let position = lines.position(problem.span.start());
            return Err(malformed(position.to_string(), problem.to_string()));
        }
        let value = document.into_value();
        if value.is_null() {
            continue;
        }
        let mut kubeconfig = Kubeconfig::deserialize(&value).map_err(|error| {
            let place = undecodable(&value).unwrap_or_else(|| "the kubeconfig".into());
            malformed(format!(" {place}"), error.to_string())
        })?;
        if let Some(directory) = path.parent() {
            resolve(&mut kubeconfig, directory);
        }
        merged = Some(merge(merged, kubeconfig)?);
    }
    Ok(merged.unwrap_or_default())
}

fn merge(first: Option<Kubeconfig>, next: Kubeconfig) -> Result<Kubeconfig, KubeconfigError> {
    match first {
        Some(first) => first.merge(next),
        None => Ok(next),
    }
}

/// The first entry of a kubeconfig that has the wrong shape.
fn undecodable(value: &Value) -> Option<String> {
    ["clusters", "contexts", "users"].into_iter().find_map(|field| {
        let entries = value.get(field)?.as_array()?;
        let index = entries
            .iter()
            .position(|entry| Kubeconfig::deserialize(&json!({ field: [entry] })).is_err())?;
        Some(format!("{field}[{index}]"))
    })
}

/// Makes the paths of a kubeconfig absolute. A command without a separator is looked up in `$PATH`.
fn resolve(kubeconfig: &mut Kubeconfig, directory: &Path) {
    let clusters = kubeconfig.clusters.iter_mut();
    let authorities = clusters
        .filter_map(|named| named.cluster.as_mut())
        .filter_map(|cluster| cluster.certificate_authority.as_mut());
    let users = kubeconfig.auth_infos.iter_mut();
    let of_users = users
        .filter_map(|named| named.auth_info.as_mut())
        .flat_map(|user| {
            let command = user.exec.as_mut().and_then(|exec| exec.command.as_mut());
            [
                user.client_certificate.as_mut(),
                user.client_key.as_mut(),
                user.token_file.as_mut(),
                command.filter(|command| command.contains(MAIN_SEPARATOR)),
            ]
        });
    for path in authorities.chain(of_users.flatten()) {
        if let Some(absolute) = directory.join(&*path).to_str() {
            absolute.clone_into(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLUE: &str = "\
apiVersion: v1
kind: Config
current-context: blue
clusters:
- {name: blue, cluster: {server: 'https://blue.example.com', certificate-authority: blue.crt}}
users:
- name: me
  user:
    client-certificate: /etc/me.crt
    client-key: keys/me.key
    tokenFile: token
    exec: {apiVersion: client.authentication.k8s.io/v1, command: bin/login, interactiveMode: Never}
- {name: path, user: {exec: {command: aws}}}
contexts:
- {name: blue, context: {cluster: blue, user: me}}
";

    const GREEN: &str = "\
current-context: green
clusters:
- {name: blue, cluster: {server: 'https://other.example.com'}}
- {name: green, cluster: {server: 'https://green.example.com'}}
---
contexts: [{name: green, context: {cluster: green}}]
";

    fn written(texts: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().expect("a directory");
        for (name, text) in texts {
            fs::write(directory.path().join(name), text).expect("a file");
        }
        directory
    }

    #[test]
    fn paths_begin_at_the_directory_of_the_file_and_commands_in_path_do_not() {
        let directory = written(&[("config", BLUE)]);
        let kubeconfig = load_from(&directory.path().join("config")).expect("a kubeconfig");
        let there = |name: &str| Some(directory.path().join(name).to_str().expect("text").to_owned());
        let cluster = kubeconfig.clusters[0].cluster.as_ref().expect("a cluster");
        assert_eq!(cluster.certificate_authority, there("blue.crt"));
        let users: Vec<_> = kubeconfig
            .auth_infos
            .iter()
            .flat_map(|named| &named.auth_info)
            .collect();
        assert_eq!(users[0].client_certificate.as_deref(), Some("/etc/me.crt"));
        assert_eq!(users[0].client_key, there("keys/me.key"));
        assert_eq!(users[0].token_file, there("token"));
        let command = |index: usize| users[index].exec.as_ref().and_then(|exec| exec.command.clone());
        assert_eq!(command(0), there("bin/login"));
        assert_eq!(command(1).as_deref(), Some("aws"));
    }

    #[test]
    fn of_several_files_the_first_that_sets_a_thing_wins_and_missing_ones_are_left_out() {
        let directory = written(&[("one", BLUE), ("two", GREEN)]);
        let paths = ["none", "one", "two"].map(|name| directory.path().join(name));
        let kubeconfig = load_all(&env::join_paths(&paths).expect("paths")).expect("a kubeconfig");
        assert_eq!(kubeconfig.current_context.as_deref(), Some("blue"));
        let servers: Vec<_> = kubeconfig
            .clusters
            .iter()
            .map(|named| named.cluster.as_ref().and_then(|cluster| cluster.server.clone()))
            .collect();
        assert_eq!(
            servers,
            ["https://blue.example.com", "https://green.example.com"].map(|server| Some(server.to_owned()))
        );
        assert_eq!(kubeconfig.contexts.len(), 2);
        let none = load_all(paths[0].as_os_str()).expect_err("an error");
        assert!(none.is_missing(), "{none}");
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_place() {
        for (text, expected) in [
            ("users: [", "config:1:8: "),
            (
                "clusters: []\nusers:\n- {name: me}\n- {name: 5}\n",
                "config: users[1]: ",
            ),
            ("apiVersion: {}\n", "config: the kubeconfig: "),
        ] {
            let directory = written(&[("config", text)]);
            let error = load_from(&directory.path().join("config")).expect_err("an error");
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
