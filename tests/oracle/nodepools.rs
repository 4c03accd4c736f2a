//! Karpenter and poolgate judge the same NodePools.

use super::compare::mismatches;
use super::explained::EXPLAINED;
use super::program::Oracle;
use super::run::{Effort, run};
use super::seeds::corpus;

#[test]
fn poolgate_refuses_what_karpenter_refuses_and_says_whose_rule_it_is() {
    let effort = Effort::wanted(20_000, 1_000_000);
    let outcome = run(effort, &corpus());
    assert!(
        outcome.unjudged * 10 <= outcome.judged,
        "too few cases were judged: {} of {}",
        outcome.judged,
        effort.cases
    );
    assert!(
        outcome.unexplained() == 0,
        "{} differences in {} cases (POOLGATE_ORACLE_SEED={}, one of them: POOLGATE_ORACLE_CASE=number):\n{}",
        outcome.unexplained(),
        outcome.judged,
        effort.seed,
        outcome.report(effort.seed)
    );
}

#[test]
fn every_explained_difference_is_still_there() {
    let mut oracle = Oracle::start();
    for explained in EXPLAINED {
        let case = (explained.example)();
        let found = mismatches(&mut oracle, std::slice::from_ref(&case)).remove(0);
        let found = found.expect("an example can be decoded");
        assert!(
            found.iter().any(|mismatch| (explained.covers)(&case, mismatch)),
            "no longer needed: {}\nfound: {found:?}",
            explained.why
        );
    }
}
