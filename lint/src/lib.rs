//! What poolgate does with files: `lint`, `default`, `budgets`, `rules`, `policy` and `crd`. The program `poolgate-lint`
//! is these commands alone, for hooks and pipelines; `poolgate` has them too, and reads clusters with them.
//!
//! The verdicts are those of `poolgate-core`. There is no network here: what asks a cluster goes through [`cluster`],
//! which `poolgate` implements.

mod budgets;
pub mod cli;
pub mod cluster;
mod completions;
mod crd;
mod default;
mod edit;
mod examples;
pub mod files;
mod lint;
mod listed;
mod nodepools;
mod policy;
pub mod policy_file;
pub mod review_args;
mod rules;
mod text_rules;
