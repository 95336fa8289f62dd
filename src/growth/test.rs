//! Tail probabilities: the exact sign test, its generalisations, the normal tail.
//!
//! Knows numbers only.

use statrs::function::{
    erf::{erfc, erfc_inv},
    factorial::ln_binomial,
};

/// Beyond this many trials the normal tail replaces the sum; it errs on the high side.
const LARGE_TRIALS: u64 = 1_000_000;

/// P[Z ≥ z] of a standard normal variable. Relative error below 10⁻⁹ down to 10⁻³⁰⁰.
pub fn normal_upper_tail(z: f64) -> f64 {
    0.5 * erfc(z * std::f64::consts::FRAC_1_SQRT_2)
}

/// The z whose [`normal_upper_tail`] is `p`; infinite at 0 and 1.
pub fn normal_quantile(p: f64) -> f64 {
    std::f64::consts::SQRT_2 * erfc_inv(2.0 * p)
}

/// P[Bin(m, ½) ≥ k]: the one-sided sign test. Relative error below 10⁻⁸, also far out.
pub fn binomial_upper_tail(m: u64, k: u64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    if k > m {
        return 0.0;
    }
    if m > LARGE_TRIALS {
        // Continuity-corrected. Binomial tails are lighter than normal ones, so a
        // tiny p comes out too large, never too small.
        let half = m as f64 / 2.0;
        return normal_upper_tail((k as f64 - 0.5 - half) / (half / 2.0).sqrt());
    }
    if k <= m / 2 {
        // By symmetry the rest of the mass, which is then the short side of the sum.
        return 1.0 - binomial_upper_tail(m, m - k + 1);
    }
    binomial_tail_sum(m, k, 0.5, 0.5)
}

/// P[Bin(m, q) ≥ k] for any success probability `q`.
pub(super) fn binomial_upper_tail_with(m: u64, k: u64, q: f64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    if k > m || q <= 0.0 {
        return 0.0;
    }
    if q >= 1.0 {
        return 1.0;
    }
    let mean = m as f64 * q;
    if m > LARGE_TRIALS {
        return normal_upper_tail((k as f64 - 0.5 - mean) / (mean * (1.0 - q)).sqrt());
    }
    if k as f64 <= mean {
        return (1.0 - binomial_tail_sum(m, m - k + 1, 1.0 - q, q)).max(0.0);
    }
    binomial_tail_sum(m, k, q, 1.0 - q)
}

/// Σ of the binomial terms from `k` up, for `k` above the mean: the terms fall, each
/// by the ratio (m − i)/(i + 1) · q/(1 − q), until they no longer count.
fn binomial_tail_sum(m: u64, k: u64, q: f64, one_minus_q: f64) -> f64 {
    let first = ln_binomial(m, k) + k as f64 * q.ln() + (m - k) as f64 * one_minus_q.ln();
    let odds = q / one_minus_q;
    let (mut sum, mut term) = (1.0, 1.0);
    for i in k..m {
        term *= (m - i) as f64 / (i + 1) as f64 * odds;
        sum += term;
        if term < sum * 1e-17 {
            break;
        }
    }
    // The logarithm is taken over the whole, so that nothing underflows too early.
    (first + f64::ln(sum)).exp().min(1.0)
}

/// The sign test with a fact beside it: p of "no net growth" when `added` and `freed`
/// small objects were sampled and other, certain growth of `shift` (in units of the
/// bytes that one sampled object stands for) has to be made up for by frees that the
/// sampler did not see.
///
/// It is P[Γ(freed + 1) ≥ Γ(added) + shift], the exact Poisson bounds of both counts
/// combined (which for shift = 0 *is* the sign test) = Σᵢ Poisson(i; shift) ·
/// P[Bin(added + freed − i, ½) ≥ added]: i of the observed frees are used up by the
/// fact. With nothing sampled it is exp(−shift), the chance to miss that many bytes.
pub(super) fn shifted_sign_test(added: u64, freed: u64, shift: f64) -> f64 {
    // P[Γ(b) ≥ Γ(a) + shift] for shift ≥ 0, b ≥ 1.
    fn race(a: u64, b: u64, shift: f64) -> f64 {
        let mut sum = 0.0;
        let mut ln_poisson = -shift;
        for i in 0..b {
            if i > 0 {
                ln_poisson += shift.ln() - (i as f64).ln();
            }
            sum += ln_poisson.exp() * binomial_upper_tail(a + b - 1 - i, a);
            if shift == 0.0 {
                break;
            }
        }
        sum.min(1.0)
    }
    if shift >= 0.0 {
        race(added, freed + 1, shift)
    } else if added == 0 {
        1.0
    } else {
        (1.0 - race(freed + 1, added, -shift)).max(0.0)
    }
}

/// Exact P[Σ ±uᵢ ≥ observed] over all equally likely signs, for classes of
/// (u, how many objects have it). Meet in the middle: two halves of at most 2¹² sums
/// each for fewer than 25 objects. Sums within a relative 10⁻⁹ count as ties, so the
/// order of floating-point additions cannot change the answer.
pub(super) fn sign_flip_tail(classes: &[(f64, u32)], observed: f64) -> f64 {
    // Split by objects, not by classes, for two halves of the same cost.
    let objects: u32 = classes.iter().map(|class| class.1).sum();
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let mut room = objects.div_ceil(2);
    for &(unit, count) in classes {
        let here = count.min(room);
        room -= here;
        left.push((unit, here));
        right.push((unit, count - here));
    }
    let (left, right) = (signed_sums(&left), signed_sums(&right));
    let scale: f64 = classes
        .iter()
        .map(|&(unit, count)| unit * f64::from(count))
        .sum();
    let threshold = observed - 1e-9 * scale;

    // As the left sum rises, ever more of the right sums reach the threshold with it.
    let (mut total, mut reached) = (0.0, 0.0);
    let mut next = right.len();
    for &(sum, probability) in &left {
        while next > 0 && sum + right[next - 1].0 >= threshold {
            next -= 1;
            reached += right[next].1;
        }
        total += probability * reached;
    }
    total.min(1.0)
}

/// All values of Σ ±uᵢ with their probabilities, ascending. Objects of one class are
/// alike: a class of `count` has count + 1 outcomes, not 2^count.
fn signed_sums(classes: &[(f64, u32)]) -> Vec<(f64, f64)> {
    let mut sums = vec![(0.0, 1.0)];
    for &(unit, count) in classes.iter().filter(|class| class.1 > 0) {
        let mut outcomes = Vec::with_capacity(count as usize + 1);
        let mut probability = 0.5_f64.powi(count as i32);
        for positive in 0..=count {
            outcomes.push((
                unit * (2.0 * f64::from(positive) - f64::from(count)),
                probability,
            ));
            probability *= f64::from(count - positive) / f64::from(positive + 1);
        }
        sums = sums
            .iter()
            .flat_map(|&(sum, p)| outcomes.iter().map(move |&(value, q)| (sum + value, p * q)))
            .collect();
    }
    sums.sort_by(|a, b| a.0.total_cmp(&b.0));
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_relative(actual: f64, expected: f64, tolerance: f64) {
        let error = (actual / expected - 1.0).abs();
        assert!(
            error <= tolerance,
            "{actual:e} is not {expected:e} ({error:e})"
        );
    }

    /// growth.py `tail(m, k)` for small m: exact sums of binomial coefficients.
    fn tail_by_counting(m: u64, k: u64) -> f64 {
        let mut coefficient = 1.0_f64;
        let mut sum = 0.0;
        for i in 0..=m {
            if i >= k {
                sum += coefficient;
            }
            coefficient = coefficient * (m - i) as f64 / (i + 1) as f64;
        }
        sum / 2.0_f64.powi(m as i32)
    }

    /// Hand arithmetic: five of five is 1/32, and all of m is 2⁻ᵐ.
    #[test]
    fn sign_test_of_a_pure_leak() {
        assert_relative(binomial_upper_tail(5, 5), 1.0 / 32.0, 1e-12);
        assert_relative(binomial_upper_tail(17, 17), 2.0_f64.powi(-17), 1e-12);
        assert_relative(binomial_upper_tail(900, 900), 2.0_f64.powi(-900), 1e-10);
    }

    #[test]
    fn sign_test_agrees_with_counting() {
        for m in 0..60 {
            for k in 0..=m + 1 {
                let expected = tail_by_counting(m, k);
                let actual = binomial_upper_tail(m, k);
                assert!(
                    (actual - expected).abs() <= 1e-12 * expected + 1e-15,
                    "{m} {k}"
                );
            }
        }
    }

    /// Expected: Python, `sum(comb(m, i) for i in range(k, m + 1)) / 2**m` in exact
    /// integers (growth.py `tail` without its shortcut above 2,000).
    #[test]
    fn sign_test_far_out() {
        for (m, k, expected) in [
            (100, 80, 5.579544528626e-10),
            (2000, 1400, 1.151987277996e-73),
            (5000, 2600, 2.441824868759e-3),
            (20000, 10500, 8.005546700794e-13),
            (1000, 999, 9.341968821217e-299),
            (3000, 2400, 1.824110921267e-253),
        ] {
            assert_relative(binomial_upper_tail(m, k), expected, 1e-8);
        }
    }

    /// Where the normal tail takes over it agrees with the sum.
    #[test]
    fn sign_test_is_smooth_at_large_counts() {
        let at = |m: u64| binomial_upper_tail(m, m / 2 + 1_500);
        assert_relative(at(LARGE_TRIALS + 2), at(LARGE_TRIALS), 1e-3);
        assert!(binomial_upper_tail(u64::MAX, u64::MAX / 2) > 0.49);
    }

    #[test]
    fn binomial_with_any_probability() {
        // 1 − 0.95¹⁰ and 0.05³.
        assert_relative(
            binomial_upper_tail_with(10, 1, 0.05),
            1.0 - 0.95_f64.powi(10),
            1e-12,
        );
        assert_relative(binomial_upper_tail_with(3, 3, 0.05), 1.25e-4, 1e-12);
        assert_relative(
            binomial_upper_tail_with(40, 23, 0.5),
            binomial_upper_tail(40, 23),
            1e-12,
        );
        assert_eq!(binomial_upper_tail_with(40, 1, 0.0), 0.0);
        assert_eq!(binomial_upper_tail_with(3, 0, 0.0), 1.0);
    }

    /// Abramowitz and Stegun, table 26.1 and 26.2; 38 is close to the smallest double.
    #[test]
    fn normal_tail() {
        assert_relative(normal_upper_tail(0.0), 0.5, 1e-14);
        assert_relative(normal_quantile(0.05), 1.644_853_626_951, 1e-9);
        assert_eq!(normal_quantile(0.0), f64::INFINITY);
        assert_eq!(normal_quantile(1.0), f64::NEG_INFINITY);
        assert_relative(normal_upper_tail(1.959_963_984_540_054), 0.025, 1e-9);
        assert_relative(normal_upper_tail(10.0), 7.619_853_024_160_527e-24, 1e-9);
        assert_relative(normal_upper_tail(37.0), 5.725_571_222_524_577e-300, 1e-9);
        assert_relative(normal_upper_tail(-1.0), 0.841_344_746_068_542_9, 1e-9);
    }

    #[test]
    fn equal_weights_flip_like_the_sign_test() {
        for added in 0..=24_u32 {
            let observed = 7.0 * (2.0 * f64::from(added) - 24.0);
            let by_flips = sign_flip_tail(&[(7.0, 24)], observed);
            assert_relative(by_flips, binomial_upper_tail(24, u64::from(added)), 1e-12);
        }
    }

    /// By hand: ±1 ±2 ±4 takes the eight odd values −7 … 7 once each.
    #[test]
    fn unequal_weights_flip() {
        let classes = [(1.0, 1), (2.0, 1), (4.0, 1)];
        for (rank, observed) in [7.0, 5.0, 3.0, 1.0, -1.0].into_iter().enumerate() {
            let p = sign_flip_tail(&classes, observed);
            assert_relative(p, (rank + 1) as f64 / 8.0, 1e-12);
        }
        assert_eq!(sign_flip_tail(&classes, 7.1), 0.0);
    }

    /// 24 sizes, all different: the worst case, against all 2²⁴ sums is too slow, so
    /// against symmetry: P[S ≥ x] + P[S ≥ −x] − P[S = x] = 1.
    #[test]
    fn many_sizes_flip_symmetrically() {
        let classes: Vec<(f64, u32)> = (0..24)
            .map(|i| (1.0 + 0.001 * f64::from(i * i), 1))
            .collect();
        let whole: f64 = classes.iter().map(|class| class.0).sum();
        assert_relative(sign_flip_tail(&classes, whole), 2.0_f64.powi(-24), 1e-9);
        let up = sign_flip_tail(&classes, 3.000_05);
        let down = sign_flip_tail(&classes, -3.000_05);
        assert_relative(up + down, 1.0, 1e-9);
    }

    /// 0.1 + 0.2 is more than 0.3: the tie has to hold all the same.
    #[test]
    fn near_ties_are_ties() {
        let classes = [(0.1, 1), (0.2, 1), (0.3, 1)];
        assert_relative(sign_flip_tail(&classes, 0.1 + 0.2 + 0.3), 0.125, 1e-12);
        assert_relative(sign_flip_tail(&classes, 0.1 + 0.2 - 0.3), 5.0 / 8.0, 1e-12);
    }

    #[test]
    fn shifted_sign_test_meets_its_special_cases() {
        for (added, freed) in [(5, 0), (7, 3), (0, 4), (12, 12)] {
            let plain = binomial_upper_tail(added + freed, added);
            assert_relative(shifted_sign_test(added, freed, 0.0), plain, 1e-12);
        }
        // Nothing sampled: the chance to miss `shift` rates of bytes.
        assert_relative(shifted_sign_test(0, 0, 3.0), (-3.0_f64).exp(), 1e-12);
        // One free seen: P[Poisson(3) ≤ 1] = 4e⁻³.
        assert_relative(shifted_sign_test(0, 1, 3.0), 4.0 * (-3.0_f64).exp(), 1e-12);
        // A pure leak beside it: both have to be chance.
        assert_relative(shifted_sign_test(5, 0, 3.0), (-3.0_f64).exp() / 32.0, 1e-12);
        // Certain shrinkage: P[Γ(1) + 3 ≥ Γ(1)] = 1 − e⁻³/2.
        assert_relative(
            shifted_sign_test(1, 0, -3.0),
            1.0 - (-3.0_f64).exp() / 2.0,
            1e-12,
        );
        assert_eq!(shifted_sign_test(0, 0, -3.0), 1.0);
    }

    #[test]
    fn shifted_sign_test_falls_with_the_shift() {
        let mut last = 1.0;
        for step in -100..100 {
            let p = shifted_sign_test(9, 6, f64::from(step) * 0.2);
            assert!(p <= last + 1e-12, "rises at {step}");
            last = p;
        }
    }
}
