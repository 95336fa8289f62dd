//! Units of comparison (sites, packages, the whole) and the rule by which they fail.

use super::{CheckAgainst, CheckLevel, CheckOptions, CheckRow, CheckRowVerdict};
use crate::growth::{Difference, Holding, Sampler, hodges_lehmann, mann_whitney};
use crate::profile::{HeapColumns, HeapProfile};
use crate::site::SiteIndex;
use std::collections::BTreeMap;

/// Share of pairs of one build that may fail, over all tests together (Bonferroni).
pub(super) const ALPHA: f64 = 0.01;
/// At which a site counts as shrunk when moves are summed out.
const MILD_ALPHA: f64 = 0.05;
/// At which the runs themselves must agree: four a side have to be wholly apart (1 in 70).
const RANK_ALPHA: f64 = 0.025;
/// Runs a side from which their own scatter is asked.
const RUNS_FOR_RANKS: usize = 4;

/// A site: the function that allocates, and the one that ordered it, canonical.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SiteKey {
    pub function: String,
    pub ordered_by: String,
}

/// What one unit holds.
#[derive(Debug, Clone, Default)]
pub(super) struct Unit {
    pub holding: Holding,
    /// Scaled bytes of each run; empty in a baseline.
    pub runs: Vec<f64>,
    /// As the profile names it, and where.
    pub place: Option<(String, Option<String>, Option<u32>)>,
    pub package: String,
}

/// The heaps of one build by site.
#[derive(Debug, Clone, Default)]
pub(super) struct Units {
    pub sites: BTreeMap<SiteKey, Unit>,
    pub runs: usize,
    /// Sampling rate, bytes; 0 = unknown or mixed.
    pub rate: i64,
    /// Whether every run has sampled counts.
    pub has_counts: bool,
}

impl Units {
    /// Adds a run's heap under its keys.
    pub(super) fn add_run(&mut self, columns: &HeapColumns, heap: &HeapProfile, sites: &SiteIndex) {
        let sampler = Sampler::new(heap.period).filter(|_| heap.has_counts());
        self.has_counts = (self.runs == 0 || self.has_counts) && sampler.is_some();
        self.rate = match self.runs {
            0 => heap.period,
            _ if self.rate == heap.period => self.rate,
            _ => 0,
        };
        let run = self.runs;
        self.runs += 1;
        let name = |function| sites.name(sites.canon(function)).to_owned();
        let mut last = None;
        for row in 0..columns.len() {
            let bytes = columns.inuse_space[row];
            if bytes == 0 {
                continue;
            }
            let (stack, size) = columns.key(row);
            let key = match last.take() {
                Some((known, key)) if known == stack => key,
                _ => match (sites.site(stack), sites.orderer(stack)) {
                    (Some(site), Some(orderer)) => SiteKey {
                        function: name(site.function),
                        ordered_by: name(orderer.function),
                    },
                    _ => SiteKey {
                        function: "(no stack)".to_owned(),
                        ordered_by: "(no stack)".to_owned(),
                    },
                },
            };
            let unit = self.sites.entry(key.clone()).or_insert_with(|| {
                let site = sites.site(stack);
                let symbols = sites.symbols();
                let orderer = sites.orderer(stack);
                Unit {
                    place: site.map(|frame| {
                        let file = symbols.function_file(frame.function);
                        (
                            symbols.function_name(frame.function).to_owned(),
                            (!file.is_empty()).then(|| file.to_owned()),
                            (frame.line > 0).then_some(frame.line),
                        )
                    }),
                    package: orderer.map_or_else(String::new, |frame| {
                        sites.package(sites.canon(frame.function)).to_owned()
                    }),
                    ..Unit::default()
                }
            });
            last = Some((stack, key));
            unit.runs.resize(run + 1, 0.0);
            unit.runs[run] += bytes as f64;
            match sampler {
                Some(sampler) => unit
                    .holding
                    .add(sampler, size, sampler.sampled(bytes, size)),
                None => unit.holding.bytes += bytes as f64,
            }
        }
    }

    /// All of it.
    pub(super) fn whole(&self) -> Unit {
        let mut whole = Unit::default();
        for unit in self.sites.values() {
            whole.add(unit, self.runs);
        }
        whole
    }

    /// By package of the function that orders.
    fn packages(&self) -> BTreeMap<&str, Unit> {
        let mut packages: BTreeMap<&str, Unit> = BTreeMap::new();
        for unit in self.sites.values() {
            let package = packages.entry(&unit.package).or_default();
            package.add(unit, self.runs);
        }
        packages
    }
}

impl Unit {
    fn add(&mut self, other: &Self, runs: usize) {
        self.holding.merge(&other.holding);
        self.runs.resize(runs, 0.0);
        for (sum, bytes) in self.runs.iter_mut().zip(&other.runs) {
            *sum += bytes;
        }
    }

    /// The bytes of each run.
    fn values(&self, runs: usize) -> Vec<f64> {
        let mut values = self.runs.clone();
        values.resize(runs, 0.0);
        values
    }
}

/// All rows of a comparison.
pub(super) struct Judged {
    pub rows: Vec<CheckRow>,
    pub tests: usize,
}

/// Two builds, and what is asked of them.
struct Pair<'a> {
    base: &'a Units,
    head: &'a Units,
    against: CheckAgainst,
    tests: usize,
}

/// Compares all units and gives each its verdict.
pub(super) fn judge(
    base: &Units,
    head: &Units,
    options: &CheckOptions,
    against: CheckAgainst,
) -> Judged {
    let empty = Unit::default();
    let mut keys: Vec<&SiteKey> = base.sites.keys().chain(head.sites.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    let (base_packages, head_packages) = (base.packages(), head.packages());
    let mut packages: Vec<&str> = base_packages
        .keys()
        .chain(head_packages.keys())
        .copied()
        .collect();
    packages.sort_unstable();
    packages.dedup();
    let pair = Pair {
        base,
        head,
        against,
        tests: keys.len() + packages.len() + 1,
    };
    let whole = [base.whole(), head.whole()];
    let all = whole[0].holding.bytes / base.runs.max(1) as f64;
    let mut rows = vec![pair.row(
        CheckLevel::Heap,
        "heap",
        [&whole[0], &whole[1]],
        options.heap.limit(all),
    )];
    for package in packages {
        let of = |units: &BTreeMap<&str, Unit>| units.get(package).cloned().unwrap_or_default();
        let (before, after) = (of(&base_packages), of(&head_packages));
        let name = if package.is_empty() {
            "(no package)"
        } else {
            package
        };
        rows.push(pair.row(
            CheckLevel::Package,
            name,
            [&before, &after],
            options.package.limit(all),
        ));
    }
    let limit = options.site.limit(all);
    for key in &keys {
        let of = |units: &'_ Units| units.sites.get(key).cloned().unwrap_or_default();
        let (before, after) = (of(base), of(head));
        let known = [&after, &before]
            .into_iter()
            .find_map(|unit| unit.place.clone());
        let (name, file, line) = known.unwrap_or((key.function.clone(), None, None));
        let mut row = pair.row(CheckLevel::Site, &name, [&before, &after], limit);
        (row.file, row.line) = (file, line);
        row.ordered_by = (key.ordered_by != key.function).then(|| key.ordered_by.clone());
        if row.verdict == CheckRowVerdict::OverBudget {
            let package = [&after, &before]
                .into_iter()
                .find(|unit| unit.place.is_some());
            let package = package.map_or("", |unit| unit.package.as_str());
            // What shrank beside it in the package is taken off before it fails.
            let mut sums = [before.clone(), after.clone()];
            for other in keys.iter().filter(|other| *other != key) {
                let [one, two] = [base, head].map(|units| units.sites.get(other).unwrap_or(&empty));
                let is_beside = one.package == package || two.package == package;
                let difference = pair.difference(&one.holding, &two.holding);
                if is_beside && difference.delta < 0.0 && difference.shrank <= MILD_ALPHA {
                    sums[0].add(one, base.runs);
                    sums[1].add(two, head.runs);
                }
            }
            let netted = pair.row(CheckLevel::Site, &name, [&sums[0], &sums[1]], limit);
            if netted.verdict != CheckRowVerdict::OverBudget {
                row.verdict = CheckRowVerdict::Moved;
            }
        }
        rows.push(row);
    }
    Judged {
        rows,
        tests: pair.tests,
    }
}

impl Pair<'_> {
    fn difference(&self, before: &Holding, after: &Holding) -> Difference {
        before.compare(
            after,
            (self.base.runs, self.head.runs),
            (self.base.rate, self.head.rate),
        )
    }

    fn row(&self, level: CheckLevel, name: &str, units: [&Unit; 2], budget: f64) -> CheckRow {
        let difference = self.difference(&units[0].holding, &units[1].holding);
        let has_counts = self.base.has_counts && self.head.has_counts;
        let runs = [self.base.runs, self.head.runs];
        let ranks = (self.against == CheckAgainst::Base
            && runs.iter().all(|r| *r >= RUNS_FOR_RANKS))
        .then(|| [0, 1].map(|side| units[side].values(runs[side])));
        let corrected = ALPHA / self.tests.max(1) as f64;
        let (low, high) = difference.ci95;
        let mut row = CheckRow {
            against: self.against,
            level,
            name: name.to_owned(),
            ordered_by: None,
            file: None,
            line: None,
            base_bytes: difference.before,
            head_bytes: difference.after,
            delta_bytes: difference.delta,
            ci95: has_counts.then_some([low, high]),
            p_value: has_counts.then_some(difference.grew),
            rank_p_value: None,
            budget_bytes: budget,
            verdict: CheckRowVerdict::WithinNoise,
            allowed: None,
        };
        if !has_counts {
            row.verdict = CheckRowVerdict::Unknown;
            return row;
        }
        let (mut grew, mut shrank) = (difference.grew <= corrected, difference.shrank <= corrected);
        // Ten thousand pairs of runs a site are worth it only where counts say that there is something.
        if let Some([before, after]) = ranks.filter(|_| grew || shrank || level == CheckLevel::Heap)
        {
            let p = mann_whitney(&before, &after);
            grew &= p <= RANK_ALPHA;
            shrank &= mann_whitney(&after, &before) <= RANK_ALPHA;
            row.rank_p_value = Some(p);
            if let Some((shift, (rank_low, rank_high))) = hodges_lehmann(&before, &after) {
                row.delta_bytes = shift;
                // Both kinds of noise: the sampler's and that of the runs.
                row.ci95 = Some([low.min(rank_low), high.max(rank_high)]);
            }
        }
        let low = row.ci95.map_or(low, |[low, _]| low);
        row.verdict = match (grew, shrank) {
            (true, _) if low > budget => CheckRowVerdict::OverBudget,
            (true, _) => CheckRowVerdict::Grew,
            (_, true) => CheckRowVerdict::Shrank,
            _ => CheckRowVerdict::WithinNoise,
        };
        row
    }
}

/// A unit of a baseline.
pub(super) fn unit_of(holding: Holding, package: String) -> Unit {
    Unit {
        holding,
        package,
        ..Unit::default()
    }
}
