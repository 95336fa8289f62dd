//! Two groups of independent runs: Mann and Whitney's test and Hodges and Lehmann's shift.
//!
//! What the runs of one build differ by (load, timing, caches) no count of sampled objects tells;
//! it shows in the runs themselves. Knows numbers only.

use super::interval::Z95;
use super::test::normal_upper_tail;

/// Up to this many pairs the distribution of U is worked out; beyond, it is normal enough.
const EXACT_PAIRS: usize = 900;

/// One-sided p of "the second group is not larger" (Mann and Whitney 1947): exact without ties
/// and for few pairs, else normal with the correction for ties. 1 for an empty group.
pub fn mann_whitney(first: &[f64], second: &[f64]) -> f64 {
    let (n, m) = (first.len(), second.len());
    if n == 0 || m == 0 {
        return 1.0;
    }
    // U: pairs in which the second is larger; ties count by half.
    let mut twice_u = 0usize;
    let mut has_ties = false;
    for one in first {
        for other in second {
            twice_u += match other.total_cmp(one) {
                std::cmp::Ordering::Greater => 2,
                std::cmp::Ordering::Equal => {
                    has_ties = true;
                    1
                }
                std::cmp::Ordering::Less => 0,
            };
        }
    }
    if !has_ties && n * m <= EXACT_PAIRS {
        let counts = distribution(n, m);
        let all: f64 = counts.iter().sum();
        return counts[twice_u / 2..].iter().sum::<f64>() / all;
    }
    let (n, m) = (n as f64, m as f64);
    let total = n + m;
    let ties = tie_term(first, second);
    let variance = n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let above = twice_u as f64 / 2.0 - n * m / 2.0;
    normal_upper_tail((above - 0.5) / variance.sqrt())
}

/// The median of all differences second − first (Hodges and Lehmann 1963) with its 95 % limits
/// from the distribution of U; None for an empty group. The limits are infinite where the groups
/// are too small for any (3 runs a side and fewer).
pub fn hodges_lehmann(first: &[f64], second: &[f64]) -> Option<(f64, (f64, f64))> {
    let mut differences: Vec<f64> = second
        .iter()
        .flat_map(|other| first.iter().map(move |one| other - one))
        .collect();
    if differences.is_empty() {
        return None;
    }
    differences.sort_by(f64::total_cmp);
    let pairs = differences.len();
    let middle = pairs / 2;
    let median = match pairs % 2 {
        1 => differences[middle],
        _ => (differences[middle - 1] + differences[middle]) / 2.0,
    };
    let left_out = ranks_left_out(first.len(), second.len());
    let limits = match left_out {
        0 => (f64::NEG_INFINITY, f64::INFINITY),
        rank => (differences[rank - 1], differences[pairs - rank]),
    };
    Some((median, limits))
}

/// The largest k with P[U ≤ k − 1] ≤ 2.5 %: the limits are the k-th difference from either end.
fn ranks_left_out(n: usize, m: usize) -> usize {
    if n * m > EXACT_PAIRS {
        let (n, m) = (n as f64, m as f64);
        let rank = n * m / 2.0 - Z95 * (n * m * (n + m + 1.0) / 12.0).sqrt();
        return rank.floor().max(0.0) as usize;
    }
    let counts = distribution(n, m);
    let all: f64 = counts.iter().sum();
    let mut below = 0.0;
    counts
        .iter()
        .take_while(|count| {
            below += **count;
            below <= 0.025 * all
        })
        .count()
}

/// How many arrangements of n and m values have each U, 0 to n·m.
fn distribution(n: usize, m: usize) -> Vec<f64> {
    // Gaussian binomial: Π (1 − q^(m+i)) / (1 − q^i) for i = 1 … n, coefficient by coefficient.
    let mut counts = vec![0.0; n * m + 1];
    counts[0] = 1.0;
    for i in 1..=n {
        for u in (m + i..counts.len()).rev() {
            counts[u] -= counts[u - m - i];
        }
        for u in i..counts.len() {
            counts[u] += counts[u - i];
        }
    }
    counts
}

/// Σ (t³ − t) over groups of t equal values.
fn tie_term(first: &[f64], second: &[f64]) -> f64 {
    let mut all: Vec<f64> = first.iter().chain(second).copied().collect();
    all.sort_by(f64::total_cmp);
    let groups = all.chunk_by(|a, b| a == b);
    groups
        .map(|group| (group.len() as f64).powi(3) - group.len() as f64)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: of C(4+4, 4) = 70 arrangements one has all of the second above the first.
    #[test]
    fn four_above_four() {
        let (low, high) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        assert!((mann_whitney(&low, &high) - 1.0 / 70.0).abs() < 1e-12);
        assert_eq!(mann_whitney(&high, &low), 1.0);
        // Swapping 4 and 5 leaves U = 15: two arrangements of 70 reach it.
        let p = mann_whitney(&[1.0, 2.0, 3.0, 5.0], &[4.0, 6.0, 7.0, 8.0]);
        assert!((p - 2.0 / 70.0).abs() < 1e-12, "{p}");
        assert_eq!(mann_whitney(&[], &[1.0]), 1.0);
        assert_eq!(mann_whitney(&[2.0; 5], &[2.0; 5]), 1.0);
    }

    /// The counts of all arrangements sum to C(n + m, n), and are symmetric.
    #[test]
    fn arrangements_are_counted() {
        assert_eq!(distribution(2, 2), [1.0, 1.0, 2.0, 1.0, 1.0]);
        let counts = distribution(8, 8);
        assert_eq!(counts.iter().sum::<f64>(), 12_870.0);
        assert!((0..=64).all(|u| counts[u] == counts[64 - u]));
    }

    /// Critical values of tables of the Mann–Whitney test (two-sided 5 %): U ≤ 0 for 4 and 4,
    /// 2 for 5 and 5, 13 for 8 and 8, 23 for 10 and 10; none for 3 and 3.
    #[test]
    fn limits_agree_with_the_tables() {
        for (n, critical) in [(4, 0), (5, 2), (8, 13), (10, 23), (20, 127)] {
            assert_eq!(ranks_left_out(n, n), critical + 1, "{n}");
        }
        assert_eq!(ranks_left_out(3, 3), 0);
    }

    /// By hand: differences of {1, 2} and {4, 8} are 2, 3, 6, 7; median 4.5.
    #[test]
    fn the_shift_by_hand() {
        let (shift, limits) = hodges_lehmann(&[1.0, 2.0], &[4.0, 8.0]).unwrap();
        assert_eq!(shift, 4.5);
        assert_eq!(limits, (f64::NEG_INFINITY, f64::INFINITY));
        let (_, limits) = hodges_lehmann(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 9.0]).unwrap();
        assert_eq!(limits, (1.0, 8.0));
        assert_eq!(hodges_lehmann(&[], &[1.0]), None);
    }

    /// The normal tail takes over smoothly: 31 by 31 against 30 by 30 at the same z.
    #[test]
    fn a_hundred_runs_a_side() {
        let run = |n: usize, shift: f64| -> Vec<f64> {
            (0..n).map(|i| i as f64 / n as f64 + shift).collect()
        };
        let exact = mann_whitney(&run(30, 0.0), &run(30, 0.1001));
        let normal = mann_whitney(&run(31, 0.0), &run(31, 0.1001));
        assert!((exact / normal - 1.0).abs() < 0.2, "{exact} {normal}");
        assert!(mann_whitney(&run(100, 0.0), &run(100, 0.3)) < 1e-5);
    }
}
