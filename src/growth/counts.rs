//! The runtime's sampler and its inverse: from scaled values back to sampled objects.
//!
//! Knows how Go samples allocations and how it scales what it writes; knows nothing
//! of files, sites or tests. Formulas: Go source `runtime/malloc.go` (`nextSample`)
//! and `runtime/pprof/protomem.go` (`scaleHeapSample`).

/// From this many sampling rates on, an object is treated as always sampled: it is
/// missed with probability e⁻³ ≈ 5 %.
const EXACT_RATES: f64 = 3.0;

/// The runtime's sampler: an object of `size` bytes is sampled, once and for life,
/// with probability p = 1 − exp(−size/R), independently of all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampler {
    /// R in bytes, at least 1.
    rate: i64,
}

impl Sampler {
    /// The sampler of a profile with this `period` (`MemProfileRate`, bytes).
    /// `None` when the period is not positive: unknown, or profiling was off.
    pub fn new(period: i64) -> Option<Self> {
        (period > 0).then_some(Self { rate: period })
    }

    /// R: mean bytes between two samples.
    pub fn rate(self) -> i64 {
        self.rate
    }

    /// Whether the runtime samples everything and scales nothing (R ≤ 1).
    fn is_complete(self) -> bool {
        self.rate <= 1
    }

    /// Probability that an object of `size` bytes escapes the sampler: exp(−size/R).
    /// Kept apart from [`probability`](Self::probability), because 1 − p loses all
    /// digits where it matters, for large objects.
    pub(super) fn miss(self, size: u64) -> f64 {
        if self.is_complete() {
            0.0
        } else {
            (-(size as f64) / self.rate as f64).exp()
        }
    }

    /// Probability that an object of `size` bytes is sampled: 1 − exp(−size/R).
    pub fn probability(self, size: u64) -> f64 {
        if self.is_complete() {
            1.0
        } else {
            // exp_m1: for size ≪ R the plain difference keeps only a few digits.
            -(-(size as f64) / self.rate as f64).exp_m1()
        }
    }

    /// Objects that one sampled object of `size` bytes stands for: w = 1/p.
    /// Infinite for size 0 (never sampled) unless everything is.
    pub fn weight(self, size: u64) -> f64 {
        1.0 / self.probability(size)
    }

    /// Sampled objects behind a scaled value of `bytes` in a bucket of `size`:
    /// n = round(bytes·p/size), the exact inverse of the runtime's ⌊n·size·w⌋.
    /// 0 for size 0; negative for a negative value (a saved diff).
    pub fn sampled(self, bytes: i64, size: u64) -> i64 {
        (bytes as f64 * self.per_byte(size)).round() as i64
    }

    /// Sampled objects per scaled byte in a bucket of `size`: p/size; 0 for size 0.
    pub fn per_byte(self, size: u64) -> f64 {
        match size {
            0 => 0.0,
            size => self.probability(size) / size as f64,
        }
    }

    /// Whether objects of `size` bytes are (nearly) always sampled: size ≥ 3R, or R ≤ 1.
    pub fn is_exact(self, size: u64) -> bool {
        self.is_complete() || size as f64 >= EXACT_RATES * self.rate as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULT_RATE: i64 = 512 * 1024;

    fn sampler(rate: i64) -> Sampler {
        Sampler::new(rate).expect("positive rate")
    }

    /// What the runtime writes: `int64(float64(size) * scale)` of `scaleHeapSample`,
    /// in the plain form 1/(1 − exp(−s/R)) that it uses there.
    fn written_by_runtime(rate: i64, n: i64, size: u64) -> i64 {
        let bytes = n * size as i64;
        if rate <= 1 {
            return bytes;
        }
        let average = bytes as f64 / n as f64;
        let scale = 1.0 / (1.0 - (-average / rate as f64).exp());
        (bytes as f64 * scale) as i64
    }

    #[test]
    fn no_sampler_without_a_rate() {
        assert_eq!(Sampler::new(0), None);
        assert_eq!(Sampler::new(-1), None);
        assert_eq!(Sampler::new(1).map(Sampler::rate), Some(1));
    }

    #[test]
    fn sampled_objects_come_back_exactly() {
        let mut sizes = vec![1, 24, 48, 1152, 9472, 100_000, 1_000_003];
        sizes.extend((3..=20).map(|exponent| 1_u64 << exponent));
        for rate in [DEFAULT_RATE, 65_536, 1] {
            let sampler = sampler(rate);
            for &size in &sizes {
                for n in (1..2_000).chain((2_000..100_000).step_by(7)) {
                    let bytes = written_by_runtime(rate, n, size);
                    assert_eq!(sampler.sampled(bytes, size), n, "size {size}, rate {rate}");
                }
            }
        }
    }

    #[test]
    fn sampled_is_tame_on_strange_values() {
        let sampler = sampler(DEFAULT_RATE);
        assert_eq!(sampler.sampled(1 << 20, 0), 0);
        assert_eq!(sampler.sampled(0, 64), 0);
        assert_eq!(
            sampler.sampled(-written_by_runtime(DEFAULT_RATE, 3, 64), 64),
            -3
        );
    }

    /// Hand arithmetic: s = R gives p = 1 − 1/e.
    #[test]
    fn probability_and_weight() {
        let sampler = sampler(DEFAULT_RATE);
        let p = 1.0 - (-1.0_f64).exp();
        assert!((sampler.probability(DEFAULT_RATE as u64) - p).abs() < 1e-15);
        assert!((sampler.weight(DEFAULT_RATE as u64) - 1.0 / p).abs() < 1e-14);
        // A small object stands for about R bytes: s·w = R·(1 + s/2R + …).
        assert!((16.0 * sampler.weight(16) - (DEFAULT_RATE as f64 + 8.0)).abs() < 0.01);
        assert!((sampler.miss(64) + sampler.probability(64) - 1.0).abs() < 1e-15);
        assert_eq!(Sampler::new(1).map(|s| s.weight(8)), Some(1.0));
    }

    #[test]
    fn exact_from_three_rates_on() {
        let sampled = sampler(DEFAULT_RATE);
        assert!(!sampled.is_exact(3 * DEFAULT_RATE as u64 - 1));
        assert!(sampled.is_exact(3 * DEFAULT_RATE as u64));
        assert!(sampler(1).is_exact(8));
    }
}
