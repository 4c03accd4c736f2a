//! What holds on a real Kubernetes API server. Run by `tests/run`.

#![cfg(test)]

mod support;

mod cluster {
    mod admission;
    mod gate;
    mod harness;
    mod parity;
    mod policy;
    mod readme;
    mod reconcile;
    mod registration;
    mod watching;
}
