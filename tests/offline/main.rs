//! Tests without a cluster: the program on the command line, the server on loopback, the corpus and
//! the documentation.
//!
//! One program, because it links once, and because the tests that wait for a server run in parallel with those that
//! compute.

#![cfg(test)]

mod action;
mod budgets;
mod cases;
mod chart;
mod commands;
mod corpus;
mod crd;
mod default;
mod diff;
mod documents;
mod editors;
mod examples;
mod links;
mod lint;
mod lsp;
mod metrics;
mod no_cluster;
mod packaging;
mod pages;
mod pictures;
mod planned;
mod policy;
mod poolgate_lint;
mod questions;
mod reading;
mod recipes;
mod reference;
mod rendered;
mod schemas;
mod serve;
mod structure;
mod terminals;
mod wheel;
mod written;

#[path = "../support"]
mod support {
    pub(crate) mod authority;
    pub(crate) mod files;
    pub(crate) mod full;
    pub(crate) mod mount;
    pub(crate) mod nodepool;
    pub(crate) mod poolgate;
    pub(crate) mod process;
    pub(crate) mod program;
    pub(crate) mod readme;
    pub(crate) mod running;
    pub(crate) mod schemas;
    pub(crate) mod wait;
}
