//! A fast hash for small plain data: most of the model's time is spent recognising worlds.

use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};

/// Folds in each number by a 128-bit product: changing one bit changes all others.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Folding(u64);

/// For tables keyed by plain data.
pub(crate) type Fast = BuildHasherDefault<Folding>;

/// A 64-bit fingerprint of this value.
pub(crate) fn fingerprint(value: &impl Hash) -> u64 {
    Fast::default().hash_one(value)
}

impl Hasher for Folding {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number.cast_unsigned() as u64);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, number: u64) {
        let left = u128::from(
            self.0.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ number.wrapping_mul(0xff51_afd7_ed55_8ccd),
        );
        let product = left.wrapping_mul(0xd1b5_4a32_d192_ed03_c4ce_b9fe_1a85_ec53);
        let [low, high] = [product & u128::from(u64::MAX), product >> 64];
        self.0 = u64::try_from(low ^ high).unwrap_or_default();
    }
}
