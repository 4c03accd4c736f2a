//! What poolgate does with files: `lint`, `lsp`, `diff`, `default`, `budgets`, `upgrade`, `why pod`, `rules`, `schema`,
//! `policy` and `crd`.
//! The offline program is these commands alone, for hooks and pipelines; the whole program has them too, and hands over
//! clusters to read.
//!
//! The verdicts are those of `poolgate-core`. There is no network here.

mod budgets;
mod check;
pub mod cli;
pub mod clock;
mod crd;
mod default;
mod diff;
pub mod edit;
mod explain;
mod format;
mod input;
mod lint;
mod listed;
mod lsp;
mod policy;
pub mod policy_file;
pub mod review_args;
mod rules;
mod schema;
pub mod sources;
pub mod terminal;
mod text_rules;
mod upgrade;
pub mod why;
