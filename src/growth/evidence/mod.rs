//! What the sampled objects of some buckets say about growth between two moments.
//!
//! An object is sampled once, at birth, and stays sampled until it is freed, so
//! survivors cancel: the noise of a difference comes only from the *turnover*, the
//! sampled objects added or freed in between. [`Evidence`] adds up per-bucket changes
//! of a group (one bucket, a function, a whole subtree) and answers: how much, how
//! sure, could it be chance?
//!
//! Knows counts and sizes; nothing of files, sites or names.
//!
//! # The null hypothesis
//! "No net growth": as many bytes were added as freed, what shows is the sampler's
//! noise. Given the turnover m, the number added is then hypergeometric, which Bin(m, ½)
//! bounds; it *is* Bin(m, ½) for a population whose objects come and go independently
//! at equal rates. Objects that come and go in batches make real growth of real bytes:
//! the test rightly finds it, and whether it lasts is for later snapshots to say.
//!
//! # Objects that are always sampled
//! At s ≥ 3R an object's appearance is a fact, and no sign test applies. But it is missed
//! with probability exp(−s/R), up to 5 %, and with churn the misses no longer cancel:
//! at 3R and a hundred replaced objects, "grew, therefore real" is wrong two times in
//! five (`tests/calibration.rs`). So the facts carry exactly that doubt: [`Evidence::p_value`] asks how
//! likely enough frees went unseen. It is 0 at R = 1 and about exp(−growth/R) for pure
//! growth, which is far below the sign test's 2^−objects.

use super::Sampler;
use super::interval::{Z95, garwood95, mover};
use super::test::{
    binomial_upper_tail, binomial_upper_tail_with, normal_upper_tail, shifted_sign_test,
    sign_flip_tail,
};

/// From this turnover on, sums of several sizes are normal enough.
const NORMAL_TURNOVER: i64 = 25;

/// So many added exact objects are worth a sum over their misses; beyond, normal.
const MANY_FACTS: i64 = 10_000;

/// Sampled objects of one bucket at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BucketCounts {
    /// Sampled objects allocated since the process began: a.
    pub allocated: i64,
    /// Of those, the ones still in use: n. Freed: a − n.
    pub inuse: i64,
}

/// What the sampled objects of a group of buckets say about its growth between two
/// moments of one process (or, with [`add_independent`](Self::add_independent), of two).
///
/// In the formulas: size s, weight w = 1/p, per bucket net change d, turnover m, of which
/// (m + d)/2 were added and (m − d)/2 freed.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// Σ d over all buckets, sampled objects.
    net: i64,
    /// Σ m over all buckets, sampled objects.
    turnover: i64,
    /// The part of m, sampled objects, that is there because frees could have renewed a
    /// bucket's every object.
    renewable: i64,
    /// Largest R seen, bytes: how much can hide from the sampler.
    rate: i64,
    /// Objects for which being sampled is a matter of luck.
    chance: Chance,
    /// Objects that are always sampled; rare, hence boxed.
    facts: Option<Box<Facts>>,
}

/// The part that a sign test judges: s < 3R.
#[derive(Debug, Clone, Default)]
struct Chance {
    /// Whether the group has such a bucket at all, changed or not.
    present: bool,
    /// Σ (m + d)/2 and Σ (m − d)/2, sampled objects.
    added: i64,
    freed: i64,
    /// Σ s·w·d, bytes.
    delta: f64,
    /// Σ s²w²m, bytes²: the variance when each turned-over object is as likely new as old.
    test_variance: f64,
    /// Σ s²w(w − 1) over added and over freed objects, bytes²: the sampler's own.
    added_variance: f64,
    freed_variance: f64,
    sizes: Sizes,
}

/// Which bytes-per-sampled-object (s·w) took part, as long as an exact test needs them.
#[derive(Debug, Clone, Default)]
enum Sizes {
    #[default]
    None,
    One(f64),
    /// (s·w, turnover); the whole turnover is below [`NORMAL_TURNOVER`].
    Few(Vec<(f64, u32)>),
    Many,
}

/// The part that is certain but for misses of probability q = 1 − p ≤ e⁻³: s ≥ 3R.
#[derive(Debug, Clone, Default)]
struct Facts {
    /// Σ s·w·d, bytes.
    delta: f64,
    /// Σ (m + d)/2 and Σ (m − d)/2, objects.
    added: i64,
    freed: i64,
    /// Σ s²w(w − 1) over added and over freed objects, bytes².
    added_variance: f64,
    freed_variance: f64,
    /// Σ added·q·s·w (bytes) and Σ added·q·(s·w)² (bytes²): the frees among those
    /// that the sampler is expected to miss.
    missed: f64,
    missed_squared: f64,
    /// R, bytes, if objects so small took part that one can be missed with a
    /// probability above 2.5 %; else 0.
    hiding_rate: f64,
    /// Σ m·s/R: −ln of the chance to miss the whole turnover. Infinite at R ≤ 1.
    hazard: f64,
}

impl Evidence {
    /// Adds a bucket of `size` bytes per object, of one process at two moments.
    ///
    /// Its turnover is bounded by m = d + 2·min(n₁, Δf), for no more than n₁ of the
    /// objects freed in between (Δf) can have lived at the first moment.
    pub fn add(&mut self, sampler: Sampler, size: u64, before: BucketCounts, after: BucketCounts) {
        let net = after.inuse.saturating_sub(before.inuse);
        let freed_before = before.allocated.saturating_sub(before.inuse);
        let freed_after = after.allocated.saturating_sub(after.inuse);
        let freed = freed_after
            .saturating_sub(freed_before)
            .min(before.inuse)
            .max(0);
        let turnover = net
            .saturating_add(freed.saturating_mul(2))
            .max(net.saturating_abs());
        if freed > 0 && freed == before.inuse {
            self.renewable = self.renewable.saturating_add(freed.saturating_mul(2));
        }
        self.add_change(sampler, size, net, turnover);
    }

    /// Adds a bucket of two *different* processes (two pods, two runs): independent
    /// samples, so every object of either is turnover, m = n₁ + n₂.
    pub fn add_independent(
        &mut self,
        sampler: Sampler,
        size: u64,
        before: BucketCounts,
        after: BucketCounts,
    ) {
        let net = after.inuse.saturating_sub(before.inuse);
        let both = after.inuse.max(0).saturating_add(before.inuse.max(0));
        self.add_change(sampler, size, net, both.max(net.saturating_abs()));
    }

    fn add_change(&mut self, sampler: Sampler, size: u64, net: i64, turnover: i64) {
        let is_exact = sampler.is_exact(size);
        self.rate = self.rate.max(sampler.rate());
        self.chance.present |= !is_exact;
        // Most buckets of a profile stand still: spare them the exponential.
        if turnover == 0 || size == 0 {
            return;
        }
        self.net = self.net.saturating_add(net);
        self.turnover = self.turnover.saturating_add(turnover);
        let added = turnover.saturating_add(net) / 2;
        let freed = turnover.saturating_sub(net) / 2;
        let miss = sampler.miss(size);
        let unit = size as f64 * sampler.weight(size);
        // s²w(w − 1) = (s·w)²·q
        let noise = unit * unit * miss;
        if is_exact {
            let facts = self.facts.get_or_insert_default();
            facts.delta += unit * net as f64;
            facts.added = facts.added.saturating_add(added);
            facts.freed = facts.freed.saturating_add(freed);
            facts.added_variance += noise * added as f64;
            facts.freed_variance += noise * freed as f64;
            if miss > 0.025 {
                facts.hiding_rate = facts.hiding_rate.max(sampler.rate() as f64);
            }
            facts.missed += added as f64 * miss * unit;
            facts.missed_squared += added as f64 * miss * unit * unit;
            // At R = 1 there are no misses: −ln q is infinite, not s.
            facts.hazard += if miss == 0.0 {
                f64::INFINITY
            } else {
                -miss.ln()
            } * turnover as f64;
        } else {
            let chance = &mut self.chance;
            chance
                .sizes
                .add(chance.added.saturating_add(chance.freed), unit, turnover);
            chance.added = chance.added.saturating_add(added);
            chance.freed = chance.freed.saturating_add(freed);
            chance.delta += unit * net as f64;
            chance.test_variance += unit * unit * turnover as f64;
            chance.added_variance += noise * added as f64;
            chance.freed_variance += noise * freed as f64;
        }
    }

    /// Adds all that `other` has seen, as if its buckets had been added here.
    pub fn merge(&mut self, other: &Evidence) {
        self.net = self.net.saturating_add(other.net);
        self.turnover = self.turnover.saturating_add(other.turnover);
        self.renewable = self.renewable.saturating_add(other.renewable);
        self.rate = self.rate.max(other.rate);
        self.chance.merge(&other.chance);
        if let Some(theirs) = &other.facts {
            let facts = self.facts.get_or_insert_default();
            facts.delta += theirs.delta;
            facts.added = facts.added.saturating_add(theirs.added);
            facts.freed = facts.freed.saturating_add(theirs.freed);
            facts.added_variance += theirs.added_variance;
            facts.freed_variance += theirs.freed_variance;
            facts.hiding_rate = facts.hiding_rate.max(theirs.hiding_rate);
            facts.missed += theirs.missed;
            facts.missed_squared += theirs.missed_squared;
            facts.hazard += theirs.hazard;
        }
    }

    /// Σ d: sampled objects more (or, negative, less) than before.
    pub fn net_objects(&self) -> i64 {
        self.net
    }

    /// Σ m: an upper bound on the sampled objects added plus those freed.
    pub fn turnover(&self) -> i64 {
        self.turnover
    }

    /// Σ s·w·d: the estimated growth in bytes.
    pub fn delta_bytes(&self) -> f64 {
        self.chance.delta + self.facts_delta()
    }

    /// The part of [`delta_bytes`](Self::delta_bytes) in objects that are always sampled
    /// (s ≥ 3R): fact, but for the odd miss.
    pub fn exact_bytes(&self) -> f64 {
        self.facts_delta()
    }

    /// √Σ s²w(w − 1)m: the standard error of the growth in bytes. An upper bound, as m is.
    pub fn sd_bytes(&self) -> f64 {
        (self.chance.variance() + self.facts_variance()).sqrt()
    }

    /// Σ s·w·d / √Σ s²w²m over the sampled sizes, 0 without turnover. Always finite.
    ///
    /// Exact objects enter the numerator; the denominator gets only their small Σ s²w(w − 1)m,
    /// but is at least √(R·|their change|), the noise of the unseen small frees
    /// that could cancel it. A group of only exact growth E thus has z ≈ √(E/R).
    pub fn z(&self) -> f64 {
        if self.turnover == 0 {
            return 0.0;
        }
        let variance = self.test_variance();
        if variance > 0.0 {
            self.delta_bytes() / variance.sqrt()
        } else {
            0.0
        }
    }

    /// Whether most of the turnover's bound stems from buckets whose every object *may* have
    /// been renewed: the counts then say no more than those of two processes would.
    pub fn is_loose(&self) -> bool {
        self.renewable.saturating_mul(2) > self.turnover
    }

    /// Variance in bytes² of the change without net growth, given the turnover: Σ s²w²m.
    pub fn test_variance(&self) -> f64 {
        let hidden = self.rate as f64 * self.facts_delta().abs();
        self.chance.test_variance.max(hidden) + self.facts_variance()
    }

    /// One-sided p of "no net growth"; 1 without turnover.
    ///
    /// - One size: the exact sign test P[Bin(m, ½) ≥ (m + d)/2] at any m. The normal
    ///   tail would save nothing and is too small by a third at m = 25.
    /// - Several sizes, m < 25: the exact distribution of Σ ±s·w over the m objects.
    /// - Several sizes, m ≥ 25: the normal tail of z with a continuity correction of
    ///   one object (half the distance between two values of d).
    /// - Exact objects changed: how likely is it that frees of as many bytes went
    ///   unseen? See the module's head.
    pub fn p_value(&self) -> f64 {
        if self.turnover == 0 {
            return 1.0;
        }
        let chance = &self.chance;
        let turnover = chance.turnover();
        match (&self.facts, &chance.sizes) {
            (None, Sizes::None | Sizes::One(_)) => {
                binomial_upper_tail(turnover.max(0) as u64, chance.added.max(0) as u64)
            }
            // All of it growth: one of 2ᵐ ways, whatever the sizes. The common case.
            (None, Sizes::Few(_)) if chance.freed <= 0 => 0.5_f64.powi(turnover as i32),
            (None, Sizes::Few(classes)) => sign_flip_tail(classes, chance.delta),
            (Some(facts), _)
                if turnover < NORMAL_TURNOVER
                    && (facts.added <= MANY_FACTS || facts.missed <= 0.0) =>
            {
                self.p_beside_facts(facts)
            }
            _ => {
                let step = (chance.test_variance / turnover.max(1) as f64).sqrt();
                let sd = self.test_variance().sqrt().max(f64::MIN_POSITIVE);
                normal_upper_tail((self.delta_bytes() - step) / sd)
            }
        }
    }

    /// Sums over the number k of exact objects whose free went unseen: Bin(added, q), with
    /// one size for all that has the same mean and variance; each makes the certain
    /// growth smaller by its bytes, and the sampled part has to be chance beside the rest.
    fn p_beside_facts(&self, facts: &Facts) -> f64 {
        let beside = |certain: f64| {
            // A relative slack, for the difference may be all rounding.
            let certain = if certain.abs() <= 1e-9 * facts.delta.abs() {
                0.0
            } else {
                certain
            };
            if !self.chance.present {
                return if certain > 0.0 { 0.0 } else { 1.0 };
            }
            let added = self.chance.added.max(0) as u64;
            let freed = self.chance.freed.max(0) as u64;
            shifted_sign_test(added, freed, certain / self.hidden_unit())
        };
        let trials = facts.added.max(0) as u64;
        if facts.missed <= 0.0 || trials == 0 {
            return beside(facts.delta);
        }
        let unit = facts.missed_squared / facts.missed;
        let miss = (facts.missed / unit / trials as f64).min(1.0);
        let mut total = 0.0_f64;
        let mut at_least = 1.0;
        for k in 0..=trials {
            let left = facts.delta - k as f64 * unit;
            // With sizes mixed, a part of the last missed object is enough to cancel the rest.
            let is_cancelled = k > 0 && left < unit * (1.0 - 1e-9);
            let left = if !self.chance.present && is_cancelled {
                0.0
            } else {
                left
            };
            let p = beside(left);
            if p >= 1.0 || at_least == 0.0 {
                return (total + at_least).min(1.0);
            }
            let more = binomial_upper_tail_with(trials, k + 1, miss);
            total += (at_least - more).max(0.0) * p;
            at_least = more;
        }
        total.min(1.0)
    }

    /// Bytes that one sampled object stands for, where unseen frees are weighed against
    /// exact growth: s·w of the sizes that turned over, R if none was freed.
    fn hidden_unit(&self) -> f64 {
        let turnover = self.chance.turnover();
        if self.chance.freed <= 0 || turnover <= 0 {
            return self.rate.max(1) as f64;
        }
        (self.chance.test_variance / turnover as f64).sqrt()
    }

    /// 95 % limits of the growth in bytes.
    ///
    /// Turnover of 25 or more: normal, with [`sd_bytes`](Self::sd_bytes). Less: Garwood
    /// limits of the added and of the freed objects, scaled to bytes (Dobson et al.
    /// 1991) and combined (MOVER). What can hide from the sampler counts: a site of
    /// which nothing was sampled may still have grown by 1.84 MiB at the default R.
    /// Exact objects go by the same rule apart, since their noise is so much
    /// smaller; from 3.69·R on none of them can hide at this level.
    pub fn interval95(&self) -> (f64, f64) {
        let (mut down, mut up) = (0.0_f64, 0.0_f64);
        if self.chance.present {
            let chance = &self.chance;
            (down, up) = reach95(
                (chance.added, chance.added_variance),
                (chance.freed, chance.freed_variance),
                self.rate as f64,
            );
        }
        if let Some(facts) = &self.facts {
            let (facts_down, facts_up) = reach95(
                (facts.added, facts.added_variance),
                (facts.freed, facts.freed_variance),
                facts.hiding_rate,
            );
            (down, up) = (down.hypot(facts_down), up.hypot(facts_up));
        }
        (self.delta_bytes() - down, self.delta_bytes() + up)
    }

    /// Whether a turnover of this size could give p ≤ `alpha` if all of it were growth:
    /// m ≥ log₂(1/alpha). An exact object counts for as many sampled ones as it is
    /// surer than they: s/(R·ln 2). Ask before correcting for multiplicity.
    pub fn can_reach(&self, alpha: f64) -> bool {
        let hazard = self.facts.as_ref().map_or(0.0, |facts| facts.hazard);
        let bits = self.chance.turnover() as f64 + hazard / std::f64::consts::LN_2;
        self.turnover > 0 && bits >= -alpha.log2() - 1e-9
    }

    fn facts_delta(&self) -> f64 {
        self.facts.as_ref().map_or(0.0, |facts| facts.delta)
    }

    fn facts_variance(&self) -> f64 {
        self.facts
            .as_ref()
            .map_or(0.0, |facts| facts.added_variance + facts.freed_variance)
    }
}

/// How far below and above the estimate, in bytes, `added − freed` may lie (95 %). Each is
/// (sampled objects, their Σ s²w(w − 1)); `unseen` is the bytes that the Garwood limit of
/// 0 objects counts in.
fn reach95(added: (i64, f64), freed: (i64, f64), unseen: f64) -> (f64, f64) {
    if added.0.saturating_add(freed.0) >= NORMAL_TURNOVER {
        let reach = Z95 * (added.1 + freed.1).sqrt();
        return (reach, reach);
    }
    let around_zero = |(count, variance): (i64, f64)| {
        let n = count.max(0) as f64;
        let (low, high) = garwood95(count.max(0) as u64);
        let unit = if n > 0.0 {
            (variance / n).sqrt()
        } else {
            unseen
        };
        (0.0, ((low - n) * unit, (high - n) * unit))
    };
    let (low, high) = mover(around_zero(added), around_zero(freed));
    (-low, high)
}

impl Chance {
    fn turnover(&self) -> i64 {
        self.added.saturating_add(self.freed)
    }

    fn variance(&self) -> f64 {
        self.added_variance + self.freed_variance
    }

    fn merge(&mut self, other: &Chance) {
        let here = self.turnover();
        match &other.sizes {
            Sizes::None => {}
            Sizes::One(unit) => self.sizes.add(here, *unit, other.turnover()),
            Sizes::Few(classes) => {
                let mut here = here;
                for &(unit, count) in classes {
                    self.sizes.add(here, unit, i64::from(count));
                    here += i64::from(count);
                }
            }
            Sizes::Many => self.sizes = Sizes::Many,
        }
        self.present |= other.present;
        self.added = self.added.saturating_add(other.added);
        self.freed = self.freed.saturating_add(other.freed);
        self.delta += other.delta;
        self.test_variance += other.test_variance;
        self.added_variance += other.added_variance;
        self.freed_variance += other.freed_variance;
    }
}

impl Sizes {
    /// Notes `turnover` more objects of `unit` bytes each, beside `here` noted before.
    fn add(&mut self, here: i64, unit: f64, turnover: i64) {
        let few = here.saturating_add(turnover) < NORMAL_TURNOVER;
        match self {
            Sizes::None => *self = Sizes::One(unit),
            Sizes::One(known) if *known == unit => {}
            Sizes::One(known) if few => {
                *self = Sizes::Few(vec![(*known, here as u32), (unit, turnover as u32)]);
            }
            Sizes::Few(classes) if few => match classes.iter_mut().find(|class| class.0 == unit) {
                Some(class) => class.1 += turnover as u32,
                None => classes.push((unit, turnover as u32)),
            },
            _ => *self = Sizes::Many,
        }
    }
}

#[cfg(test)]
mod tests;
