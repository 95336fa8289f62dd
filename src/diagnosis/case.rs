//! Everything a judgement looks at: one run, its heap history, its goroutines, its cycles.

use super::culprit::Background;
use crate::growth::{Crowds, History, MIN_POINTS, TestedUnits};
use crate::profile::{Frame, MemoryStats, SymbolTable};
use crate::site::SiteIndex;
use crate::snapshot::{Run, Series, Snapshot};

/// Collector cycles below which growth is not called a leak, unless the snapshots forced them.
const MIN_CYCLES: u64 = 10;

/// The evidence of one run.
pub(super) struct Case<'a> {
    pub series: &'a Series,
    pub run: &'a Run,
    pub sites: &'a SiteIndex<'a>,
    pub history: &'a History<'a>,
    /// The heaps of the other runs.
    pub others: &'a [History<'a>],
    /// What passes through each function of that heap.
    pub background: &'a Background,
    pub tested: &'a TestedUnits,
    pub crowds: &'a Crowds,
}

impl<'a> Case<'a> {
    /// The run's snapshots in time order.
    pub fn snapshots(&self) -> impl DoubleEndedIterator<Item = &'a Snapshot> + '_ {
        self.run
            .snapshots
            .iter()
            .map(|&index| &self.series.snapshots[index])
    }

    /// Whether there is only one moment to look at.
    pub fn is_single(&self) -> bool {
        self.history.points() <= 1 && self.crowds.points <= 1
    }

    /// Number of the last point of the heap history.
    pub fn last(&self) -> usize {
        self.history.points().saturating_sub(1)
    }

    /// Seconds from the first heap profile to the last (or goroutine profile without any).
    pub fn window_seconds(&self) -> Option<f64> {
        let last = |seconds: Option<&[f64]>| seconds.and_then(|s| s.last().copied());
        let heap = last(self.history.seconds());
        let crowd = last(self.crowds.seconds.as_deref());
        let longest = match (heap, crowd) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        longest.filter(|seconds| *seconds > 0.0)
    }

    /// The window in hours, to turn growth into a rate.
    pub fn hours(&self) -> Option<f64> {
        let seconds = self.history.seconds()?.last().copied()?;
        (seconds > 0.0).then_some(seconds / 3600.0)
    }

    /// A memory figure of the first and the last snapshot that has it.
    pub fn first_and_last<T>(&self, figure: impl Fn(&MemoryStats) -> Option<T>) -> Option<(T, T)> {
        let read = |snapshot: &'a Snapshot| figure(snapshot.memory.as_ref()?);
        let first = self.snapshots().find_map(read)?;
        Some((first, self.snapshots().rev().find_map(read)?))
    }

    /// Collector cycles within the window, when the runtime said so.
    pub fn gc_cycles(&self) -> Option<u64> {
        let (first, last) = self.first_and_last(|memory| memory.num_gc)?;
        Some(last.saturating_sub(first))
    }

    /// Whether the window is long enough, in collector cycles, to call growth a leak:
    /// four points of cycles of their own, and ten cycles in all unless `gc=1` forced them.
    pub fn has_enough_cycles(&self) -> bool {
        let points = self.history.distinct().len();
        let forced = self.first_and_last(|memory| memory.num_forced_gc);
        let forced = forced.map(|(first, last)| last.saturating_sub(first));
        let is_forced = forced.is_some_and(|forced| forced as usize + 1 >= points);
        let enough_ran = self.gc_cycles().is_none_or(|cycles| cycles >= MIN_CYCLES);
        points >= MIN_POINTS && (is_forced || enough_ran)
    }

    /// Function, file and line of a frame, as the profile names them.
    pub fn name(&self, frame: Frame) -> FrameName {
        FrameName::of(self.sites.symbols(), frame)
    }
}

/// Function, file and line as a profile names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FrameName {
    pub function: String,
    pub file: Option<String>,
    pub line: Option<u32>,
}

impl FrameName {
    pub fn of(symbols: &SymbolTable, frame: Frame) -> Self {
        let file = symbols.function_file(frame.function);
        Self {
            function: symbols.function_name(frame.function).to_owned(),
            file: (!file.is_empty()).then(|| file.to_owned()),
            line: (frame.line > 0).then_some(frame.line),
        }
    }
}
