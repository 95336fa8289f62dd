//! What a set of buckets holds in some runs, as far as two such sets of *different* processes can
//! be compared by it: independent samples (statistics.md §3).
//!
//! Knows counts and sizes; nothing of names. It is small and complete, so that it can be written
//! to a file and compared with runs of another day.

use super::Sampler;
use super::interval::{Z95, garwood95, mover};
use super::test::{binomial_upper_tail_with, normal_upper_tail};
use serde::{Deserialize, Serialize};

/// From so many sampled objects on both sides together, normal limits do.
const NORMAL_COUNT: u64 = 25;

/// The heap of a set of buckets, summed over runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holding {
    /// Σ s·w·n: bytes in use.
    pub bytes: f64,
    /// Of these, in objects that are always sampled (s ≥ 3R).
    pub exact_bytes: f64,
    /// Sampled objects of the others.
    pub objects: u64,
    /// Σ s²w²·n of the others: bytes².
    pub square: f64,
    /// Σ s²w(w − 1)·n of all: the sampler's variance, bytes².
    pub variance: f64,
    /// The part of it that is of the objects that are always sampled.
    pub exact_variance: f64,
}

/// How two holdings differ, per run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Bytes per run of the first.
    pub before: f64,
    /// Of the second.
    pub after: f64,
    /// Second less first.
    pub delta: f64,
    /// 95 % limits of it, by the sampler's noise alone.
    pub ci95: (f64, f64),
    /// One-sided p of "the second does not hold more".
    pub grew: f64,
    /// One-sided p of "the second does not hold less".
    pub shrank: f64,
}

impl Holding {
    /// Adds `sampled` objects of `size` bytes of one run.
    pub fn add(&mut self, sampler: Sampler, size: u64, sampled: i64) {
        let count = sampled.max(0) as f64;
        if size == 0 || count == 0.0 {
            return;
        }
        let unit = size as f64 * sampler.weight(size);
        self.bytes += unit * count;
        // s²w(w − 1) = (s·w)²·q
        let variance = unit * unit * sampler.miss(size) * count;
        self.variance += variance;
        if sampler.is_exact(size) {
            self.exact_variance += variance;
            self.exact_bytes += unit * count;
        } else {
            self.objects += count as u64;
            self.square += unit * unit * count;
        }
    }

    /// Adds all that another set of buckets holds in the same runs.
    pub fn merge(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.exact_bytes += other.exact_bytes;
        self.objects += other.objects;
        self.square += other.square;
        self.variance += other.variance;
        self.exact_variance += other.exact_variance;
    }

    /// Compares `self`, of `runs.0` runs, with `after`, of `runs.1` runs. `rates` are the sampling
    /// rates of both, in bytes.
    ///
    /// - Limits: normal with Σ s²w(w − 1)n/runs² from 25 sampled objects on, else Garwood's limits
    ///   of both counts combined (MOVER).
    /// - p: the larger of P[Bin(n₁ + n₂, r₂/(r₁ + r₂)) ≥ n₂] (exact, but it takes all objects for
    ///   alike) and of the normal tail of Σ s·w·d/√Σ s²w²n (which weighs them); the latter alone
    ///   where rates differ, or where most of the change is in objects that are always sampled.
    pub fn compare(&self, after: &Self, runs: (usize, usize), rates: (i64, i64)) -> Difference {
        let per = (runs.0.max(1) as f64, runs.1.max(1) as f64);
        let (first, second) = (self.bytes / per.0, after.bytes / per.1);
        let delta = second - first;
        let of_both = |one: f64, other: f64| one / (per.0 * per.0) + other / (per.1 * per.1);
        let sd = of_both(self.variance, after.variance).sqrt();
        let ci95 = match self.objects + after.objects {
            count if count >= NORMAL_COUNT => (delta - Z95 * sd, delta + Z95 * sd),
            _ => mover(after.limits(per.1, rates.1), self.limits(per.0, rates.0)),
        };
        let exact = after.exact_bytes / per.1 - self.exact_bytes / per.0;
        let rate = rates.0.max(rates.1).max(0) as f64;
        let hidden = match rate > 1.0 {
            true => rate * exact.abs() / per.0.min(per.1),
            false => 0.0,
        };
        let spread = (of_both(self.square, after.square).max(hidden)
            + of_both(self.exact_variance, after.exact_variance))
        .sqrt();
        let goes_by_weight = rates.0 != rates.1 || exact.abs() * 2.0 > delta.abs();
        let tail = |delta: f64, more: u64, share: f64| {
            let normal = match (spread > 0.0, delta > 0.0) {
                (true, _) => normal_upper_tail(delta / spread),
                // Nothing is left to chance: every allocation is recorded.
                (false, true) => 0.0,
                (false, false) => 1.0,
            };
            let all = self.objects + after.objects;
            match goes_by_weight {
                true => normal,
                false => normal.max(binomial_upper_tail_with(all, more, share)),
            }
        };
        let share = per.1 / (per.0 + per.1);
        Difference {
            before: first,
            after: second,
            delta,
            ci95,
            grew: tail(delta, after.objects, share),
            shrank: tail(-delta, self.objects, 1.0 - share),
        }
    }

    /// Bytes per run with their 95 % limits.
    fn limits(&self, runs: f64, rate: i64) -> (f64, (f64, f64)) {
        let mean = self.bytes / runs;
        let (low, high) = garwood95(self.objects);
        let n = self.objects as f64;
        // An object of small size stands for R bytes, and its noise too.
        let unit = match self.objects {
            0 if rate > 1 => rate as f64,
            0 => 0.0,
            _ => (self.variance.min(self.square) / n).sqrt(),
        };
        let (down, up) = ((n - low) * unit / runs, (high - n) * unit / runs);
        (mean, (mean - down, mean + up))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: i64 = 524_288;

    fn holding(size: u64, sampled: i64) -> Holding {
        let mut holding = Holding::default();
        holding.add(Sampler::new(RATE).expect("positive"), size, sampled);
        holding
    }

    /// statistics.md §3: n = 0 allows up to 3.69 objects and each stands for 0.5 MiB: 1.84 MiB.
    #[test]
    fn nothing_sampled_may_hide_1_84_mib() {
        let nothing = Holding::default();
        let difference = nothing.compare(&nothing, (1, 1), (RATE, RATE));
        assert_eq!(difference.delta, 0.0);
        let mib = difference.ci95.1 / 1_048_576.0;
        assert!((mib - 1.844).abs() < 0.001, "{mib}");
        assert_eq!(difference.grew, 1.0);
    }

    /// By hand: ten objects against none is 2⁻¹⁰ if both sides have one run, and (1/5)¹⁰ if the
    /// one without them has four.
    #[test]
    fn counts_are_tested_by_their_runs() {
        let (none, ten) = (Holding::default(), holding(64, 10));
        let p = |runs| none.compare(&ten, runs, (RATE, RATE)).grew;
        // √10 standard errors by the normal tail: 0.00078, below 2⁻¹⁰ = 0.00098.
        assert!(
            (p((1, 1)) - 2.0_f64.powi(-10)).abs() < 1e-9,
            "{}",
            p((1, 1))
        );
        assert!(p((4, 1)) < 0.001);
        assert!(ten.compare(&none, (1, 1), (RATE, RATE)).shrank < 0.001);
        assert_eq!(ten.compare(&none, (1, 1), (RATE, RATE)).grew, 1.0);
    }

    /// By hand: 8 MiB more on 200 MiB (400 objects of 0.5 MiB): z = 16/√816 = 0.56, the hopeless
    /// case of statistics.md §3.
    #[test]
    fn independent_samples_are_weak() {
        let p = holding(64, 400).compare(&holding(64, 416), (1, 1), (RATE, RATE));
        assert!((0.28..0.31).contains(&p.grew), "{}", p.grew);
        let reach = (p.ci95.1 - p.delta) / 1_048_576.0;
        assert!(
            (reach - 1.96 * 816.0_f64.sqrt() / 2.0).abs() < 0.1,
            "{reach}"
        );
    }

    #[test]
    fn large_objects_and_full_records_are_facts() {
        // 64 MiB in one object: z = √(64 MiB / 0.5 MiB) = 11.
        let large = holding(64 << 20, 1);
        let none = Holding::default();
        assert!(none.compare(&large, (1, 1), (RATE, RATE)).grew < 1e-20);
        let mut full = Holding::default();
        full.add(Sampler::new(1).expect("positive"), 64, 3);
        let difference = none.compare(&full, (1, 1), (1, 1));
        assert_eq!((difference.delta, difference.ci95), (192.0, (192.0, 192.0)));
        assert_eq!(difference.grew, 0.0);
    }
}
