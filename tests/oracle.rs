//! poolgate compared with Karpenter itself: how Karpenter and the API server treat generated NodePools and the
//! values in them, by a program that links their own packages (see `oracle/README.md`). Run by `tests/run`, which
//! builds that program.

#![cfg(test)]

#[path = "support/assets.rs"]
mod assets;
#[path = "support/definitions.rs"]
mod definitions;

mod oracle {
    mod budgets;
    mod case;
    mod compare;
    mod definitions;
    mod drift;
    mod effort;
    mod eviction;
    mod explained;
    mod judgement;
    mod min_values;
    mod mismatch;
    mod mutate;
    mod nodepools;
    mod plan;
    mod pods;
    mod pools;
    mod program;
    mod readme;
    mod reasons;
    mod regressions;
    mod run;
    mod seeds;
    mod shrink;
    mod sources;
    mod symptoms;
    mod values;
    mod words;
}
