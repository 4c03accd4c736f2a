//! Values that many objects share, kept once.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;

/// With fewer values than this, unused ones are not removed.
const FEW: usize = 1_024;

#[expect(
    clippy::disallowed_types,
    reason = "its order does not matter: what is looked up is known"
)]
type Values<T> = std::collections::HashSet<Arc<T>>;

/// Shared values. Unused ones are dropped occasionally.
#[derive(Debug)]
pub struct Interned<T: ?Sized> {
    values: Values<T>,
    /// The number of values at which unused ones are removed next.
    sweep_at: usize,
}

impl<T: ?Sized> Default for Interned<T> {
    fn default() -> Self {
        Self {
            values: Values::default(),
            sweep_at: FEW,
        }
    }
}

impl<T: Hash + Eq + ?Sized> Interned<T> {
    /// The shared value that is equal to this one.
    pub fn share<V>(&mut self, value: V) -> Arc<T>
    where
        V: Borrow<T> + Into<Arc<T>>,
    {
        if let Some(known) = self.values.get(value.borrow()) {
            return Arc::clone(known);
        }
        if self.values.len() >= self.sweep_at {
            self.values.retain(|value| Arc::strong_count(value) > 1);
            self.sweep_at = FEW.max(self.values.len() * 2);
        }
        let shared: Arc<T> = value.into();
        self.values.insert(Arc::clone(&shared));
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_one_and_unused_ones_are_dropped() {
        let mut interned = Interned::<str>::default();
        let first = interned.share("node-1");
        assert!(Arc::ptr_eq(&first, &interned.share("node-1")));
        for number in 0..10 * FEW {
            interned.share(format!("other-{number}"));
        }
        assert!(interned.values.len() <= FEW + 1, "{}", interned.values.len());
        assert!(Arc::ptr_eq(&first, &interned.share("node-1")));
    }
}
