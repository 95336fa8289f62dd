//! From sampled counts to estimates, as pprof does it.

/// Estimates what was allocated from what was sampled: (objects, bytes).
///
/// A Poisson process with a mean distance of `period` bytes hits an object of `s` bytes with
/// probability 1 − exp(−s ∕ period); the estimate divides by it (google/pprof,
/// `profile/legacy_profile.go`, `scaleHeapSample`; `s` is the row's mean size). A period of at
/// most 1 means that every object was recorded, or that the period is unknown.
pub(super) fn unsample(objects: i64, bytes: i64, period: i64) -> (i64, i64) {
    let mean_size = bytes as f64 / objects as f64;
    // No objects or no bytes (pprof refuses or zeroes these), or signs that differ: no mean size.
    if period <= 1 || !mean_size.is_finite() || mean_size <= 0.0 {
        return (objects, bytes);
    }
    let scale = 1.0 / (1.0 - (-mean_size / period as f64).exp());
    // A float that does not fit saturates; the fraction is cut as in pprof.
    (
        (objects as f64 * scale) as i64,
        (bytes as f64 * scale) as i64,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_scaled_by_the_odds_of_their_size() {
        for (raw, period, expected) in [
            // Rows of google/pprof's golden `gobench.heap.string` and `cppbench.heap.string`.
            ((1, 524_288), 524_288, (1, 829_411)),
            ((3, 1_572_864), 524_288, (4, 2_488_234)),
            ((642, 6_574_080), 524_288, (33_192, 339_890_635)),
            ((1, 16), 524_288, (32_768, 524_296)),
            ((1, 48), 524_288, (10_923, 524_312)),
            ((0, 0), 524_288, (0, 0)),
            // Exact or unknown periods change nothing.
            ((3, 300), 1, (3, 300)),
            ((3, 300), 0, (3, 300)),
            ((3, 300), -5, (3, 300)),
            // Both negative: a difference, the mean size is still 16.
            ((-1, -16), 524_288, (-32_768, -524_296)),
            // Impossible rows stay as they are.
            ((0, 96), 524_288, (0, 96)),
            ((5, 0), 524_288, (5, 0)),
            ((1, -16), 524_288, (1, -16)),
            // 1 - exp(-tiny) is 0: saturates.
            ((1, 1), i64::MAX, (i64::MAX, i64::MAX)),
            ((i64::MIN, i64::MIN), 2, (i64::MIN, i64::MIN)),
        ] {
            assert_eq!(
                unsample(raw.0, raw.1, period),
                expected,
                "{raw:?} @ {period}"
            );
        }
    }
}
