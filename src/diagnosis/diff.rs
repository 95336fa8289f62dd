//! The site table of two snapshots.

use super::case::FrameName;
use super::identity::{Comparable, comparable_pair, matched};
use super::summary::written_time;
use super::{
    Diff, DiffRow, DiffSide, DiffTotal, Identity, NotComparable, RowVerdict, SCHEMA_VERSION, Tier,
    Unshown, points, strangers,
};
use crate::growth::{
    Evidence, FALSE_DISCOVERY_RATE, History, benjamini_hochberg, binomial_upper_tail, limit_bytes,
    normal_upper_tail, objects_needed,
};
use crate::profile::{Frame, FrameId, FunctionId, SymbolTable};
use crate::site::{Bucket, Classifier, SiteIndex};
use crate::snapshot::{OtherProcess, Run, Series, SeriesWarning, Snapshot, differs};
use hashbrown::HashMap;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Compares the two heap profiles of a series, each row at its leaf frame. Two builds are
/// compared as independent samples, with their sites matched by name.
///
/// # Errors
/// Fewer than two heap profiles, or two of one build that are not of one process.
pub fn diff(series: &Series) -> Result<Diff, NotComparable> {
    let Pair {
        snapshots,
        run,
        cause,
        identity,
        comparable,
    } = line_up(series)?;
    let [before, after] = snapshots.map(|index| &series.snapshots[index]);
    let Comparable {
        columns,
        symbols,
        moved,
    } = comparable;
    let history = History::new(&points(series, &run, &columns), run.is_one_process);
    let keyed = group_by_leaf(&history, &symbols);
    let (evidence, mut rows): (Vec<Option<Evidence>>, Vec<DiffRow>) = keyed
        .par_iter()
        .map(|(frame, numbers)| {
            let evidence = history.evidence(numbers, 0, 1);
            let mut row = write_row(&history, &symbols, *frame, numbers, evidence.as_ref());
            let keys = numbers.iter().map(|&n| history.buckets()[n as usize]);
            row.moved_from = origin_of(&row, keys, &moved, &symbols);
            (evidence, row)
        })
        .unzip();
    let tests = judge(&mut rows, &evidence);
    rows.sort_by(|a, b| {
        b.delta_bytes
            .unsigned_abs()
            .cmp(&a.delta_bytes.unsigned_abs())
            .then(b.after_bytes.cmp(&a.after_bytes))
            .then_with(|| (&a.function, &a.file, a.line).cmp(&(&b.function, &b.file, b.line)))
    });
    let total = evidence
        .iter()
        .flatten()
        .fold(Evidence::default(), |mut total, row| {
            total.merge(row);
            total
        });
    Ok(Diff {
        schema_version: SCHEMA_VERSION,
        total: DiffTotal {
            delta_bytes: rows.iter().map(|row| row.delta_bytes).sum(),
            sd_bytes: history.sampler().map(|_| total.sd_bytes()),
            seconds: history
                .seconds()
                .map(|seconds| seconds[1])
                .filter(|seconds| *seconds >= 0.0),
            detection_limit_bytes: history.sampler().map(|sampler| {
                limit_bytes(sampler, objects_needed(FALSE_DISCOVERY_RATE, tests.max(1)))
            }),
        },
        before: write_side(before),
        after: write_side(after),
        rows,
        unshown: Unshown::default(),
        identity,
        warnings: warnings(series, &run, cause),
    })
}

/// Two heaps under keys that mean the same in both.
pub(super) struct Pair<'a> {
    /// Indices into the series.
    pub snapshots: [usize; 2],
    run: Run,
    cause: Option<OtherProcess>,
    identity: Option<Identity>,
    pub comparable: Comparable<'a>,
}

/// Finds the two heap profiles of a series, and lines them up.
///
/// # Errors
/// As [`diff`].
pub(super) fn line_up(series: &Series) -> Result<Pair<'_>, NotComparable> {
    let with_heap: Vec<usize> = (0..series.snapshots.len())
        .filter(|&index| series.snapshots[index].heap.is_some())
        .collect();
    let [first, second] = with_heap.as_slice() else {
        return Err(NotComparable::TooFew {
            needed: 2,
            found: with_heap.len(),
        });
    };
    let (before, after) = (&series.snapshots[*first], &series.snapshots[*second]);
    let cause = differs(&series.symbols, before, after);
    let is_both = |run: &&Run| run.snapshots.contains(first) && run.snapshots.contains(second);
    let run = match (series.runs.iter().find(is_both), cause) {
        (Some(run), _) => run.clone(),
        (None, Some(cause)) if cause.is_other_build() => Run {
            snapshots: vec![*first, *second],
            is_one_process: false,
        },
        _ => return Err(strangers(series, *first, *second)),
    };
    let is_one_process = matches!(cause, None | Some(OtherProcess::RateChanged { .. }));
    let matched = match is_one_process {
        true => None,
        false => {
            let sites = SiteIndex::new(&series.symbols, &Classifier::default());
            matched(series, &sites, *first, *second)
        }
    };
    let (identity, comparison) = matched.unzip();
    if let Some(identity) = identity.as_ref().filter(|_| !series.runs.contains(&run)) {
        refuse_other_program(identity, [before, after])?;
    }
    let heaps = [before, after].map(|snapshot| snapshot.heap.as_ref());
    let comparable = match (heaps, &comparison) {
        ([Some(one), Some(other)], Some(comparison)) => {
            comparable_pair(series, [one, other], comparison)
        }
        _ => Comparable {
            columns: heaps
                .into_iter()
                .flatten()
                .map(|heap| Cow::Borrowed(&heap.columns))
                .collect(),
            symbols: Cow::Borrowed(&series.symbols),
            moved: HashMap::new(),
        },
    };
    Ok(Pair {
        snapshots: [*first, *second],
        run,
        cause,
        identity,
        comparable,
    })
}

/// Of heaps of two builds of one program at least so much is at sites of both.
const MIN_SHARED: f64 = 0.1;
/// Of those whose binaries have different names.
const MIN_SHARED_OF_OTHER_NAME: f64 = 0.5;

/// Refuses two heaps that have next to nothing in common: other programs, not other builds.
pub(super) fn refuse_other_program(
    identity: &Identity,
    snapshots: [&Snapshot; 2],
) -> Result<(), NotComparable> {
    let binaries = snapshots.map(|snapshot| {
        let heap = snapshot.heap.as_ref();
        heap.map_or_else(String::new, |heap| heap.binary.clone())
    });
    let have_other_names =
        binaries.iter().all(|name| !name.is_empty()) && binaries[0] != binaries[1];
    let least = match have_other_names {
        true => MIN_SHARED_OF_OTHER_NAME,
        false => MIN_SHARED,
    };
    let matched = identity
        .tiers
        .iter()
        .filter(|tier| tier.tier != Tier::SamePackage);
    let shared: f64 = matched.map(|tier| tier.share).sum();
    let is_empty = snapshots.iter().any(|snapshot| {
        let heap = snapshot.heap.as_ref();
        heap.is_none_or(|heap| heap.inuse_bytes() <= 0)
    });
    if is_empty || shared >= least {
        return Ok(());
    }
    Err(NotComparable::OtherProgram {
        before: identity.before.clone(),
        after: identity.after.clone(),
        percent: (shared * 100.0) as u32,
    })
}

/// The series' own; of two builds that nobody forced, what becomes of them here.
fn warnings(series: &Series, run: &Run, cause: Option<OtherProcess>) -> Vec<String> {
    let is_forced = series.runs.contains(run);
    let kept = series
        .warnings
        .iter()
        .filter(|warning| is_forced || !warning.is_about_processes());
    let mut warnings: Vec<String> = kept.map(ToString::to_string).collect();
    if let Some(cause) = cause.filter(|_| !is_forced) {
        warnings.push(format!(
            "the two are of different builds ({cause}): they are compared as two independent samples, which sees far less, and their sites are matched by name"
        ));
        let heaps = run.snapshots.iter().map(|&index| &series.snapshots[index]);
        let rates: Vec<i64> = heaps
            .filter_map(|s| Some(s.heap.as_ref()?.period))
            .collect();
        if rates.windows(2).any(|pair| pair[0] != pair[1]) {
            warnings.push(SeriesWarning::other_rates(rates).to_string());
        }
    }
    warnings
}

/// The function that allocated most of a row's bytes in the first build, where these moved.
fn origin_of(
    row: &DiffRow,
    keys: impl Iterator<Item = Bucket>,
    moved: &HashMap<Bucket, Vec<(FunctionId, i64)>>,
    symbols: &SymbolTable,
) -> Option<String> {
    let mut bytes: BTreeMap<&str, i64> = BTreeMap::new();
    for (function, moved) in keys.filter_map(|key| moved.get(&key)).flatten() {
        let of_function = bytes.entry(symbols.function_name(*function)).or_default();
        *of_function = of_function.saturating_add(*moved);
    }
    let all: i64 = bytes.values().fold(0, |sum, b| sum.saturating_add(*b));
    let is_most = row.before_bytes > 0 && all >= row.before_bytes / 2;
    let (largest, _) = bytes.into_iter().max_by_key(|(_, bytes)| *bytes)?;
    (is_most && largest != row.function).then(|| largest.to_owned())
}

/// Buckets with anything in use at either moment, by their leaf frame in order of its id;
/// those without a stack last.
fn group_by_leaf(history: &History, symbols: &SymbolTable) -> Vec<(Option<Frame>, Vec<u32>)> {
    let mut groups: Vec<Vec<u32>> = vec![Vec::new(); symbols.frame_count() + 1];
    for number in 0..history.buckets().len() as u32 {
        if history.inuse(0, number) == 0 && history.inuse(1, number) == 0 {
            continue;
        }
        let leaf = symbols
            .stack(history.buckets()[number as usize].stack)
            .next();
        groups[leaf.map_or(symbols.frame_count(), FrameId::index)].push(number);
    }
    let frames = (0..symbols.frame_count() as u32).map(|id| Some(symbols.frame(FrameId(id))));
    let keyed = frames.chain([None]).zip(groups);
    keyed.filter(|(_, numbers)| !numbers.is_empty()).collect()
}

fn write_side(snapshot: &Snapshot) -> DiffSide {
    let heap = snapshot.heap.as_ref();
    DiffSide {
        source: snapshot.name().to_owned(),
        taken_at: written_time(snapshot.taken_at),
        inuse_bytes: heap.map_or(0, |heap| heap.inuse_bytes()),
        sampling_period: heap.map(|heap| heap.period).filter(|period| *period > 0),
    }
}

fn write_row(
    history: &History,
    symbols: &SymbolTable,
    frame: Option<Frame>,
    numbers: &[u32],
    evidence: Option<&Evidence>,
) -> DiffRow {
    // Bytes and objects, before and after.
    let [before, after] = [0, 1].map(|point| {
        numbers
            .iter()
            .fold((0i64, 0i64), |(bytes, objects), &number| {
                let values = history.values(point, number);
                (
                    bytes.saturating_add(values.inuse_space),
                    objects.saturating_add(values.inuse_objects),
                )
            })
    });
    let size_of = |number: &u32| history.buckets()[*number as usize].size;
    let first_size = numbers.first().map_or(0, size_of);
    let is_uniform = first_size > 0 && numbers.iter().all(|number| size_of(number) == first_size);
    let name = frame.map(|frame| FrameName::of(symbols, frame));
    DiffRow {
        function: name
            .as_ref()
            .map_or_else(|| "(no stack)".to_owned(), |n| n.function.clone()),
        file: name.as_ref().and_then(|name| name.file.clone()),
        line: name.and_then(|name| name.line),
        object_size: is_uniform.then_some(first_size),
        before_bytes: before.0,
        after_bytes: after.0,
        delta_bytes: after.0.saturating_sub(before.0),
        sd_bytes: evidence.map(Evidence::sd_bytes),
        delta_objects: after.1.saturating_sub(before.1),
        p_value: evidence.map(one_sided_p),
        verdict: RowVerdict::Unknown,
        moved_from: None,
    }
}

/// The test in the direction of the change.
fn one_sided_p(evidence: &Evidence) -> f64 {
    if evidence.delta_bytes() >= 0.0 {
        return evidence.p_value();
    }
    // The mirror image. With sizes mixed the sign test counts all objects alike; the normal
    // tail weighs them; the larger p of the two is the careful one.
    let (turnover, net) = (evidence.turnover(), evidence.net_objects());
    let freed = turnover.saturating_sub(net) / 2;
    let signs = binomial_upper_tail(turnover.max(0) as u64, freed.max(0) as u64);
    signs.max(normal_upper_tail(-evidence.z()))
}

/// Fills in the verdicts at a false-discovery rate of 5 % over both directions; returns the
/// number of tests.
fn judge(rows: &mut [DiffRow], evidence: &[Option<Evidence>]) -> usize {
    let can_reach = |evidence: &Option<Evidence>| {
        evidence
            .as_ref()
            .is_some_and(|evidence| evidence.can_reach(FALSE_DISCOVERY_RATE / 2.0))
    };
    let tested: Vec<usize> = (0..rows.len())
        .filter(|&row| can_reach(&evidence[row]))
        .collect();
    let two_sided: Vec<f64> = tested
        .iter()
        .map(|&row| rows[row].p_value.map_or(1.0, |p| (2.0 * p).min(1.0)))
        .collect();
    for (row, evidence) in rows.iter_mut().zip(evidence) {
        if evidence.is_some() {
            row.verdict = match row.moved_from {
                Some(_) => RowVerdict::Moved,
                None => RowVerdict::WithinNoise,
            };
        }
    }
    for (&row, is_real) in tested
        .iter()
        .zip(benjamini_hochberg(&two_sided, FALSE_DISCOVERY_RATE))
    {
        if is_real {
            rows[row].verdict = match rows[row].delta_bytes {
                delta if delta < 0 => RowVerdict::Shrank,
                _ => RowVerdict::Grew,
            };
        }
    }
    tested.len()
}
