//! Panics. Each is a bug in poolgate. It is counted and logged with its location, and ends only the work that caused
//! it.

use std::panic::{self, AssertUnwindSafe, PanicHookInfo};

use prometheus_client::metrics::counter::Counter;

use super::Registry;

/// Counts and logs every panic of this process from now on.
pub fn count_panics(registry: &mut Registry) {
    let panics: Counter = registry.metric(
        "panics",
        "Panics that were caught and logged; each is a bug in poolgate",
    );
    panic::set_hook(Box::new(move |info| {
        panics.inc();
        tracing::error!(
            panic = message(info),
            at = info.location().map(tracing::field::display),
            "panic"
        );
    }));
}

/// Runs `work`; `None` if it panicked.
pub fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    // A request changes only its own data: it leaves nothing half-changed for the next one.
    panic::catch_unwind(AssertUnwindSafe(work)).ok()
}

fn message<'a>(info: &'a PanicHookInfo<'_>) -> &'a str {
    info.payload_as_str().unwrap_or("a value that is not a string")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_and_counted() {
        let mut registry = Registry::default();
        count_panics(&mut registry);
        assert_eq!(caught(|| 1), Some(1));
        assert_eq!(caught(|| panic!("a defect")), None::<()>);
        let text = registry.encode().expect("text");
        // Another test of this process may panic at the same time, and is counted too.
        assert!(
            text.contains("panics_total ") && !text.contains("panics_total 0"),
            "{text}"
        );
        // Restores the default hook for the other tests.
        let _ = panic::take_hook();
    }
}
