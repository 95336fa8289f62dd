//! Are the error rates that heapdrift states the ones it has?
//!
//! Builds exact object histories, whose truth is known, thins each of them about a
//! thousand times the way the Go runtime samples (an object is sampled at birth with
//! p = 1 − exp(−s/R), for life), and counts how often the statistics are wrong. Seeded:
//! the tables are the same on every run; `--nocapture` prints them.
//!
//! What is held fixed: under "no net growth" the *true* bytes are the same at both
//! moments, and only the sampling is redrawn (the error the p-value is about). Histories
//! that are redrawn too ("population") have objects that come and go independently.

mod support;

use heapdrift::growth::{BucketCounts, Evidence, Sampler, benjamini_hochberg, objects_needed};
use std::collections::BTreeMap;
use support::random::Random;

const DEFAULT_RATE: i64 = 512 * 1024;
const MEBIBYTE: f64 = 1_048_576.0;
const REPLICATES: usize = 1_000;

/// One object of the true history. The snapshots are taken at times 1 and 2.
struct Object {
    size: u64,
    birth: f64,
    death: f64,
}

/// A true history of one group of sites.
#[derive(Default)]
struct History {
    objects: Vec<Object>,
}

/// Objects of one size that sampling cannot tell apart: what became of them.
#[derive(Debug, Clone, Copy, Default)]
struct Fates {
    /// Alive at 1, freed by 2.
    freed: u64,
    /// Alive at both.
    survived: u64,
    /// Born after 1, alive at 2.
    added: u64,
    /// Born and freed in between.
    transient: u64,
    /// Freed before 1.
    past: u64,
}

type Population = BTreeMap<u64, Fates>;

impl History {
    fn put(mut self, size: u64, count: u64, birth: f64, death: f64) -> Self {
        self.objects
            .extend((0..count).map(|_| Object { size, birth, death }));
        self
    }
    fn survive(self, size: u64, count: u64) -> Self {
        self.put(size, count, 0.5, f64::INFINITY)
    }
    fn add(self, size: u64, count: u64) -> Self {
        self.put(size, count, 1.5, f64::INFINITY)
    }
    fn free(self, size: u64, count: u64) -> Self {
        self.put(size, count, 0.5, 1.5)
    }
    /// As many added as freed.
    fn replace(self, size: u64, count: u64) -> Self {
        self.add(size, count).free(size, count)
    }
    /// Freed between the snapshots without having been in either: makes Δf large, and
    /// with it the bound on the turnover.
    fn pass_through(self, size: u64, count: u64) -> Self {
        self.put(size, count, 1.3, 1.6)
            .put(size, count / 2, 0.2, 0.4)
    }

    fn population(&self) -> Population {
        let mut population = Population::new();
        for object in &self.objects {
            let fates = population.entry(object.size).or_default();
            let alive = |now: f64| object.birth <= now && object.death > now;
            *match (alive(1.0), alive(2.0)) {
                (true, true) => &mut fates.survived,
                (true, false) => &mut fates.freed,
                (false, true) => &mut fates.added,
                (false, false) if object.death <= 1.0 => &mut fates.past,
                (false, false) => &mut fates.transient,
            } += 1;
        }
        population
    }
}

/// Bytes that were truly added less those freed.
fn true_growth(population: &Population) -> f64 {
    population
        .iter()
        .map(|(size, fates)| *size as f64 * (fates.added as f64 - fates.freed as f64))
        .sum()
}

/// One profile pair: thins the population, counts as the runtime does. Returns what
/// heapdrift makes of it and the true sampled turnover.
fn sample(population: &Population, sampler: Sampler, random: &mut Random) -> (Evidence, u64) {
    let mut evidence = Evidence::default();
    let mut turnover = 0;
    for (&size, fates) in population {
        let p = sampler.probability(size);
        let mut thin = |count| random.thin(count, p) as i64;
        let (freed, survived, added) = (thin(fates.freed), thin(fates.survived), thin(fates.added));
        let (transient, past) = (thin(fates.transient), thin(fates.past));
        let allocated = past + freed + survived;
        let before = BucketCounts {
            allocated,
            inuse: freed + survived,
        };
        let after = BucketCounts {
            allocated: allocated + transient + added,
            inuse: survived + added,
        };
        evidence.add(sampler, size, before, after);
        turnover += (added + freed) as u64;
    }
    (evidence, turnover)
}

fn sampler(rate: i64) -> Sampler {
    Sampler::new(rate).expect("positive rate")
}

/// What a thousand profile pairs of one history gave.
struct Outcome {
    name: &'static str,
    p: Vec<f64>,
    covered: usize,
    /// True sampled turnover and heapdrift's bound on it, means.
    turnover: f64,
    bound: f64,
}

impl Outcome {
    fn rate_at(&self, alpha: f64) -> f64 {
        self.p.iter().filter(|p| **p <= alpha).count() as f64 / self.p.len() as f64
    }
    fn coverage(&self) -> f64 {
        self.covered as f64 / self.p.len() as f64
    }
    fn print(&self) {
        println!(
            "{:<52} {:>7.1} {:>7.1} {:>7.3} {:>7.3} {:>7.3} {:>8.3}",
            self.name,
            self.turnover,
            self.bound,
            self.rate_at(0.10),
            self.rate_at(0.05),
            self.rate_at(0.01),
            self.coverage(),
        );
    }
    fn header(title: &str) {
        println!(
            "\n{title}\n{:<52} {:>7} {:>7} {:>7} {:>7} {:>7} {:>8}",
            "history", "m", "m_max", "p≤.10", "p≤.05", "p≤.01", "covered"
        );
    }
}

/// Largest rate that 3 standard errors of so many replicates allow for `rate`.
fn at_most(rate: f64, replicates: usize) -> f64 {
    rate + 3.0 * (rate * (1.0 - rate) / replicates as f64).sqrt()
}

fn at_least(rate: f64, replicates: usize) -> f64 {
    rate - 3.0 * (rate * (1.0 - rate) / replicates as f64).sqrt()
}

/// `draw` gives the population of each replicate: always the same, or redrawn.
fn replicate(
    name: &'static str,
    rate: i64,
    replicates: usize,
    mut draw: impl FnMut(&mut Random) -> Population,
) -> Outcome {
    // A seed of its own for each history, so that a new row changes no other.
    let seed = name.bytes().fold(17_u64, |seed, b| {
        seed.wrapping_mul(131).wrapping_add(b.into())
    });
    let mut random = Random::new(seed);
    let mut outcome = Outcome {
        name,
        p: Vec::new(),
        covered: 0,
        turnover: 0.0,
        bound: 0.0,
    };
    for _ in 0..replicates {
        let population = draw(&mut random);
        let truth = true_growth(&population);
        let (evidence, turnover) = sample(&population, sampler(rate), &mut random);
        assert!(
            turnover as i64 <= evidence.turnover(),
            "the bound is below the truth"
        );
        let (low, high) = evidence.interval95();
        outcome.covered += usize::from(low <= truth && truth <= high);
        outcome.p.push(evidence.p_value());
        outcome.turnover += turnover as f64 / replicates as f64;
        outcome.bound += evidence.turnover() as f64 / replicates as f64;
    }
    outcome
}

fn fixed(name: &'static str, rate: i64, history: History) -> Outcome {
    let population = history.population();
    replicate(name, rate, 2 * REPLICATES, |_| population.clone())
}

/// Objects of `size` whose bytes give `sampled` sampled objects on average.
fn objects(sampled: f64, size: u64) -> u64 {
    (sampled / sampler(DEFAULT_RATE).probability(size)).round() as u64
}

/// 3R at the default rate: the smallest object that is always sampled, all but.
const EXACT: u64 = 3 * DEFAULT_RATE as u64;

fn histories_without_growth() -> Vec<Outcome> {
    let start = History::default;
    let n = objects;
    let mut rows = vec![
        fixed(
            "4 KiB, 6 replaced",
            DEFAULT_RATE,
            start().survive(4096, 40_000).replace(4096, n(3.0, 4096)),
        ),
        fixed(
            "4 KiB, 20 replaced",
            DEFAULT_RATE,
            start().survive(4096, 40_000).replace(4096, n(10.0, 4096)),
        ),
        fixed(
            "4 KiB, 200 replaced",
            DEFAULT_RATE,
            start().survive(4096, 40_000).replace(4096, n(100.0, 4096)),
        ),
        fixed(
            "4 KiB, 200 replaced, heavy churn between",
            DEFAULT_RATE,
            start()
                .survive(4096, 40_000)
                .replace(4096, n(100.0, 4096))
                .pass_through(4096, n(300.0, 4096)),
        ),
        fixed(
            "512 KiB, 60 replaced",
            DEFAULT_RATE,
            start()
                .survive(1 << 19, 100)
                .replace(1 << 19, n(30.0, 1 << 19)),
        ),
        fixed(
            "1.4 MiB, 20 replaced",
            DEFAULT_RATE,
            start().survive(1_468_006, 20).replace(1_468_006, 10),
        ),
        fixed(
            "4 KiB at R = 64 KiB, 300 replaced",
            65_536,
            start().survive(4096, 20_000).replace(4096, 2_400),
        ),
        fixed(
            "5 sizes, 12 replaced",
            DEFAULT_RATE,
            [32, 256, 4096, 32_768, 262_144]
                .into_iter()
                .fold(start(), |h, s| {
                    h.survive(s, n(20.0, s)).replace(s, n(1.2, s))
                }),
        ),
        fixed(
            "5 sizes, 60 replaced",
            DEFAULT_RATE,
            [256, 1024, 4096, 32_768, 262_144]
                .into_iter()
                .fold(start(), |h, s| {
                    h.survive(s, n(40.0, s)).replace(s, n(6.0, s))
                }),
        ),
        fixed(
            "2 sizes, 200 replaced",
            DEFAULT_RATE,
            start()
                .replace(4096, n(70.0, 4096))
                .replace(262_144, n(30.0, 262_144)),
        ),
        fixed(
            "5 MiB of 1 MiB added, 5 MiB of 1 KiB freed",
            DEFAULT_RATE,
            start()
                .survive(1024, 100_000)
                .add(1 << 20, 5)
                .free(1024, 5 << 10),
        ),
        fixed(
            "20 MiB of 1 KiB added, 20 MiB of 1 MiB freed",
            DEFAULT_RATE,
            start()
                .survive(1 << 20, 10)
                .add(1024, 20 << 10)
                .free(1 << 20, 20),
        ),
        fixed(
            "exact (3R), 1 replaced",
            DEFAULT_RATE,
            start().survive(EXACT, 10).replace(EXACT, 1),
        ),
        fixed(
            "exact (3R), 200 replaced",
            DEFAULT_RATE,
            start().survive(EXACT, 10).replace(EXACT, 100),
        ),
        fixed(
            "exact (3R and 4R), 20 replaced",
            DEFAULT_RATE,
            start().replace(EXACT, 10).replace(EXACT / 3 * 4, 10),
        ),
        fixed(
            "1 exact (3R) added, 1.5 MiB of 4 KiB freed",
            DEFAULT_RATE,
            start()
                .survive(4096, 40_000)
                .add(EXACT, 1)
                .free(4096, EXACT / 4096),
        ),
        fixed(
            "12 exact (3R) added, 18 MiB of 4 KiB freed",
            DEFAULT_RATE,
            start()
                .survive(4096, 40_000)
                .add(EXACT, 12)
                .free(4096, 12 * EXACT / 4096),
        ),
        fixed(
            "2 exact (3R) freed, 3 MiB of 4 KiB added",
            DEFAULT_RATE,
            start()
                .survive(4096, 40_000)
                .free(EXACT, 2)
                .add(4096, 2 * EXACT / 4096),
        ),
        fixed(
            "exact (3R) and 4 KiB, 10 replaced of each",
            DEFAULT_RATE,
            start()
                .survive(4096, 40_000)
                .replace(EXACT, 5)
                .replace(4096, n(5.0, 4096)),
        ),
    ];
    for (name, mean) in [
        ("population of 4 KiB, 10 come and go", 5.0),
        ("population of 4 KiB, 100 come and go", 50.0),
    ] {
        rows.push(replicate(name, DEFAULT_RATE, 2 * REPLICATES, |random| {
            let mean = mean / sampler(DEFAULT_RATE).probability(4096);
            let fates = Fates {
                survived: 40_000,
                added: random.poisson(mean),
                freed: random.poisson(mean),
                ..Fates::default()
            };
            Population::from([(4096, fates)])
        }));
    }
    rows
}

/// Where the table of p-values is cut.
const CUTS: [f64; 8] = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9];

/// The share of p-values at or below each cut, a line a history, and all of them as a plot:
/// uniform p-values would fill each tenth with a tenth, careful ones lean to the right.
fn print_p_values(rows: &[Outcome]) {
    println!("\nShare of p-values without growth at or below");
    let cuts = CUTS.map(|cut| format!("{cut:>7}"));
    println!("{:<52} {}", "history", cuts.join(""));
    for row in rows {
        let shares = CUTS.map(|cut| format!("{:>7.3}", row.rate_at(cut)));
        println!("{:<52} {}", row.name, shares.join(""));
    }
    let all: Vec<f64> = rows.iter().flat_map(|row| row.p.iter().copied()).collect();
    println!("\nAll {} of them, by tenths", all.len());
    for tenth in 0..10 {
        let (from, to) = (f64::from(tenth) / 10.0, f64::from(tenth + 1) / 10.0);
        let inside = all.iter().filter(|p| from < **p && **p <= to).count();
        let share = inside as f64 / all.len() as f64;
        println!(
            "{from:.1} to {to:.1} {share:>6.3} {}",
            "▇".repeat((share * 200.0) as usize)
        );
    }
}

#[test]
fn p_values_are_honest_without_growth() {
    let rows = histories_without_growth();
    Outcome::header("No net growth");
    for row in &rows {
        row.print();
    }
    print_p_values(&rows);
    for row in &rows {
        // Above a quarter nothing is ever decided.
        for alpha in CUTS.into_iter().filter(|cut| *cut <= 0.25) {
            let limit = at_most(alpha, row.p.len());
            assert!(
                row.rate_at(alpha) <= limit,
                "{}: {} at {alpha}",
                row.name,
                row.rate_at(alpha)
            );
        }
    }
}

#[test]
fn intervals_cover_the_truth() {
    let start = || History::default().survive(4096, 40_000);
    let n = objects;
    let mut rows = Vec::new();
    for (name, grown) in [
        ("pure leak of 4 KiB, 1", 1.0),
        ("pure leak of 4 KiB, 5", 5.0),
        ("pure leak of 4 KiB, 17", 17.0),
        ("pure leak of 4 KiB, 25", 25.0),
        ("pure leak of 4 KiB, 35", 35.0),
        ("pure leak of 4 KiB, 60", 60.0),
        ("pure leak of 4 KiB, 200", 200.0),
    ] {
        rows.push(fixed(name, DEFAULT_RATE, start().add(4096, n(grown, 4096))));
    }
    rows.push(fixed(
        "pure leak of 1.4 MiB, 4",
        DEFAULT_RATE,
        start().add(1_468_006, 4),
    ));
    rows.push(fixed(
        "pure leak of 1.4 MiB, 40",
        DEFAULT_RATE,
        History::default().add(1_468_006, 40),
    ));
    rows.push(fixed(
        "pure leak of exact (3R), 30",
        DEFAULT_RATE,
        History::default().add(EXACT, 30),
    ));
    rows.push(fixed(
        "leak of 20 among 100 replaced",
        DEFAULT_RATE,
        start()
            .add(4096, n(20.0, 4096))
            .replace(4096, n(50.0, 4096)),
    ));
    rows.push(fixed(
        "leak of 20 among 100 replaced, heavy churn between",
        DEFAULT_RATE,
        start()
            .add(4096, n(20.0, 4096))
            .replace(4096, n(50.0, 4096))
            .pass_through(4096, n(100.0, 4096)),
    ));
    rows.push(fixed(
        "leak in 4 sizes, 12 among 8 replaced",
        DEFAULT_RATE,
        [64, 1024, 16_384, 262_144]
            .into_iter()
            .fold(start(), |h, s| h.add(s, n(3.0, s)).replace(s, n(1.0, s))),
    ));
    rows.push(fixed(
        "leak in 3 sizes, 30 among 60 replaced",
        DEFAULT_RATE,
        [1024, 16_384, 262_144]
            .into_iter()
            .fold(start(), |h, s| h.add(s, n(10.0, s)).replace(s, n(10.0, s))),
    ));
    rows.push(fixed(
        "shrinking by 40",
        DEFAULT_RATE,
        start().free(4096, n(40.0, 4096)),
    ));
    Outcome::header("Growth");
    for row in &rows {
        row.print();
    }
    for row in rows.iter().chain(&histories_without_growth()) {
        let covered = row.coverage();
        // Garwood's limits of a few counts are wider than 95 %, and so is what rests on a bound
        // that is above the truth. Else neither too narrow nor too wide.
        if row.turnover >= 25.0 && row.bound <= row.turnover + 1e-9 {
            let limit = at_most(0.97, row.p.len());
            assert!(covered <= limit, "{}: {covered}", row.name);
        }
        assert!(
            covered >= at_least(0.93, row.p.len()),
            "{}: {covered}",
            row.name
        );
    }
}

/// "An exact object that appears is a fact, so p = 0" would be a false alarm almost
/// every other time: with churn, misses of 5 % no longer cancel.
#[test]
fn growth_of_exact_objects_alone_is_no_proof() {
    let population = History::default().replace(EXACT, 100).population();
    let mut random = Random::new(41);
    let (mut grew, mut significant) = (0, 0);
    for _ in 0..REPLICATES {
        let (evidence, _) = sample(&population, sampler(DEFAULT_RATE), &mut random);
        grew += usize::from(evidence.net_objects() > 0);
        significant += usize::from(evidence.p_value() <= 0.05);
    }
    println!(
        "\n100 exact objects (3R) replaced: seems to grow {grew}, p ≤ 0.05 {significant}, of {REPLICATES}"
    );
    assert!(grew > REPLICATES / 3);
    assert!(significant as f64 / REPLICATES as f64 <= at_most(0.05, REPLICATES));
}

/// Objects that come and go in batches change the true bytes: the test finds that, and
/// is right about it. It says nothing about whether the growth will last.
#[test]
fn batches_are_real_growth() {
    let batch = objects(10.0, 4096);
    let mut random = Random::new(43);
    let (mut rejected, mut wrong) = (0, 0);
    for _ in 0..REPLICATES {
        let fates = Fates {
            survived: 40_000,
            added: batch * random.poisson(5.0),
            freed: batch * random.poisson(5.0),
            ..Fates::default()
        };
        let population = Population::from([(4096, fates)]);
        let (evidence, _) = sample(&population, sampler(DEFAULT_RATE), &mut random);
        if evidence.p_value() <= 0.05 {
            rejected += 1;
            wrong += usize::from(true_growth(&population) <= 0.0);
        }
    }
    println!(
        "\nBatches of 5 MiB at equal rates: p ≤ 0.05 in {rejected} of {REPLICATES}, of which not grown {wrong}"
    );
    assert!(rejected > REPLICATES / 5, "a random walk does grow");
    assert!(wrong as f64 / REPLICATES as f64 <= at_most(0.05, REPLICATES));
}

/// A kind of site in a program of many, and how its detection fares.
struct Kind {
    name: &'static str,
    leaks: bool,
    sites: usize,
    history: History,
}

/// Mean share of false ones among the sites found, and each kind's share found, over
/// `replicates` profile pairs of a program with these sites.
fn discover(kinds: &[Kind], replicates: usize, seed: u64) -> (f64, Vec<f64>) {
    const Q: f64 = 0.05;
    let populations: Vec<Population> = kinds.iter().map(|kind| kind.history.population()).collect();
    let mut random = Random::new(seed);
    let mut false_share = 0.0;
    let mut found = vec![0_usize; kinds.len()];
    for _ in 0..replicates {
        let (mut owner, mut p) = (Vec::new(), Vec::new());
        for (index, kind) in kinds.iter().enumerate() {
            for _ in 0..kind.sites {
                let (evidence, _) = sample(&populations[index], sampler(DEFAULT_RATE), &mut random);
                if evidence.can_reach(Q) {
                    owner.push(index);
                    p.push(evidence.p_value());
                }
            }
        }
        let (mut right, mut wrong) = (0, 0);
        for (index, rejected) in owner.into_iter().zip(benjamini_hochberg(&p, Q)) {
            if rejected {
                found[index] += 1;
                *(if kinds[index].leaks {
                    &mut right
                } else {
                    &mut wrong
                }) += 1;
            }
        }
        false_share += f64::from(wrong) / f64::from((right + wrong).max(1)) / replicates as f64;
    }
    let share =
        |(index, count): (usize, usize)| count as f64 / (kinds[index].sites * replicates) as f64;
    (
        false_share,
        found.into_iter().enumerate().map(share).collect(),
    )
}

fn honest_kinds() -> Vec<Kind> {
    let start = History::default;
    let n = |sampled| objects(sampled, 4096);
    let kind = |name, sites, history| Kind {
        name,
        leaks: false,
        sites,
        history,
    };
    vec![
        kind("nothing happens", 100, start().survive(4096, n(3.0))),
        // Right at the screen of five turned-over objects.
        kind(
            "5 replaced",
            120,
            start().survive(4096, n(2.0)).replace(4096, n(2.5)),
        ),
        // Where the bound on the turnover depends on the change itself.
        kind(
            "5 replaced, heavy churn",
            120,
            start().replace(4096, n(2.5)).pass_through(4096, n(20.0)),
        ),
        kind(
            "30 replaced, two sizes",
            60,
            start()
                .survive(64, objects(9.0, 64))
                .replace(64, objects(8.0, 64))
                .replace(65_536, objects(7.0, 65_536)),
        ),
        kind("100 replaced", 20, start().replace(4096, n(50.0))),
        kind("exact (3R), 10 replaced", 20, start().replace(EXACT, 5)),
    ]
}

#[test]
fn false_discoveries_stay_below_one_in_twenty() {
    const RUNS: usize = 300;
    let n = |sampled| objects(sampled, 4096);
    let leak = |name, sites, history| Kind {
        name,
        leaks: true,
        sites,
        history,
    };
    let mut kinds = honest_kinds();
    let (false_alarms, shares) = discover(&kinds, RUNS, 47);
    println!(
        "\nAll sites honest: a false finding in {:.1} % of {RUNS} programs",
        100.0 * false_alarms
    );
    for (kind, share) in kinds.iter().zip(&shares) {
        println!(
            "  {:<32} {:>5} sites, found {:>6.2} %",
            kind.name,
            kind.sites,
            100.0 * share
        );
    }
    assert!(false_alarms <= at_most(0.05, RUNS));

    kinds.push(leak(
        "leak of 8",
        15,
        History::default().survive(4096, n(3.0)).add(4096, n(8.0)),
    ));
    kinds.push(leak(
        "leak of 17",
        15,
        History::default().add(4096, n(17.0)),
    ));
    kinds.push(leak(
        "leak of 40 among 60 replaced",
        15,
        History::default().add(4096, n(40.0)).replace(4096, n(30.0)),
    ));
    kinds.push(leak(
        "leak of 6 exact (3R)",
        5,
        History::default().add(EXACT, 6),
    ));
    let (false_share, shares) = discover(&kinds, RUNS, 53);
    println!(
        "\nSome leak: {:.2} % of the findings are false",
        100.0 * false_share
    );
    for (kind, share) in kinds.iter().zip(&shares) {
        println!(
            "  {:<32} {:>5} sites, found {:>6.2} %",
            kind.name,
            kind.sites,
            100.0 * share
        );
    }
    assert!(false_share <= 0.05, "{false_share}");
    // A leak of twice the single-test limit is found even among hundreds of sites.
    for (kind, share) in kinds.iter().zip(&shares).filter(|(kind, _)| kind.leaks) {
        let floor = if kind.name == "leak of 8" { 0.2 } else { 0.9 };
        assert!(*share >= floor, "{}: {share}", kind.name);
    }
}

/// P[Poisson(mean) ≥ k], summed plainly.
fn poisson_upper_tail(mean: f64, k: u64) -> f64 {
    let mut term = (-mean).exp();
    let mut below = 0.0;
    for i in 0..k {
        below += term;
        term *= mean / (i + 1) as f64;
    }
    1.0 - below
}

/// The detection limit as stated: pure growth is found as soon as 5 (alone) or 17 (among
/// 5,000 sites) of its objects are sampled, which is every other time at 2.5 and 8.5 MiB.
#[test]
fn power_of_a_pure_leak() {
    println!("\nPower of a pure leak of 4 KiB objects, {REPLICATES} profile pairs each");
    println!(
        "{:>8} {:>9} {:>13} {:>16}",
        "MiB", "sampled", "alone", "of 5,000 sites"
    );
    for mebibytes in [1.0, 2.5, 4.0, 5.0, 6.0, 8.5, 10.0, 12.5, 15.0] {
        let count = (mebibytes * MEBIBYTE / 4096.0) as u64;
        let population = History::default()
            .survive(4096, 10_000)
            .add(4096, count)
            .population();
        let mut random = Random::new(59 + count);
        let levels = [
            (0.05, objects_needed(0.05, 1)),
            (0.05 / 5_000.0, objects_needed(0.05, 5_000)),
        ];
        let mut found = [0_usize; 2];
        for _ in 0..REPLICATES {
            let (evidence, _) = sample(&population, sampler(DEFAULT_RATE), &mut random);
            for (found, (alpha, _)) in found.iter_mut().zip(levels) {
                *found += usize::from(evidence.p_value() <= alpha);
            }
        }
        let share = found.map(|found| found as f64 / REPLICATES as f64);
        let mean = count as f64 * sampler(DEFAULT_RATE).probability(4096);
        println!(
            "{mebibytes:>8} {mean:>9.1} {:>13.3} {:>16.3}",
            share[0], share[1]
        );
        for (share, (_, needed)) in share.into_iter().zip(levels) {
            let expected = poisson_upper_tail(mean, needed);
            let slack = 0.001 + at_most(expected, REPLICATES) - expected;
            assert!(
                (share - expected).abs() <= slack,
                "{mebibytes} MiB: {share}, not {expected}"
            );
        }
    }
}
