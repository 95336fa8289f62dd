//! What a profile can show at all: the detection limit, and the error of one snapshot.
//!
//! Knows the sampler and counts; nothing of sites.

use super::Sampler;
use super::interval::garwood95;

/// Sampled objects that pure growth (nothing freed) needs before its sign test can be
/// significant at `alpha` among so many hypotheses (Bonferroni, the worst case of
/// Benjamini–Hochberg): the smallest m with 2⁻ᵐ ≤ alpha/hypotheses.
///
/// 5 for one hypothesis at 0.05, 17 for 5,000. `u64::MAX` if `alpha` is not positive.
pub fn objects_needed(alpha: f64, hypotheses: usize) -> u64 {
    if alpha.is_nan() || alpha <= 0.0 {
        return u64::MAX;
    }
    // The slack keeps exact powers of two from being rounded up past themselves.
    ((hypotheses.max(1) as f64 / alpha).log2() - 1e-12)
        .ceil()
        .max(0.0) as u64
}

/// Bytes of pure growth of small objects that yield so many sampled objects on average:
/// objects·R. Growth of just this size is found every other time. 0 when R ≤ 1:
/// then everything is seen.
pub fn limit_bytes(sampler: Sampler, objects: u64) -> f64 {
    if sampler.rate() <= 1 {
        0.0
    } else {
        objects as f64 * sampler.rate() as f64
    }
}

/// Standard error in bytes of one snapshot's `inuse_bytes` (scaled) in a bucket of
/// `size`: √(B·s·(w − 1)). Sum the squares over buckets. Always ≤ √(R·B).
pub fn standard_error(sampler: Sampler, size: u64, inuse_bytes: i64) -> f64 {
    if size == 0 {
        return 0.0;
    }
    // w − 1 = (1 − p)/p, without the cancellation for large objects.
    let excess = sampler.miss(size) / sampler.probability(size);
    (inuse_bytes.max(0) as f64 * size as f64 * excess).sqrt()
}

/// 95 % limits in bytes of what a bucket of `size` truly holds when `sampled` of its
/// objects are in the snapshot: Garwood's limits of the count, their distance from it
/// scaled by s·√(w(w − 1)) per object (Dobson et al. 1991), so that they close in on
/// the value for objects that are always sampled. With none sampled: 0 to 3.69·R.
pub fn live_interval95(sampler: Sampler, size: u64, sampled: u64) -> (f64, f64) {
    let (low, high) = garwood95(sampled);
    if sampled == 0 {
        let unseen = if sampler.rate() <= 1 {
            0.0
        } else {
            high * sampler.rate() as f64
        };
        return (0.0, unseen);
    }
    if size == 0 {
        return (0.0, 0.0);
    }
    let n = sampled as f64;
    let per_object = size as f64 * sampler.weight(size);
    let noise = per_object * sampler.miss(size).sqrt();
    (
        n * per_object - (n - low) * noise,
        n * per_object + (high - n) * noise,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEBIBYTE: f64 = 1_048_576.0;

    fn default_sampler() -> Sampler {
        Sampler::new(512 * 1024).expect("positive rate")
    }

    /// Statistics.md §3: 5 objects are 2.5 MiB, 17 objects 8.5 MiB at the default R.
    #[test]
    fn detection_limit_of_the_paper() {
        assert_eq!(objects_needed(0.05, 1), 5);
        assert_eq!(objects_needed(0.05, 5_000), 17);
        assert_eq!(limit_bytes(default_sampler(), 5), 2.5 * MEBIBYTE);
        assert_eq!(limit_bytes(default_sampler(), 17), 8.5 * MEBIBYTE);
        assert_eq!(Sampler::new(1).map(|s| limit_bytes(s, 5)), Some(0.0));
    }

    #[test]
    fn objects_needed_at_the_edges() {
        assert_eq!(objects_needed(1.0 / 32.0, 1), 5);
        assert_eq!(objects_needed(1.0, 1), 0);
        assert_eq!(objects_needed(0.05, 0), 5);
        assert_eq!(objects_needed(0.0, 1), u64::MAX);
        assert_eq!(objects_needed(f64::NAN, 1), u64::MAX);
    }

    /// Statistics.md §2: √(B/2) MiB for small objects, so 10 MiB on 200; never more
    /// than √(R·B).
    #[test]
    fn standard_error_of_small_objects() {
        let bytes = 200 << 20;
        let error = standard_error(default_sampler(), 64, bytes);
        assert!((error / MEBIBYTE - 10.0).abs() < 0.001, "{error}");
        for shift in 0..24 {
            let error = standard_error(default_sampler(), 1 << shift, bytes);
            assert!(error <= (524_288.0 * bytes as f64).sqrt());
        }
        assert_eq!(standard_error(default_sampler(), 0, bytes), 0.0);
        assert_eq!(standard_error(default_sampler(), 64, -5), 0.0);
    }

    /// Statistics.md §2: 1.84 MiB, 0.01 to 2.79 MiB, 6.1 to 15.4 MiB.
    #[test]
    fn live_limits_of_few_samples() {
        for (n, low, high) in [(0, 0.0, 1.84), (1, 0.01, 2.79), (20, 6.1, 15.4)] {
            let (lower, upper) = live_interval95(default_sampler(), 16, n);
            assert!((lower / MEBIBYTE - low).abs() < 0.05, "{lower}");
            assert!((upper / MEBIBYTE - high).abs() < 0.05, "{upper}");
        }
    }

    #[test]
    fn live_limits_close_in_on_large_objects() {
        let size = 64 << 20;
        let (low, high) = live_interval95(default_sampler(), size, 3);
        assert!((low - 3.0 * size as f64).abs() < 1.0 && (high - 3.0 * size as f64).abs() < 1.0);
    }
}
