//! A decoded heap profile: its samples and what its envelope says about them.

use super::{FrameId, FunctionId, HeapColumns, ProfileError, ProfileWarning};
use serde::Serialize;

/// Beyond any process (an exbibyte allocated), and so far below 2^63 that sums and differences
/// of two profiles need no care anywhere.
const MAX_TOTAL: u64 = 1 << 60;

/// A sample type verbatim, such as `inuse_space/bytes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SampleType {
    /// `inuse_space`, `alloc_objects`, …
    pub kind: String,
    /// `bytes`, `count`, …
    pub unit: String,
}

/// The functions that a file names, whether or not anything of theirs is in use, and the lines
/// on which they begin.
///
/// The runtime never forgets a bucket, so in one process this set only grows: a later profile
/// without one of an earlier profile's functions is of another process, even where few
/// allocation counters are there to compare.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct FunctionSet {
    /// One bit per [`FunctionId`].
    words: Vec<u64>,
    /// By [`FunctionId`]; 0 = unknown.
    start_lines: Vec<u32>,
}

impl FunctionSet {
    /// Adds a function that begins on `start_line`; 0 = unknown.
    pub(crate) fn insert(&mut self, function: FunctionId, start_line: u32) {
        if start_line > 0 {
            if self.start_lines.len() <= function.index() {
                self.start_lines.resize(function.index() + 1, 0);
            }
            self.start_lines[function.index()] = start_line;
        }
        let word = function.index() / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (function.index() % 64);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The line on which a function begins in this file's build. Go writes it since 1.20.
    pub fn start_line(&self, function: FunctionId) -> Option<u32> {
        let line = self.start_lines.get(function.index()).copied();
        line.filter(|line| *line > 0)
    }

    /// Whether it is known where the functions begin.
    pub fn has_start_lines(&self) -> bool {
        !self.start_lines.is_empty()
    }

    /// Whether the file names the function.
    pub fn contains(&self, function: FunctionId) -> bool {
        let word = self.words.get(function.index() / 64).copied().unwrap_or(0);
        word >> (function.index() % 64) & 1 == 1
    }

    /// How many of the functions of both begin on another line, and of how many that is known.
    /// In one build none does.
    pub fn begin_elsewhere(&self, other: &Self) -> (usize, usize) {
        let pairs = self.start_lines.iter().zip(&other.start_lines);
        let known = pairs.filter(|(ours, theirs)| **ours > 0 && **theirs > 0);
        known.fold((0, 0), |(moved, all), (ours, theirs)| {
            (moved + usize::from(ours != theirs), all + 1)
        })
    }

    /// How many of them are not in `other`.
    pub fn missing_from(&self, other: &Self) -> usize {
        let theirs = other.words.iter().copied().chain(std::iter::repeat(0));
        let missing = self
            .words
            .iter()
            .zip(theirs)
            .map(|(ours, theirs)| ours & !theirs);
        missing.map(|word| word.count_ones() as usize).sum()
    }
}

/// What a report of `go tool pprof`, given in place of a profile, shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pasted {
    /// What each function holds (`top`, `list`).
    Totals,
    /// That, and who calls whom (`tree`, `peek`).
    Callers,
    /// Whole stacks (`traces`).
    Stacks,
}

/// A function that is on stacks which are not known, only the bytes allocated below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassingFrame {
    /// The function, at its line with the most of them if that is known.
    pub frame: FrameId,
    /// Bytes allocated in it and below it, at least.
    pub bytes: i64,
}

/// One heap profile.
#[derive(Debug, Default)]
pub struct HeapProfile {
    /// Samples with at least one value that is not 0.
    pub columns: HeapColumns,
    /// The sample types in the file's order.
    pub sample_types: Vec<SampleType>,
    /// Wall clock when writing began, nanoseconds since the Unix epoch.
    pub time_nanos: Option<i64>,
    /// 0 for a heap profile as the runtime writes it; more for a delta or merged window.
    pub duration_nanos: i64,
    /// Mean bytes between samples (`MemProfileRate`); 0 = unknown or profiling off, 1 = exact.
    pub period: i64,
    /// Build id of the main binary, empty if unknown.
    pub build_id: String,
    /// Base name of the main binary's path, empty if unknown.
    pub binary: String,
    /// Samples in the file, all-zero ones included.
    pub samples_in_file: u64,
    /// Whether a sample carries `pprof::base`: a saved `-diff_base` profile.
    pub is_saved_diff: bool,
    /// Whether a scaled value is below zero (a delta).
    pub has_negative_inuse: bool,
    /// Whether every row with objects knows its object size (label `bytes`).
    pub has_object_sizes: bool,
    /// pprof's `drop_frames`: frames that match are cut with all below them. Empty if none.
    pub drop_frames: String,
    /// pprof's `keep_frames`: exceptions to `drop_frames`. Empty if none.
    pub keep_frames: String,
    /// The functions that the file names; empty in forms without names.
    pub functions: FunctionSet,
    /// What it was read from, if it is no profile but a report about one.
    pub pasted: Option<Pasted>,
    /// Functions above more bytes than the stacks show: only where stacks are not known. These
    /// bytes are among those of the samples.
    pub passing: Vec<PassingFrame>,
    /// What its user should know.
    pub warnings: Vec<ProfileWarning>,
}

impl HeapProfile {
    /// Whether the file has a sample type of this name.
    pub fn has_type(&self, kind: &str) -> bool {
        self.sample_types.iter().any(|t| t.kind == kind)
    }

    /// Total of `inuse_space` in bytes.
    pub fn inuse_bytes(&self) -> i64 {
        self.columns
            .inuse_space
            .iter()
            .fold(0, |sum, v| sum.saturating_add(*v))
    }

    /// Total of `inuse_objects`.
    pub fn inuse_objects(&self) -> i64 {
        self.columns
            .inuse_objects
            .iter()
            .fold(0, |sum, v| sum.saturating_add(*v))
    }

    /// Refuses values whose sums no process can have.
    pub(super) fn check_totals(&self) -> Result<(), ProfileError> {
        let columns = &self.columns;
        let is_possible = |column: &[i64]| {
            column
                .iter()
                .fold(0u64, |sum, v| sum.saturating_add(v.unsigned_abs()))
                <= MAX_TOTAL
        };
        let all = [
            &columns.alloc_objects,
            &columns.alloc_space,
            &columns.inuse_objects,
            &columns.inuse_space,
        ];
        match all.into_iter().all(|column| is_possible(column)) {
            true => Ok(()),
            false => Err(ProfileError::Impossible {
                what: "bytes or objects",
            }),
        }
    }

    /// Whether sampling error can be computed: the period and every object size are known.
    pub fn has_counts(&self) -> bool {
        self.period > 0 && self.has_object_sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_functions_only_grows_within_a_process() {
        let set = |ids: &[u32]| {
            let mut set = FunctionSet::default();
            ids.iter().for_each(|id| set.insert(FunctionId(*id), 0));
            set
        };
        let (early, late, other) = (set(&[1, 70]), set(&[1, 2, 70, 200]), set(&[1, 300]));
        assert_eq!(early.len(), 2);
        assert_eq!(early.missing_from(&late), 0);
        assert_eq!(late.missing_from(&early), 2);
        assert_eq!(early.missing_from(&other), 1);
        assert!(set(&[]).is_empty());
        assert!(early.contains(FunctionId(70)) && !early.contains(FunctionId(71)));
    }

    #[test]
    fn functions_of_one_build_begin_on_the_same_lines() {
        let set = |lines: &[(u32, u32)]| {
            let mut set = FunctionSet::default();
            for (id, line) in lines {
                set.insert(FunctionId(*id), *line);
            }
            set
        };
        let (one, same) = (set(&[(1, 10), (2, 20), (3, 0)]), set(&[(1, 10), (9, 90)]));
        assert_eq!(one.begin_elsewhere(&same), (0, 1));
        assert_eq!(
            one.begin_elsewhere(&set(&[(1, 11), (2, 20), (3, 30)])),
            (1, 2)
        );
        assert_eq!(one.start_line(FunctionId(2)), Some(20));
        assert_eq!(one.start_line(FunctionId(3)), None);
        assert_eq!(one.start_line(FunctionId(99)), None);
        assert!(one.has_start_lines() && !set(&[(3, 0)]).has_start_lines());
    }
}
