//! Worlds and what is said of them as numbers.

use std::hash::{Hash, Hasher};

/// Good enough to tell worlds apart, and much quicker than one that withstands an enemy.
struct Mixed(u64);

impl Default for Mixed {
    /// Not zero: what begins with nothing would be told apart by its end only.
    fn default() -> Self {
        Self(0x2545_f491_4f6c_dd1d)
    }
}

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ (mixed >> 32)
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }
    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    fn write_i64(&mut self, value: i64) {
        self.write_u64(value.cast_unsigned());
    }
    fn write_isize(&mut self, value: isize) {
        self.write_i64(value as i64);
    }
}

/// Everything that a value holds, in one number.
pub fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = Mixed::default();
    value.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn values_that_differ_by_how_they_begin_are_told_apart() {
    assert_ne!(hash_of((0_u8, 1_u8)), hash_of((1_u8,)));
    assert_ne!(hash_of((0_u8, 0_u8, 1_u8)), hash_of((0_u8, 1_u8)));
    assert_ne!(hash_of((None::<u8>, Some(0_u32))), hash_of((Some(0_u8), None::<u32>)));
}
