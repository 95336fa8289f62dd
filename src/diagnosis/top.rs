//! The functions of one snapshot, as pprof's `top` has them, with their standard errors.

use super::summary::written_time;
use super::{NotComparable, SCHEMA_VERSION, Top, TopRow, Unshown};
use crate::growth::{Sampler, standard_error};
use crate::profile::{FunctionId, HeapProfile, SymbolTable};
use crate::snapshot::Series;
use hashbrown::HashMap;

#[derive(Default)]
struct Tally {
    flat: i64,
    flat_objects: i64,
    flat_variance: f64,
    cum: i64,
    cum_variance: f64,
}

/// The functions of the last heap profile of a series.
///
/// # Errors
/// No heap profile.
pub fn top(series: &Series) -> Result<Top, NotComparable> {
    let with_heap = series
        .snapshots
        .iter()
        .rev()
        .find_map(|s| Some((s, s.heap.as_ref()?)));
    let Some((snapshot, heap)) = with_heap else {
        return Err(NotComparable::TooFew {
            needed: 1,
            found: 0,
        });
    };
    let sampler = heap
        .has_counts()
        .then(|| Sampler::new(heap.period))
        .flatten();
    let (tallies, total_variance) = tally(heap, &series.symbols, sampler);
    let symbols = &series.symbols;
    let error = |variance: f64| sampler.map(|_| variance.sqrt());
    let total = heap.inuse_bytes();
    let share = |bytes: i64| match total {
        0 => 0.0,
        total => bytes as f64 / total as f64,
    };
    let mut rows: Vec<TopRow> = tallies
        .into_iter()
        .filter(|(_, tally)| tally.flat != 0 || tally.cum != 0)
        .map(|(function, tally)| {
            let file = symbols.function_file(function);
            TopRow {
                function: symbols.function_name(function).to_owned(),
                file: (!file.is_empty()).then(|| file.to_owned()),
                flat_bytes: tally.flat,
                flat_se: error(tally.flat_variance),
                flat_share: share(tally.flat),
                flat_objects: tally.flat_objects,
                cum_bytes: tally.cum,
                cum_se: error(tally.cum_variance),
                cum_share: share(tally.cum),
            }
        })
        .collect();
    rows.sort_by(|a, b| {
        (b.flat_bytes.unsigned_abs(), b.cum_bytes.unsigned_abs())
            .cmp(&(a.flat_bytes.unsigned_abs(), a.cum_bytes.unsigned_abs()))
            .then_with(|| (&a.function, &a.file).cmp(&(&b.function, &b.file)))
    });
    Ok(Top {
        schema_version: SCHEMA_VERSION,
        source: snapshot.name().to_owned(),
        taken_at: written_time(snapshot.taken_at),
        sampling_period: Some(heap.period).filter(|period| *period > 0),
        total_bytes: total,
        total_se: error(total_variance),
        rows,
        unshown: Unshown::default(),
        warnings: series.warnings.iter().map(ToString::to_string).collect(),
    })
}

fn tally(
    heap: &HeapProfile,
    symbols: &SymbolTable,
    sampler: Option<Sampler>,
) -> (HashMap<FunctionId, Tally>, f64) {
    let columns = &heap.columns;
    let mut tallies: HashMap<FunctionId, Tally> = HashMap::new();
    let mut functions: Vec<FunctionId> = Vec::new();
    let mut total_variance = 0.0;
    for row in 0..columns.len() {
        let (bytes, objects) = (columns.inuse_space[row], columns.inuse_objects[row]);
        if bytes == 0 && objects == 0 {
            continue;
        }
        let variance = sampler.map_or(0.0, |sampler| {
            standard_error(sampler, columns.size[row], bytes).powi(2)
        });
        total_variance += variance;
        functions.clear();
        functions.extend(
            symbols
                .stack(columns.stack[row])
                .map(|frame| symbols.frame(frame).function),
        );
        if let Some(leaf) = functions.first() {
            let tally = tallies.entry(*leaf).or_default();
            tally.flat = tally.flat.saturating_add(bytes);
            tally.flat_objects = tally.flat_objects.saturating_add(objects);
            tally.flat_variance += variance;
        }
        // A function counts once per stack, however often it stands there.
        functions.sort_unstable();
        functions.dedup();
        for function in &functions {
            let tally = tallies.entry(*function).or_default();
            tally.cum = tally.cum.saturating_add(bytes);
            tally.cum_variance += variance;
        }
    }
    // Of a pasted report the stacks show less than its cumulative figures.
    for passing in &heap.passing {
        let tally = tallies
            .entry(symbols.frame(passing.frame).function)
            .or_default();
        tally.cum = tally.cum.max(passing.bytes);
    }
    (tallies, total_variance)
}
