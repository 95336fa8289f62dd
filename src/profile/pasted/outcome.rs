//! What a paste gives: heap profiles, goroutine profiles, or the reason why nothing.
//!
//! Knows which sample types are memory in use, and what each kind of report cannot show.

use super::figure::{Figure, Unit};
use super::goroutines::{Block, Kind};
use super::raw::RawReader;
use super::report::Report;
use super::stacks::{Built, build};
use crate::profile::{
    HeapProfile, Pasted, ProfileError, ProfileFile, ProfileWarning, SampleType, StackId,
    SymbolTable, goroutine, legacy,
};

/// Two sums of one profile agree within this share: its stacks are rounded one by one.
const SAME_SUM: f64 = 0.01;

/// All that was read.
pub(super) struct Outcome {
    pub reports: Vec<Report>,
    pub raws: Vec<RawReader>,
    pub blocks: Vec<Block>,
}

impl Outcome {
    /// Everything that can be used; what cannot is told beside it, or is the error if it is all.
    pub fn into_file(self, symbols: &mut SymbolTable) -> Result<ProfileFile, ProfileError> {
        let mut read: Vec<Result<ProfileFile, ProfileError>> = Vec::new();
        for raw in self.raws {
            read.push(raw.finish(symbols));
        }
        let mut totals: Vec<i64> = read.iter().flatten().filter_map(sum_of).collect();
        let (whole, totalled): (Vec<Report>, Vec<Report>) = self
            .reports
            .into_iter()
            .filter(|report| !report.is_empty())
            .partition(|report| !report.traces.is_empty());
        for report in whole.into_iter().chain(totalled) {
            let sum = report.total.map(|total| total.value);
            let is_known = sum.is_some_and(|sum| totals.iter().any(|known| agree(*known, sum)));
            // The same profile in a form that shows less.
            if is_known && report.traces.is_empty() && is_in_use(&report) {
                continue;
            }
            let is_whole = !report.traces.is_empty();
            let file = into_profile(report, symbols);
            if let (true, Ok(file)) = (is_whole, &file) {
                totals.extend(sum_of(file));
            }
            read.push(file);
        }
        for block in self.blocks {
            read.push(match block.kind {
                Kind::Dump => goroutine::decode_dump(&block.text, symbols),
                Kind::Grouped => goroutine::decode_grouped(&block.text, symbols),
                Kind::Heap => legacy::decode(&block.text, symbols),
            });
        }
        gather(read)
    }
}

/// Splits what was read from what was not.
fn gather(read: Vec<Result<ProfileFile, ProfileError>>) -> Result<ProfileFile, ProfileError> {
    let mut files = Vec::new();
    let mut errors = Vec::new();
    for part in read {
        match part {
            Ok(file) => files.push(file),
            Err(error) => errors.push(error),
        }
    }
    let Some(first) = files.first_mut() else {
        return Err(errors
            .into_iter()
            .next()
            .unwrap_or(ProfileError::PastedEmpty));
    };
    let refused = errors.iter().map(|error| ProfileWarning::PastedPart {
        reason: error.to_string(),
    });
    match first {
        ProfileFile::Heap { heap, .. } => heap.warnings.extend(refused),
        ProfileFile::Goroutines(goroutines) => goroutines.warnings.extend(refused),
        ProfileFile::Memory(_) | ProfileFile::Several(_) => {}
    }
    match files.len() {
        1 => Ok(files.remove(0)),
        _ => Ok(ProfileFile::Several(files)),
    }
}

pub(super) fn sum_of(file: &ProfileFile) -> Option<i64> {
    match file {
        ProfileFile::Heap { heap, .. } => Some(heap.inuse_bytes()),
        _ => None,
    }
}

fn agree(a: i64, b: i64) -> bool {
    (a.saturating_sub(b)).saturating_abs() as f64 <= SAME_SUM * a.max(b) as f64
}

/// What a sample type says of the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    InUse,
    Allocated,
    Goroutines { are_leaked: bool },
}

fn is_in_use(report: &Report) -> bool {
    meaning_of(report) == Ok(Meaning::InUse)
}

fn meaning_of(report: &Report) -> Result<Meaning, ProfileError> {
    let other = |kind: &str| ProfileError::OtherKind {
        kind: kind.to_owned(),
    };
    let counts = |kind: &str| ProfileError::PastedCounts {
        kind: kind.to_owned(),
    };
    let kind = report.session.sample_type.as_deref();
    let meaning = match kind {
        None | Some("inuse_space" | "space") => Meaning::InUse,
        Some("alloc_space") => Meaning::Allocated,
        Some(kind @ ("inuse_objects" | "alloc_objects" | "objects")) => return Err(counts(kind)),
        Some(kind @ ("goroutine" | "goroutineleak")) if report.traces.is_empty() => {
            return Err(counts(kind));
        }
        Some(kind @ ("goroutine" | "goroutineleak")) => {
            let are_leaked = kind == "goroutineleak";
            return Ok(Meaning::Goroutines { are_leaked });
        }
        Some("cpu" | "samples") => return Err(other("CPU")),
        Some("delay" | "contentions") => return Err(other("mutex or block")),
        Some(kind) => return Err(other(kind)),
    };
    match report.unit() {
        Unit::Time => Err(other("CPU (or mutex, or block)")),
        Unit::Count => Err(counts("an unknown sample type")),
        Unit::Bytes | Unit::None => Ok(meaning),
    }
}

fn into_profile(
    mut report: Report,
    symbols: &mut SymbolTable,
) -> Result<ProfileFile, ProfileError> {
    let meaning = meaning_of(&report)?;
    let time_nanos = report
        .session
        .seconds
        .and_then(|s| s.checked_mul(1_000_000_000));
    if let Meaning::Goroutines { are_leaked } = meaning {
        let counts = report
            .traces
            .iter()
            .map(|(stack, _, value)| (*stack, value.value));
        let goroutines = goroutine::from_samples(counts, time_nanos, are_leaked);
        return Ok(ProfileFile::Goroutines(goroutines));
    }
    report.drop_repeated_routines();
    let mut heap = HeapProfile {
        sample_types: vec![SampleType {
            kind: match meaning {
                Meaning::Allocated => "alloc_space".to_owned(),
                _ => "inuse_space".to_owned(),
            },
            unit: "bytes".to_owned(),
        }],
        time_nanos,
        build_id: report.session.build_id.clone(),
        binary: report.session.binary.clone(),
        is_saved_diff: report.is_diff,
        ..HeapProfile::default()
    };
    let push = |heap: &mut HeapProfile, stack: StackId, size: u64, bytes: i64| {
        let values = match meaning {
            Meaning::Allocated => [0, bytes, 0, 0],
            _ => [0, 0, 0, bytes],
        };
        if bytes != 0 {
            heap.columns.push(stack, size, values);
        }
        heap.samples_in_file += 1;
    };
    if report.traces.is_empty() {
        let Built {
            stacks,
            passing,
            unshown,
        } = build(&report, symbols);
        for (frames, bytes) in stacks {
            let stack = symbols.intern_stack(&frames);
            push(&mut heap, stack, 0, bytes);
        }
        heap.passing = passing;
        let has_callers = report.nodes.iter().any(|node| node.is_in_tree);
        heap.pasted = Some(match has_callers {
            true => Pasted::Callers,
            false => Pasted::Totals,
        });
        if unshown > 0 || report.dropped + report.beyond > 0 {
            heap.warnings.push(ProfileWarning::PastedCut {
                nodes: report.dropped.saturating_add(report.beyond),
                bytes: unshown,
            });
        }
    } else {
        let unit_fits = |figure: &Figure| matches!(figure.unit, Unit::Bytes | Unit::None);
        let traces = report.traces.iter().filter(|(.., value)| unit_fits(value));
        for (stack, size, value) in traces {
            push(&mut heap, *stack, *size, value.value);
        }
        heap.pasted = Some(Pasted::Stacks);
    }
    heap.columns.normalise();
    heap.has_negative_inuse = heap.columns.inuse_space.iter().any(|bytes| *bytes < 0);
    if let Some(pasted) = heap.pasted {
        heap.warnings.insert(0, ProfileWarning::Pasted { pasted });
    }
    if report.session.sample_type.is_none() {
        heap.warnings.push(ProfileWarning::AssumedInUse);
    }
    Ok(ProfileFile::Heap {
        heap: Box::new(heap),
        memory: None,
    })
}
