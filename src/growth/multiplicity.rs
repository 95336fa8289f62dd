//! Many hypotheses at once: the Benjamini–Hochberg procedure.
//!
//! Knows p-values only. Sites that cannot reach significance are to be left out
//! before ([`Evidence::can_reach`](super::Evidence::can_reach)): each one kept costs power.

/// Which hypotheses to reject so that at most a share `q` of the rejections is false on
/// average (Benjamini and Hochberg 1995), in the order of `p`. A NaN is never rejected.
pub fn benjamini_hochberg(p: &[f64], q: f64) -> Vec<bool> {
    adjusted_p(p)
        .into_iter()
        .map(|adjusted| adjusted <= q)
        .collect()
}

/// Benjamini–Hochberg adjusted p-values, in the order of `p`: the smallest q at which
/// each would be rejected, min over j ≥ rank of p₍ⱼ₎·m/j, at most 1. Monotone: a smaller
/// p never gets a larger adjusted one, equal ones stay equal. A NaN counts as 1.
pub fn adjusted_p(p: &[f64]) -> Vec<f64> {
    let clean = |index: usize| {
        if p[index].is_nan() {
            1.0
        } else {
            p[index].clamp(0.0, 1.0)
        }
    };
    let mut by_p: Vec<usize> = (0..p.len()).collect();
    by_p.sort_by(|&a, &b| clean(a).total_cmp(&clean(b)));

    let mut adjusted = vec![1.0; p.len()];
    let mut smallest = 1.0_f64;
    for (rank, &index) in by_p.iter().enumerate().rev() {
        smallest = smallest.min(clean(index) * (p.len() as f64 / (rank + 1) as f64));
        adjusted[index] = smallest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The worked example of Benjamini and Hochberg 1995, section 4 (15 comparisons in
    /// a trial of thrombolysis): four are rejected at q = 0.05.
    const PAPER: [f64; 15] = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
        0.5719, 0.6528, 0.7590, 1.0000,
    ];

    #[test]
    fn rejects_four_in_the_paper() {
        let rejected = benjamini_hochberg(&PAPER, 0.05);
        assert_eq!(rejected.iter().filter(|r| **r).count(), 4);
        assert!(rejected[..4].iter().all(|r| *r));
    }

    /// By hand: 0.0001·15/1; rank 5 (0.0201·3 = 0.0603) is beaten by no later one;
    /// rank 6 (0.0278·2.5 = 0.0695) by rank 7 (0.0298·15/7 = 0.063857…).
    #[test]
    fn adjusts_as_by_hand() {
        let adjusted = adjusted_p(&PAPER);
        assert!((adjusted[0] - 0.0015).abs() < 1e-12);
        assert!((adjusted[4] - 0.0603).abs() < 1e-12);
        assert!((adjusted[5] - 0.0298 * 15.0 / 7.0).abs() < 1e-12);
        assert_eq!(adjusted[14], 1.0);
    }

    #[test]
    fn handles_the_edges() {
        assert!(benjamini_hochberg(&[], 0.05).is_empty());
        assert_eq!(benjamini_hochberg(&[f64::NAN, 0.001], 0.05), [false, true]);
        assert_eq!(adjusted_p(&[0.04]), [0.04]);
    }

    /// The step-up procedure as the paper words it: the largest k with p₍ₖ₎ ≤ k·q/m.
    fn step_up(p: &[f64], q: f64) -> Vec<bool> {
        let mut sorted = p.to_vec();
        sorted.sort_by(f64::total_cmp);
        let m = p.len() as f64;
        let cut = sorted
            .iter()
            .enumerate()
            .filter(|(i, value)| **value <= (i + 1) as f64 * q / m)
            .map(|(_, value)| *value)
            .next_back();
        p.iter()
            .map(|value| cut.is_some_and(|cut| *value <= cut))
            .collect()
    }

    proptest! {
        #[test]
        fn agrees_with_the_wording(p in prop::collection::vec(0.0..1.0_f64, 0..60), shrink in 1..6) {
            let p: Vec<f64> = p.iter().map(|value| value.powi(shrink)).collect();
            prop_assert_eq!(benjamini_hochberg(&p, 0.05), step_up(&p, 0.05));
        }

        #[test]
        fn adjusted_is_monotone_and_no_smaller(p in prop::collection::vec(0.0..1.0_f64, 1..60)) {
            let adjusted = adjusted_p(&p);
            for i in 0..p.len() {
                prop_assert!(adjusted[i] >= p[i] && adjusted[i] <= 1.0);
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
                }
            }
        }
    }
}
