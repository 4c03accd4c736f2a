//! How a command says why it could not do its work.

use crate::support::program::run;

#[test]
fn an_error_names_its_cause_once() {
    let none = "/nowhere/file";
    let from_here = [
        "--self-signed",
        "--listen=127.0.0.1:0",
        "--probe-listen=127.0.0.1:0",
    ];
    let serve = [&["serve", "--kubeconfig", none][..], &from_here].concat();
    for (arguments, stdin, right) in [
        (
            &serve[..],
            "",
            "error: --kubeconfig /nowhere/file cannot be used: /nowhere/file cannot be read: No such file or directory \
             (os error 2)\n",
        ),
        (
            &["reconcile", "--kubeconfig", none],
            "",
            "error: --kubeconfig /nowhere/file cannot be used: /nowhere/file cannot be read: No such file or directory \
             (os error 2)\n",
        ),
        (
            &["default", none],
            "",
            "error: /nowhere/file cannot be read: No such file or directory (os error 2)\n",
        ),
        (
            &["crd", "patch"],
            "a: [",
            "error: the input cannot be parsed, line 1, column 4: a bracket is not closed before this place\n",
        ),
        (
            &["crd", "patch"],
            &"a".repeat(17 << 20),
            "error: the input is larger than 16777216 bytes\n",
        ),
    ] {
        let outcome = run(arguments, stdin);
        assert_eq!(
            (outcome.status.code(), &*outcome.stderr),
            (Some(2), right),
            "{arguments:?}"
        );
    }
}
