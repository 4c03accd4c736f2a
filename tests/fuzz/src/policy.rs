//! The text of a policy file.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::{Corpus, fuzz_target};
use poolgate_core::manifest::{Document, Limits, parse as documents};
use poolgate_core::policy_file::{Mistakes, parse};
use poolgate_fuzz::{corpus, patched, reviewed};
use serde_json::Value;

/// Every how manieth pool of the corpora is reviewed.
const EACH: usize = 40;

fuzz_target!(init: corpus::write(corpus::policies), |data: &[u8]| -> Corpus {
    let Ok(text) = str::from_utf8(data) else {
        return Corpus::Reject;
    };
    let read = match parse(text) {
        Ok(read) => read,
        Err(mistakes) => {
            are_placed(text, &mistakes);
            return Corpus::Keep;
        }
    };
    // The same as JSON is the same policy.
    let value = documents(text, &Limits::default()).map(Document::into_value).find(|value| !value.is_null());
    let json = value.unwrap_or_default().to_string();
    let again = parse(&json).unwrap_or_else(|mistakes| panic!("{mistakes:?}\n{json}"));
    assert_eq!(again.policy, read.policy, "{json}");
    assert_eq!(again.defaults_set, read.defaults_set, "{json}");

    static POOLS: OnceLock<Vec<Value>> = OnceLock::new();
    let pools = POOLS.get_or_init(|| corpus::objects(&[]).into_iter().step_by(EACH).map(|(new, _)| new).collect());
    let karpenter = read.policy.cluster.target().unwrap_or_default();
    let basis = (&read.policy, &karpenter);
    for pool in pools {
        let review = reviewed(pool, None, None, basis);
        let once = patched(pool, &review.defaults);
        assert_eq!(reviewed(&once, None, None, basis).defaults, [], "{once}");
        let same = reviewed(pool, Some(pool), None, basis);
        assert!(!same.report.denies(), "{:?}", same.report);
    }
    Corpus::Keep
});

/// Each mistake is one line about a place of the text.
fn are_placed(text: &str, mistakes: &Mistakes) {
    assert!(!mistakes.shown.is_empty());
    let lines = text.split('\n').count();
    for mistake in &mistakes.shown {
        assert!(mistake.position.line <= lines, "{mistake}");
        assert!(
            !mistake.message.chars().any(char::is_control),
            "{:?}",
            mistake.message
        );
    }
}
