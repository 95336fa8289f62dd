//! Confidence limits for counts and for differences of counts.
//!
//! Knows numbers only. All intervals are two-sided at 95 %.

use statrs::distribution::{ContinuousCDF, Gamma};

/// The 97.5 % quantile of the standard normal distribution.
pub(super) const Z95: f64 = 1.959_963_984_540_054;

/// From here on the Wilson–Hilferty cube is within 10⁻⁵ of a standard deviation.
const LARGE_COUNT: u64 = 10_000;

/// Exact 95 % limits of the mean of a Poisson count that came out as `n` (Garwood
/// 1936): lower = χ²(0.025; 2n)/2, upper = χ²(0.975; 2n + 2)/2. Lower is 0 for n = 0.
///
/// The count of sampled small objects is Poisson; times R the limits are bytes.
pub fn garwood95(n: u64) -> (f64, f64) {
    let lower = if n == 0 {
        0.0
    } else {
        gamma_quantile(n, -Z95, 0.025)
    };
    (lower, gamma_quantile(n.saturating_add(1), Z95, 0.975))
}

/// The quantile `p` (normal deviate `z`) of a gamma variable of this whole shape, rate 1.
fn gamma_quantile(shape: u64, z: f64, p: f64) -> f64 {
    let k = shape as f64;
    if shape < LARGE_COUNT
        && let Ok(gamma) = Gamma::new(k, 1.0)
    {
        return gamma.inverse_cdf(p);
    }
    // Wilson and Hilferty 1931: the cube root is nearly normal.
    let spread = 1.0 / (9.0 * k);
    k * (1.0 - spread + z * spread.sqrt()).powi(3)
}

/// Limits of `first − second` from separate limits of both ("method of variance
/// estimates recovery", Zou and Donner 2008). Each argument is
/// (estimate, (lower, upper)); any unit, the same for all.
pub fn mover(first: (f64, (f64, f64)), second: (f64, (f64, f64))) -> (f64, f64) {
    let (a, (a_low, a_high)) = first;
    let (b, (b_low, b_high)) = second;
    (
        (a - b) - (a - a_low).hypot(b_high - b),
        (a - b) + (a_high - a).hypot(b - b_low),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(actual: f64, expected: f64, tolerance: f64) {
        assert!(
            (actual - expected).abs() <= tolerance,
            "{actual} is not {expected}"
        );
    }

    /// Expected: tables of exact Poisson limits (Garwood 1936; n = 0: −ln 0.025).
    #[test]
    fn garwood_agrees_with_the_tables() {
        assert_eq!(garwood95(0).0, 0.0);
        assert_close(garwood95(0).1, -(0.025_f64.ln()), 1e-9);
        for (n, lower, upper) in [
            (1, 0.0253, 5.572),
            (2, 0.242, 7.225),
            (10, 4.795, 18.39),
            (20, 12.22, 30.89),
        ] {
            let (low, high) = garwood95(n);
            assert_close(low, lower, 0.0005 * lower.max(0.1) + 0.0005);
            assert_close(high, upper, 0.005);
        }
    }

    /// Statistics.md §2: the same limits in MiB at the default R of half a MiB.
    #[test]
    fn garwood_in_mebibytes_at_the_default_rate() {
        let mebibytes = |n| {
            let (low, high) = garwood95(n);
            (low / 2.0, high / 2.0)
        };
        assert_close(mebibytes(0).1, 1.84, 0.005);
        assert_close(mebibytes(1).0, 0.01, 0.005);
        assert_close(mebibytes(1).1, 2.79, 0.005);
        assert_close(mebibytes(20).0, 6.1, 0.05);
        assert_close(mebibytes(20).1, 15.4, 0.05);
    }

    /// The two formulas meet where one takes over from the other.
    #[test]
    fn garwood_is_smooth_at_large_counts() {
        let (exact_low, exact_high) = garwood95(LARGE_COUNT - 2);
        let (low, high) = garwood95(LARGE_COUNT);
        assert_close(low - exact_low, 2.0 - 0.0196, 0.002);
        assert_close(high - exact_high, 2.0 + 0.0196, 0.002);
        assert!(garwood95(u64::MAX).1.is_finite());
    }

    /// Symmetric limits give the textbook root sum of squares: 3-4-5.
    #[test]
    fn mover_adds_in_quadrature() {
        let (low, high) = mover((10.0, (7.0, 13.0)), (6.0, (2.0, 10.0)));
        assert_close(low, 4.0 - 5.0, 1e-12);
        assert_close(high, 4.0 + 5.0, 1e-12);
    }

    /// 5 added, none freed: 5 − √((5 − 1.623)² + 3.689²) = −0.001 and
    /// 5 + (11.668 − 5), from the Garwood limits of 5 and 0.
    #[test]
    fn mover_of_five_added_and_none_freed() {
        let (low, high) = mover((5.0, garwood95(5)), (0.0, garwood95(0)));
        assert_close(low, -0.001, 0.002);
        assert_close(high, 11.668, 0.001);
    }
}
