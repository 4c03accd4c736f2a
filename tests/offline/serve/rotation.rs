//! New certificates for a running server, as a Secret volume brings them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use super::client::good_review;
use super::server::{Server, wait_for};

/// Some polls of the server, which polls every 100 ms here.
const SOON: Duration = Duration::from_secs(5);

/// A mounted Secret: links to files in a directory that is replaced as a whole by moving one link.
struct Secret {
    directory: PathBuf,
    authority: CertifiedIssuer<'static, KeyPair>,
    generation: u32,
}

struct Pair {
    certificate: String,
    key: String,
    leaf: Vec<u8>,
}

impl Secret {
    fn mount(directory: &Path) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let authority = CertifiedIssuer::self_signed(params, key).expect("an authority");
        for name in ["tls.crt", "tls.key"] {
            symlink(Path::new("..data").join(name), directory.join(name)).expect("a link");
        }
        Self {
            directory: directory.to_owned(),
            authority,
            generation: 0,
        }
    }

    fn issue(&self) -> Pair {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["127.0.0.1".into()]).expect("a name");
        let leaf = params.signed_by(&key, &self.authority).expect("a certificate");
        Pair {
            certificate: leaf.pem(),
            key: key.serialize_pem(),
            leaf: leaf.der().to_vec(),
        }
    }

    /// Replaces the contents as a kubelet does.
    fn swap(&mut self, certificate: &str, key: &str) {
        let old = self.directory.join(format!("..{}", self.generation));
        self.generation += 1;
        let name = format!("..{}", self.generation);
        let new = self.directory.join(&name);
        fs::create_dir(&new).expect("a directory");
        fs::write(new.join("tls.crt"), certificate).expect("written");
        fs::write(new.join("tls.key"), key).expect("written");
        symlink(&name, self.directory.join("..data_tmp")).expect("a link");
        fs::rename(self.directory.join("..data_tmp"), self.directory.join("..data")).expect("moved");
        if old.exists() {
            fs::remove_dir_all(old).expect("removed");
        }
    }
}

/// A server with a mounted Secret, and the leaf that it has at first.
fn serve() -> (Server, Secret, Vec<u8>) {
    let directory = tempfile::tempdir().expect("a directory");
    let mut secret = Secret::mount(directory.path());
    let first = secret.issue();
    secret.swap(&first.certificate, &first.key);
    let (certificate, key) = (directory.path().join("tls.crt"), directory.path().join("tls.key"));
    let arguments = [
        "--tls-cert",
        certificate.to_str().expect("a path"),
        "--tls-key",
        key.to_str().expect("a path"),
        "--cert-poll-interval",
        "100ms",
    ];
    let server = Server::start_with(directory, secret.authority.pem(), &arguments);
    (server, secret, first.leaf)
}

#[test]
fn every_rotation_of_a_secret_is_picked_up_and_no_connection_is_lost() {
    let (server, mut secret, first) = serve();
    assert_eq!(server.connect().leaf(), first);
    let mut kept = server.connect();
    for rotation in 1..=3 {
        let pair = secret.issue();
        secret.swap(&pair.certificate, &pair.key);
        wait_for("the new certificate", SOON, || {
            (server.connect().leaf() == pair.leaf).then_some(())
        });
        assert_eq!(server.metric("poolgate_certificate_loads_total"), 1 + rotation);
        assert_eq!(kept.post("/validate", &good_review("kept")).status, 200);
    }
    assert_eq!(server.metric("poolgate_certificate_load_errors_total"), 0);
}

#[test]
fn a_broken_pair_leaves_the_old_one_in_force_until_it_is_mended() {
    let (server, mut secret, first) = serve();
    let failed = |times| {
        wait_for("the failure to show", SOON, || {
            (server.metric("poolgate_certificate_load_errors_total") == times).then_some(())
        });
        assert_eq!(server.metric("poolgate_certificate_load_failing"), 1);
        assert_eq!(server.connect().leaf(), first);
    };
    let (pair, other) = (secret.issue(), secret.issue());
    secret.swap(&pair.certificate, &other.key);
    failed(1);
    let (half, _) = pair.certificate.split_at(pair.certificate.len() / 2);
    secret.swap(half, &pair.key);
    failed(2);
    secret.swap("", "");
    failed(3);
    let message = "the new certificate cannot be used; the one before stays in force";
    assert_eq!(server.logged(message).len(), 3, "{}", server.log());

    secret.swap(&pair.certificate, &pair.key);
    wait_for("the mended pair", SOON, || {
        (server.connect().leaf() == pair.leaf).then_some(())
    });
    assert_eq!(server.metric("poolgate_certificate_load_failing"), 0);
    assert_eq!(server.metric("poolgate_certificate_loads_total"), 2);
}
