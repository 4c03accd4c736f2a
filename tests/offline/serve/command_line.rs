//! Messages for users who start the server with wrong arguments, printed at once.

use std::net::TcpListener;

use crate::support::process;
use crate::support::program::poolgate;

/// Runs `poolgate serve` to its end: the exit code and its output.
fn serve(arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = poolgate(&["serve"]);
    command.args(arguments).envs(variables.iter().copied());
    let outcome = process::run(&mut command, "");
    assert_eq!(outcome.stdout, "");
    (outcome.status.code(), outcome.stderr)
}

#[test]
fn a_server_needs_exactly_one_source_of_a_certificate() {
    for (arguments, wanted) in [
        (&[][..], "a certificate is required"),
        (&["--tls-cert", "a.crt"], "--tls-cert requires --tls-key FILE"),
        (&["--tls-key", "a.key"], "--tls-key requires --tls-cert FILE"),
        (
            &["--self-signed", "--tls-cert", "a.crt", "--tls-key", "a.key"],
            "cannot be combined",
        ),
    ] {
        let (code, said) = serve(arguments, &[]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.starts_with("error: ") && said.contains(wanted), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn files_that_are_missing_are_named() {
    let (code, said) = serve(
        &["--tls-cert", "/missing/a.crt", "--tls-key", "/missing/a.key"],
        &[],
    );
    assert_eq!(code, Some(2));
    assert!(said.contains("/missing/a.crt"), "{said}");
    assert_eq!(said.matches("No such file").count(), 1, "{said}");
}

#[test]
fn a_port_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let (code, said) = serve(
        &[
            "--self-signed",
            "--listen",
            &address,
            "--probe-listen",
            "127.0.0.1:0",
        ],
        &[],
    );
    assert_eq!(code, Some(2));
    assert!(
        said.contains(&format!("cannot listen on {address} for admission reviews")),
        "{said}"
    );
}

#[test]
fn flags_are_read_from_variables_too() {
    let (code, said) = serve(
        &[],
        &[("POOLGATE_SELF_SIGNED", "true"), ("POOLGATE_TLS_KEY", "a.key")],
    );
    assert_eq!(code, Some(2));
    assert!(said.contains("cannot be combined"), "{said}");
    let (code, said) = serve(&["--self-signed"], &[("POOLGATE_LISTEN", "nowhere")]);
    assert_eq!(code, Some(2));
    assert!(said.contains("write a port"), "{said}");
}

#[test]
fn a_required_policy_with_mistakes_ends_the_start_and_tells_them_all() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("policy.yaml");
    let start = |required: &[(&str, &str)]| {
        serve(
            &["--self-signed", "--policy", path.to_str().expect("a path")],
            required,
        )
    };
    let (code, said) = start(&[]);
    assert_eq!(code, Some(2));
    assert!(said.starts_with("error: policy file /"), "{said}");
    std::fs::write(&path, "kind: Policy\nenforcement: warm\n").expect("written");
    let (code, said) = start(&[("POOLGATE_POLICY_REQUIRED", "true")]);
    assert_eq!(code, Some(2));
    let path = path.display();
    assert_eq!(
        said.lines().collect::<Vec<_>>(),
        [
            "error: 2 mistakes in the policy".to_owned(),
            format!("{path}:1:1: apiVersion is missing. Add apiVersion: poolgate.dev/v1alpha1"),
            format!("{path}:2:14: \"warm\" is not allowed here. Did you mean warn?"),
        ]
    );
}

#[test]
fn a_client_ca_that_cannot_be_used_is_named_and_names_need_one() {
    let (code, said) = serve(&["--self-signed", "--client-ca", "/missing/ca.crt"], &[]);
    assert_eq!(code, Some(2));
    assert!(
        said.starts_with("error: the client CA /missing/ca.crt: cannot be read: No such file"),
        "{said}"
    );
    let (code, said) = serve(&["--self-signed", "--client-name", "kube-apiserver"], &[]);
    assert_eq!(code, Some(2));
    assert!(said.contains("--client-ca <FILE>"), "{said}");
}
