//! Evidence against arithmetic by hand and simulated histories.

use super::*;
use proptest::prelude::*;

const RATE: i64 = 512 * 1024;
const MEBIBYTE: f64 = 1_048_576.0;

fn sampler() -> Sampler {
    Sampler::new(RATE).expect("positive rate")
}

fn counts(allocated: i64, inuse: i64) -> BucketCounts {
    BucketCounts { allocated, inuse }
}

/// A bucket in which `added` sampled objects came and `freed` of 1,000 went.
fn change(evidence: &mut Evidence, size: u64, added: i64, freed: i64) {
    let after = counts(1_000 + added, 1_000 + added - freed);
    evidence.add(sampler(), size, counts(1_000, 1_000), after);
}

fn changed(size: u64, added: i64, freed: i64) -> Evidence {
    let mut evidence = Evidence::default();
    change(&mut evidence, size, added, freed);
    evidence
}

fn assert_close(actual: f64, expected: f64, relative: f64) {
    let error = (actual - expected).abs();
    assert!(
        error <= relative * expected.abs(),
        "{actual:e} is not {expected:e}"
    );
}

/// Statistics.md §3: an 8 MiB leak on a resident site of 200 MiB. At the default R
/// that is 16 sampled objects more on 400: 16/√816 against 16/√16.
#[test]
fn leak_on_a_large_resident_site() {
    let (before, after) = (counts(400, 400), counts(416, 416));
    let mut one_process = Evidence::default();
    one_process.add(sampler(), 64, before, after);
    assert_close(one_process.z(), 4.0, 1e-12);
    assert_close(one_process.delta_bytes(), 8.0 * MEBIBYTE, 1e-4);
    assert_close(one_process.p_value(), 2.0_f64.powi(-16), 1e-12);

    let mut two_processes = Evidence::default();
    two_processes.add_independent(sampler(), 64, before, after);
    assert_close(two_processes.z(), 16.0 / 816.0_f64.sqrt(), 1e-12);
    assert!((two_processes.z() - 0.6).abs() < 0.05);
    assert_eq!(two_processes.turnover(), 816);
    assert!(two_processes.p_value() > 0.25);
}

/// growth.py `pair`: m = d + 2·min(n₁, Δf), at least |d|.
#[test]
fn turnover_is_bounded_from_the_counts() {
    for (before, after, net, turnover) in [
        // 7 allocated, 3 of the old ones freed.
        (counts(10, 10), counts(17, 14), 4, 10),
        // 100 freed, but only 5 lived at the first moment.
        (counts(10, 5), counts(117, 12), 7, 17),
        // Nothing lived before: all of it was added.
        (counts(0, 0), counts(40, 6), 6, 6),
        // Shrinking.
        (counts(10, 10), counts(10, 3), -7, 7),
        // Damaged counters must not take the turnover below |d|.
        (counts(10, 10), counts(3, 3), -7, 7),
    ] {
        let mut evidence = Evidence::default();
        evidence.add(sampler(), 48, before, after);
        assert_eq!(
            (evidence.net_objects(), evidence.turnover()),
            (net, turnover)
        );
    }
}

/// Source: growth.py `pair` and `run` with these counts, in Python:
/// s, d, m = (32, 9, 21), (1024, 4, 10), (65536, 3, 11), R = 524288.
#[test]
fn several_sizes_agree_with_the_reference() {
    let mut evidence = Evidence::default();
    change(&mut evidence, 32, 15, 6);
    change(&mut evidence, 1024, 7, 3);
    change(&mut evidence, 65_536, 7, 4);
    assert_close(evidence.delta_bytes(), 8491152.134999, 1e-9);
    assert_close(evidence.z(), 2.456437156765, 1e-9);
    assert_close(evidence.sd_bytes(), 3397195.495789, 1e-9);
    assert_eq!((evidence.net_objects(), evidence.turnover()), (16, 42));
}

#[test]
fn one_size_is_tested_exactly_at_any_turnover() {
    assert_close(changed(64, 5, 0).p_value(), 1.0 / 32.0, 1e-12);
    assert_close(
        changed(64, 700, 500).p_value(),
        binomial_upper_tail(1200, 700),
        1e-12,
    );
    // Two buckets of one size are one size.
    let mut twice = changed(64, 3, 0);
    change(&mut twice, 64, 30, 9);
    assert_close(twice.p_value(), binomial_upper_tail(42, 33), 1e-12);
}

/// By hand: 3 of A and 2 of B all grew, one way in 2⁵; sizes 64 and 256 KiB.
#[test]
fn few_objects_of_several_sizes_are_enumerated() {
    let mut evidence = changed(64, 3, 0);
    change(&mut evidence, 262_144, 2, 0);
    assert_close(evidence.p_value(), 1.0 / 32.0, 1e-12);
    // One free of the small size: Σ ±u over 4 A and 2 B at least 2A + 2B. With
    // A < B < 2A: all up, or one A down = 1 + 4; or one B down and all A up (4A) only
    // if 4A ≥ 2A + 2B, which it is not.
    change(&mut evidence, 64, 0, 1);
    assert_close(evidence.p_value(), 5.0 / 64.0, 1e-12);
}

/// The correction for continuity makes both tests meet at a turnover of 25.
#[test]
fn the_normal_tail_takes_over_smoothly() {
    for added in 13..=22 {
        let mut evidence = changed(16, added, 0);
        change(&mut evidence, 24, 0, 26 - added);
        let exact = binomial_upper_tail(26, added as u64);
        let ratio = evidence.p_value() / exact;
        assert!((0.9..2.0).contains(&ratio), "{added}: {ratio}");
    }
}

#[test]
fn nothing_turned_over() {
    let still = changed(64, 0, 0);
    assert_eq!(
        (still.z(), still.p_value(), still.delta_bytes()),
        (0.0, 1.0, 0.0)
    );
    assert!(!still.can_reach(1.0));
    let (low, high) = still.interval95();
    // Growth of up to 3.689·R can hide, shrinkage as well.
    assert_close(high / MEBIBYTE, 1.84, 0.005);
    assert_close(low, -high, 1e-12);
    let none = Evidence::default();
    assert_eq!((none.p_value(), none.interval95()), (1.0, (0.0, 0.0)));
}

/// At R = 1 growth is certain, and so is its absence.
#[test]
fn complete_profiles_are_facts() {
    let sampler = Sampler::new(1).expect("positive rate");
    let mut evidence = Evidence::default();
    evidence.add(sampler, 64, counts(500, 100), counts(900, 101));
    assert_eq!((evidence.p_value(), evidence.delta_bytes()), (0.0, 64.0));
    assert_eq!(evidence.interval95(), (64.0, 64.0));
    assert!(evidence.can_reach(1e-300) && evidence.z().is_finite());
    evidence.add(sampler, 64, counts(5, 5), counts(5, 4));
    assert_eq!((evidence.p_value(), evidence.delta_bytes()), (1.0, 0.0));
}

/// P[Bin(added, q) ≥ d] with q = exp(−s/R): one new object of 3R is e⁻³; among 100
/// replaced ones one more means nothing; of 20R each, it means everything.
#[test]
fn exact_objects_carry_the_doubt_of_a_missed_free() {
    let three_rates = 3 * RATE as u64;
    let q = (-3.0_f64).exp();
    assert_close(changed(three_rates, 1, 0).p_value(), q, 1e-9);
    assert_close(changed(three_rates, 3, 0).p_value(), q.powi(3), 1e-9);
    let missed_any = 1.0 - (1.0 - q).powi(101);
    assert_close(changed(three_rates, 101, 100).p_value(), missed_any, 1e-9);
    assert!(changed(20 * RATE as u64, 101, 100).p_value() < 1e-6);
    assert_eq!(changed(three_rates, 5, 6).p_value(), 1.0);
}

/// A fact is not diluted by small churn, nor does it turn chance into proof.
#[test]
fn exact_and_sampled_objects_together() {
    let huge = 100 << 20;
    let mut evidence = changed(64, 2, 2);
    change(&mut evidence, huge, 1, 0);
    assert!(evidence.p_value() < 1e-12, "{}", evidence.p_value());
    assert_close(evidence.exact_bytes(), huge as f64, 1e-9);
    // 1.5 MiB more for certain, but 1.5 MiB of small frees go unseen with e⁻³.
    let mut lone = changed(64, 0, 0);
    change(&mut lone, 3 * RATE as u64, 1, 0);
    assert!((0.04..0.12).contains(&lone.p_value()), "{}", lone.p_value());
    // Large churn: the normal tail, with the same reservation.
    let mut busy = changed(64, 400, 400);
    change(&mut busy, huge, 1, 0);
    assert!(busy.p_value() < 1e-6);
    // Certain shrinkage outweighs five new small objects.
    let mut shrunk = changed(64, 5, 0);
    change(&mut shrunk, huge, 0, 1);
    assert!(shrunk.p_value() > 0.99 && shrunk.z() < 0.0);
}

#[test]
fn reach_counts_sampled_objects_and_sure_ones() {
    assert!(!changed(64, 2, 2).can_reach(0.05));
    assert!(changed(64, 1, 4).can_reach(0.05));
    assert!(changed(64, 17, 0).can_reach(0.05 / 5_000.0));
    assert!(!changed(64, 8, 8).can_reach(0.05 / 5_000.0));
    // e⁻³ < 0.05, but not < 0.01; twenty rates are e⁻²⁰.
    assert!(changed(3 * RATE as u64, 1, 0).can_reach(0.05));
    assert!(!changed(3 * RATE as u64, 1, 0).can_reach(0.01));
    assert!(changed(20 * RATE as u64, 1, 0).can_reach(1e-8));
}

#[test]
fn interval_of_many_objects_is_normal() {
    let evidence = changed(64, 60, 40);
    let (low, high) = evidence.interval95();
    // √(R²·100) = 5 MiB.
    assert_close(evidence.sd_bytes() / MEBIBYTE, 5.0, 1e-3);
    assert_close(low / MEBIBYTE, 10.0 - 1.96 * 5.0, 0.01);
    assert_close(high / MEBIBYTE, 10.0 + 1.96 * 5.0, 0.01);
}

#[test]
fn damaged_counts_stay_finite() {
    for (before, after) in [
        (counts(i64::MIN, i64::MAX), counts(i64::MAX, i64::MIN)),
        (counts(i64::MAX, i64::MIN), counts(i64::MIN, i64::MAX)),
        (counts(0, i64::MAX), counts(i64::MAX, i64::MAX)),
        (counts(0, 0), counts(i64::MAX, i64::MAX)),
    ] {
        for size in [0, 1, 64, 3 * RATE as u64, u64::MAX] {
            let mut evidence = Evidence::default();
            evidence.add(sampler(), size, before, after);
            evidence.add_independent(sampler(), size, before, after);
            change(&mut evidence, 96, 4, 3);
            let other = evidence.clone();
            evidence.merge(&other);
            assert!((0.0..=1.0).contains(&evidence.p_value()));
            assert!(evidence.z().is_finite() && evidence.interval95().0.is_finite());
        }
    }
}

/// One object's life in a simulated history: (birth, death) in 0..3, looked at
/// at times 1 and 2; `death` beyond 2 is still alive.
fn life() -> impl Strategy<Value = (f64, f64)> {
    (0.0..2.0_f64, 0.0..2.5_f64).prop_map(|(birth, age)| (birth, birth + age))
}

proptest! {
    /// |d| ≤ m ≤ m_max ≤ n₁ + n₂ where m, the true turnover, is known.
    #[test]
    fn turnover_bounds_the_truth(lives in prop::collection::vec(life(), 0..80)) {
        let at = |now: f64| {
            let allocated = lives.iter().filter(|life| life.0 <= now).count() as i64;
            let freed = lives.iter().filter(|life| life.1 <= now).count() as i64;
            counts(allocated, allocated - freed)
        };
        let alive = |life: &(f64, f64), now: f64| life.0 <= now && life.1 > now;
        let truth = lives.iter().filter(|life| alive(life, 1.0) != alive(life, 2.0)).count();
        let (before, after) = (at(1.0), at(2.0));
        let mut evidence = Evidence::default();
        evidence.add(sampler(), 64, before, after);
        prop_assert!(evidence.net_objects().abs() <= truth as i64);
        prop_assert!(truth as i64 <= evidence.turnover());
        prop_assert!(evidence.turnover() <= before.inuse + after.inuse);
    }

    /// Merging parts gives what adding everything at once gives.
    #[test]
    fn merge_is_addition(
        changes in prop::collection::vec((0..6_usize, 0..9_i64, 0..9_i64), 0..14),
        cut in 0..14_usize,
    ) {
        let sizes = [16, 48, 4096, 1 << 18, 3 << 19, 64 << 20];
        let mut whole = Evidence::default();
        let (mut left, mut right) = (Evidence::default(), Evidence::default());
        for (i, &(size, added, freed)) in changes.iter().enumerate() {
            change(&mut whole, sizes[size], added, freed);
            let part = if i < cut { &mut left } else { &mut right };
            change(part, sizes[size], added, freed);
        }
        left.merge(&right);
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (a.abs() + b.abs()) + 1e-6;
        prop_assert_eq!(left.net_objects(), whole.net_objects());
        prop_assert_eq!(left.turnover(), whole.turnover());
        prop_assert!(near(left.delta_bytes(), whole.delta_bytes()));
        prop_assert!(near(left.p_value(), whole.p_value()));
        prop_assert!(near(left.interval95().0, whole.interval95().0));
        prop_assert!(near(left.interval95().1, whole.interval95().1));
        prop_assert_eq!(left.can_reach(0.001), whole.can_reach(0.001));
    }

    /// More growth at the same turnover is never less significant, and p is a probability.
    #[test]
    fn p_falls_with_growth(freed in 0..40_i64, total in 1..40_i64, exact in 0..4_i64) {
        let at = |freed: i64| {
            let mut evidence = changed(64, total, 0);
            change(&mut evidence, 4096, 0, freed);
            change(&mut evidence, 3 << 19, exact, 1);
            evidence.p_value()
        };
        let (less, more) = (at(freed + 1), at(freed));
        prop_assert!((0.0..=1.0).contains(&more));
        // The step from exact to normal at a turnover of 25 may wobble a little.
        prop_assert!(more <= less * 1.15 + 1e-12, "{more} {less}");
    }
}

/// An array that is reallocated a quarter larger: 30 MiB freed, 37.5 MiB added. That one of the
/// two was missed has a probability of exp(−60); the net growth is smaller than either.
#[test]
fn a_large_object_that_replaces_a_smaller_one_has_grown() {
    let mut evidence = Evidence::default();
    let counts = |allocated, inuse| BucketCounts { allocated, inuse };
    evidence.add(sampler(), 30 << 20, counts(1, 1), counts(1, 0));
    evidence.add(sampler(), (30 << 20) / 4 * 5, counts(0, 0), counts(1, 1));
    assert!((evidence.delta_bytes() - 7.5 * 1_048_576.0).abs() < 1.0);
    assert!(evidence.p_value() < 1e-25, "{}", evidence.p_value());
}
