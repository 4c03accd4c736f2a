//! Tests with real Karpenter, which provisions, drifts, consolidates and expires (`karpenter`), and with only a
//! Kubernetes API server (`kubernetes`). Run by `tests/run`.
//!
//! One program, because these tests wait more than they compute: in parallel they wait at the same time. Tests
//! begin in the order of their names, so those that wait longest are first. All names begin with `live::`, by which
//! `tests/run` distinguishes them from those of other programs.

#![cfg(test)]

mod support;

mod live {
    mod alerts;
    mod gitops;
    mod image;
    mod kustomize;
    mod monitors;
    mod packages;
    mod release;

    mod karpenter {
        mod beside;
        mod budgets;
        mod consolidation;
        mod crowded;
        mod demonstration;
        mod drain;
        mod drift;
        mod expiry;
        mod freeze;
        mod full_pool;
        mod guarded;
        mod hard_limit;
        mod legacy_repair;
        mod neighbours;
        mod over_limit;
        mod overrun;
        mod pods;
        mod predicted;
        mod repair;
        mod replace;
        mod rollout;
        mod schedule;
        mod shared;
        mod soft_limit;
        mod surge;
        mod turnover;
        mod why;
    }

    mod kubernetes {
        mod admission;
        mod authority;
        mod certificates;
        mod client_certificates;
        mod definitions;
        mod deletion;
        mod drift;
        mod gate;
        mod harness;
        mod installed;
        mod leaving;
        mod ledgers;
        mod numbers;
        mod other_kinds;
        mod pages;
        mod parity;
        mod policy;
        mod readme;
        mod reconcile;
        mod registration;
        mod restarts;
        mod restore;
        mod runbook;
        mod shared;
        mod status;
        mod stored;
        mod watching;
    }
}
