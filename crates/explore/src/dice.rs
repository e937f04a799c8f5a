//! Numbers that look random and are the same for the same seed, on every machine.

/// A small generator (xorshift64* after splitmix64); quality enough to choose events, and a few instructions long.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The same seed throws the same numbers.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Self((mixed ^ (mixed >> 31)) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `end`; 0 if that is 0.
    pub fn below(&mut self, end: u32) -> u32 {
        // The upper half is the better one; the bias is far below anything that matters here.
        ((self.next() >> 32).wrapping_mul(u64::from(end)) >> 32) as u32
    }

    /// True in `times` of `out_of` throws.
    pub fn chance(&mut self, times: u32, out_of: u32) -> bool {
        self.below(out_of) < times
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        let index = self.below(u32::try_from(from.len()).unwrap_or(u32::MAX));
        from.get(index as usize).copied()
    }

    /// The same in another order.
    #[must_use]
    pub fn shuffled<T>(&mut self, mut all: Vec<T>) -> Vec<T> {
        for last in (1..all.len()).rev() {
            let end = u32::try_from(last + 1).unwrap_or(u32::MAX);
            all.swap(last, self.below(end) as usize);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_throws_the_same_and_all_numbers_come() {
        let throws = |seed| {
            let mut dice = Dice::new(seed);
            (0..200).map(|_| dice.below(6)).collect::<Vec<_>>()
        };
        assert_eq!(throws(7), throws(7));
        assert_ne!(throws(7), throws(8));
        assert!((0..6).all(|side| throws(7).contains(&side)));
        assert_eq!(Dice::new(1).below(0), 0);
    }

    #[test]
    fn the_same_seed_gives_the_same_order_and_another_one_another() {
        let order = |seed| Dice::new(seed).shuffled((0..20).collect::<Vec<_>>());
        assert_eq!(order(7), order(7));
        assert_ne!(order(7), order(8));
        let mut sorted = order(7);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<_>>());
    }
}
