//! What holds where real Karpenter provisions, drifts, consolidates and expires. Run by `tests/run`.

#![cfg(test)]

mod support;

mod provisioning {
    mod cheaper;
    mod demonstration;
    mod drain;
    mod drift;
    mod guarded;
    mod hard_limit;
    mod over_limit;
    mod soft_limit;
    mod undisturbed;
}
