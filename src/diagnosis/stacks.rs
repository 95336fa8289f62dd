//! The stacks behind a report, whole: what each held before and after.
//!
//! Figures by stack are too many for the JSON contract; programs read them as pprof or folded
//! stacks, and flame graphs are drawn of them. Knows columns and names, and no form.

use super::case::FrameName;
use super::diff::line_up;
use super::identity::comparable;
use super::{DiagnoseOptions, NotComparable};
use crate::profile::{HeapColumns, SymbolTable};
use crate::site::{Aligned, Classifier, SiteIndex};
use crate::snapshot::{Series, Snapshot};
use hashbrown::HashMap;

/// Stacks of one heap, or of two with the change between them. Names are verbatim and untrusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stacks {
    /// The frames of the rows, each once.
    pub frames: Vec<StackFrame>,
    /// One a stack and object size, by the names on the stack from its root; none with nothing in
    /// use on either side.
    pub rows: Vec<StackRow>,
    /// The heap before; none when one heap is shown for itself.
    pub before: Option<StackSide>,
    /// The heap after, or the only one.
    pub after: StackSide,
    /// Mean bytes between samples; 0 = unknown.
    pub period: i64,
    /// The heaps of the whole series, in time order.
    pub series: Vec<StackSide>,
}

/// One of the heaps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StackSide {
    /// As the user knows it.
    pub source: String,
    /// Nanoseconds since the Unix epoch.
    pub taken_at: Option<i64>,
    /// In use.
    pub bytes: i64,
}

/// A line of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StackFrame {
    /// As the profile names it.
    pub function: String,
    /// Source file, if known.
    pub file: Option<String>,
    /// Line, if known.
    pub line: Option<u32>,
}

/// Objects of one size that were allocated on one stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackRow {
    /// Indices into [`Stacks::frames`], root first.
    pub frames: Vec<u32>,
    /// Bytes of each object; 0 = unknown.
    pub object_size: u64,
    /// Bytes and objects in use before; 0 of one heap alone.
    pub before: [i64; 2],
    /// Bytes and objects in use after.
    pub after: [i64; 2],
}

impl StackRow {
    /// After less before, bytes and objects; of one heap alone, what is in use.
    pub fn change(&self) -> [i64; 2] {
        [0, 1].map(|value| self.after[value].saturating_sub(self.before[value]))
    }
}

/// The stacks of [`super::top`].
///
/// # Errors
/// No heap profile.
pub fn top_stacks(series: &Series) -> Result<Stacks, NotComparable> {
    let mut with_heap = series.snapshots.iter().rev();
    let found = with_heap.find_map(|s| Some((s, s.heap.as_ref()?)));
    let Some((snapshot, heap)) = found else {
        return Err(NotComparable::TooFew {
            needed: 1,
            found: 0,
        });
    };
    Ok(Stacks {
        period: heap.period,
        series: vec![side(snapshot)],
        after: side(snapshot),
        ..gather(&[&heap.columns], &series.symbols)
    })
}

/// The stacks of [`super::diff()`], with exactly its changes.
///
/// # Errors
/// As there.
pub fn diff_stacks(series: &Series) -> Result<Stacks, NotComparable> {
    let pair = line_up(series)?;
    let [before, after] = pair.snapshots.map(|index| &series.snapshots[index]);
    let columns: Vec<&HeapColumns> = pair.comparable.columns.iter().map(AsRef::as_ref).collect();
    Ok(between(
        before,
        after,
        &columns,
        &pair.comparable.symbols,
        vec![side(before), side(after)],
    ))
}

/// The stacks of the run that [`super::diagnose`] judges, its first heap and its last.
///
/// # Errors
/// No heap profile in that run.
pub fn diagnosis_stacks(
    series: &Series,
    options: &DiagnoseOptions,
) -> Result<Stacks, NotComparable> {
    let none = NotComparable::TooFew {
        needed: 1,
        found: 0,
    };
    let run = series.main_run().ok_or(none.clone())?;
    let sites = SiteIndex::new(
        &series.symbols,
        &Classifier::new(options.app_modules.clone()),
    );
    let comparable = comparable(series, run, &sites);
    let snapshots = run.snapshots.iter().map(|&index| &series.snapshots[index]);
    let with_heap: Vec<&Snapshot> = snapshots.filter(|s| s.heap.is_some()).collect();
    let columns: Vec<&HeapColumns> = comparable.columns.iter().map(AsRef::as_ref).collect();
    match (with_heap.as_slice(), columns.as_slice()) {
        ([only], [heap]) => Ok(Stacks {
            period: period(only),
            series: vec![side(only)],
            after: side(only),
            ..gather(&[heap], &comparable.symbols)
        }),
        ([first, .., last], [before, .., after]) => Ok(between(
            first,
            last,
            &[before, after],
            &comparable.symbols,
            with_heap.iter().copied().map(side).collect(),
        )),
        _ => Err(none),
    }
}

fn between(
    before: &Snapshot,
    after: &Snapshot,
    columns: &[&HeapColumns],
    symbols: &SymbolTable,
    series: Vec<StackSide>,
) -> Stacks {
    Stacks {
        before: Some(side(before)),
        after: side(after),
        period: period(after),
        series,
        ..gather(columns, symbols)
    }
}

fn period(snapshot: &Snapshot) -> i64 {
    snapshot.heap.as_ref().map_or(0, |heap| heap.period)
}

fn side(snapshot: &Snapshot) -> StackSide {
    StackSide {
        source: snapshot.name().to_owned(),
        taken_at: snapshot.taken_at,
        bytes: snapshot.heap.as_ref().map_or(0, |heap| heap.inuse_bytes()),
    }
}

/// Frames and rows of one heap or two.
fn gather(columns: &[&HeapColumns], symbols: &SymbolTable) -> Stacks {
    let aligned = Aligned::new(columns.to_vec());
    let last = aligned.points().saturating_sub(1);
    let mut ids: HashMap<StackFrame, u32> = HashMap::new();
    let mut frames: Vec<StackFrame> = Vec::new();
    let mut rows: Vec<StackRow> = Vec::new();
    for (number, bucket) in aligned.buckets().iter().enumerate() {
        let at = |point| {
            let values = aligned.values(point, number);
            [values.inuse_space, values.inuse_objects]
        };
        let (before, after) = (if last > 0 { at(0) } else { [0, 0] }, at(last));
        if before == [0, 0] && after == [0, 0] {
            continue;
        }
        let mut stack: Vec<u32> = symbols
            .stack(bucket.stack)
            .map(|id| {
                let FrameName {
                    function,
                    file,
                    line,
                } = FrameName::of(symbols, symbols.frame(id));
                let frame = StackFrame {
                    function,
                    file,
                    line,
                };
                let next = frames.len() as u32;
                *ids.entry(frame).or_insert_with_key(|frame| {
                    frames.push(frame.clone());
                    next
                })
            })
            .collect();
        stack.reverse();
        rows.push(StackRow {
            frames: stack,
            object_size: bucket.size,
            before,
            after,
        });
    }
    // By names, so that nothing depends on the order in which files were read.
    let mut order: Vec<u32> = (0..frames.len() as u32).collect();
    order.sort_by(|a, b| frames[*a as usize].cmp(&frames[*b as usize]));
    let mut rank = vec![0; frames.len()];
    for (place, id) in order.iter().enumerate() {
        rank[*id as usize] = place as u32;
    }
    for row in &mut rows {
        for frame in &mut row.frames {
            *frame = rank[*frame as usize];
        }
    }
    rows.sort_by(|a, b| (&a.frames, a.object_size).cmp(&(&b.frames, b.object_size)));
    Stacks {
        frames: order
            .into_iter()
            .map(|id| frames[id as usize].clone())
            .collect(),
        rows,
        ..Stacks::default()
    }
}
