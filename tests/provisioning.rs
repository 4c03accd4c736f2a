//! What holds where real Karpenter provisions, drifts, consolidates and expires. Run by `tests/run`.

#![cfg(test)]

mod support;

mod provisioning {
    mod upstream;
}
