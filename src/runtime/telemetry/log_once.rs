//! A lasting state is logged once: when it begins, and when it changes.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use parking_lot::Mutex;

/// How many subjects are remembered. If there are more, all are forgotten, and logged again.
const MOST: usize = 10_000;

/// The last logged state, by subject.
#[derive(Debug)]
pub struct LogOnce<S = ()>(Mutex<BTreeMap<S, String>>);

impl<S> Default for LogOnce<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S: Ord> LogOnce<S> {
    /// Whether the last line about this subject said something else, so that this one is to be written.
    pub fn is_news(&self, subject: S, text: impl Into<String>) -> bool {
        let text = text.into();
        let mut logged = self.0.lock();
        if logged.get(&subject) == Some(&text) {
            return false;
        }
        if logged.len() >= MOST {
            logged.clear();
        }
        logged.insert(subject, text);
        true
    }

    /// The state is over: the next line about this subject is news.
    pub fn is_over<Q: Ord + ?Sized>(&self, subject: &Q)
    where
        S: Borrow<Q>,
    {
        self.0.lock().remove(subject);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_logged_when_it_begins_changes_or_comes_back() {
        let logged = LogOnce::<&str>::default();
        assert!(logged.is_news("a", "no answer"));
        assert!(!logged.is_news("a", "no answer"));
        assert!(logged.is_news("b", "no answer"));
        assert!(logged.is_news("a", "forbidden"));
        logged.is_over("a");
        assert!(logged.is_news("a", "forbidden"));
        assert!(!logged.is_news("b", "no answer"));
    }

    #[test]
    fn memory_for_subjects_is_bounded() {
        let logged = LogOnce::default();
        for subject in 0..=MOST {
            assert!(logged.is_news(subject, ""));
        }
        assert_eq!(logged.0.lock().len(), 1);
    }
}
