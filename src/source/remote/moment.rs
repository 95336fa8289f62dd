//! One snapshot of one process: heap, goroutines and memory figures, as close together as they
//! can be.
//!
//! Knows which profiles are asked for and in which order. Must not know where they are kept.

use super::answer::{Keep, Wanted};
use super::error::{FetchError, FetchProblem};
use super::facts::{PodFacts, memory_json};
use super::fetcher::{Ask, Fetcher, Retried};
use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use std::io::Write;

/// More goroutines than this are asked for by group: a dump of each stops the whole process
/// while it is written.
const MAX_DUMPED: u64 = 10_000;
/// Bytes at the end of `heap?debug=1` that hold all memory figures.
const TRAILER_BYTES: usize = 64 * 1024;

/// What was fetched of one moment.
#[derive(Debug, Clone)]
pub struct Captured {
    /// When it began.
    pub taken_at: Timestamp,
    /// At least one.
    pub files: Vec<CapturedFile>,
    /// What could not be fetched, and why.
    pub missing: Vec<(Kind, FetchError)>,
    /// Tries that failed before one that did not.
    pub retried: Vec<Retried>,
}

/// One profile.
#[derive(Debug, Clone)]
pub struct CapturedFile {
    /// What it holds.
    pub kind: Kind,
    /// As it is kept.
    pub bytes: Vec<u8>,
}

/// What a file of a snapshot holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The heap profile.
    Heap,
    /// Memory figures of the runtime and the pod.
    Memory,
    /// All goroutines.
    Goroutines,
    /// Those that can never go on.
    LeakedGoroutines,
}

impl Kind {
    /// The end of its file's name.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Heap => "heap.pb.gz",
            Self::Memory => "memory.json",
            Self::Goroutines => "goroutine.txt.gz",
            Self::LeakedGoroutines => "goroutineleak.pb.gz",
        }
    }

    /// In a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Heap => "heap",
            Self::Memory => "memory figures",
            Self::Goroutines => "goroutines",
            Self::LeakedGoroutines => "leaked goroutines",
        }
    }
}

/// What earlier snapshots have shown about a server.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Served {
    /// It has no `goroutineleak`: it is not asked again.
    pub(super) no_leak_profile: bool,
    /// It has had too many goroutines for a dump of each: it is asked for groups from then on,
    /// so that the form does not change with every snapshot.
    pub(super) has_many_goroutines: bool,
}

const HEAP: Ask = Ask {
    path: "heap",
    // A profile shows the last finished cycle: with one forced now it is of this moment.
    query: &[("gc", "1")],
    keep: Keep::All,
    wanted: Wanted::Heap,
};
const TRAILER: Ask = Ask {
    path: "heap",
    query: &[("debug", "1")],
    keep: Keep::Tail(TRAILER_BYTES),
    wanted: Wanted::Memory,
};
const GOROUTINE_GROUPS: Ask = Ask {
    path: "goroutine",
    query: &[("debug", "1")],
    keep: Keep::All,
    wanted: Wanted::Goroutines,
};
const GOROUTINE_DUMP: Ask = Ask {
    path: "goroutine",
    query: &[("debug", "2")],
    keep: Keep::All,
    wanted: Wanted::Goroutines,
};
const LEAKED_GOROUTINES: Ask = Ask {
    path: "goroutineleak",
    query: &[],
    keep: Keep::All,
    wanted: Wanted::Goroutines,
};

/// Takes one snapshot.
///
/// # Errors
/// Nothing at all could be fetched; what is half is a snapshot.
pub(super) async fn take(
    fetcher: &Fetcher,
    metrics: Option<(&Fetcher, &str)>,
    pod: Option<&PodFacts>,
    served: &mut Served,
) -> Result<Captured, FetchError> {
    let mut taken = Captured {
        taken_at: Timestamp::now(),
        files: Vec::new(),
        missing: Vec::new(),
        retried: Vec::new(),
    };
    match fetcher.get(&HEAP, &mut taken.retried).await {
        Ok(bytes) => taken.keep(Kind::Heap, packed(bytes)),
        // Nothing else can be had either.
        Err(error) if error.is_of_the_way() => return Err(error),
        Err(error) => taken.missing.push((Kind::Heap, error)),
    }
    let trailer = match fetcher.get(&TRAILER, &mut taken.retried).await {
        Ok(bytes) => trailer_of(&bytes),
        Err(error) => {
            taken.missing.push((Kind::Memory, error));
            String::new()
        }
    };
    let page = match metrics {
        Some((fetcher, path)) => {
            let ask = Ask {
                path,
                query: &[],
                keep: Keep::All,
                wanted: Wanted::Memory,
            };
            match fetcher.get(&ask, &mut taken.retried).await {
                Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                Err(error) => {
                    taken.missing.push((Kind::Memory, error));
                    String::new()
                }
            }
        }
        None => String::new(),
    };
    match take_goroutines(fetcher, served, &mut taken.retried).await {
        Ok(bytes) => taken.keep(Kind::Goroutines, packed(bytes)),
        Err(error) => taken.missing.push((Kind::Goroutines, error)),
    }
    if !served.no_leak_profile {
        match fetcher.get(&LEAKED_GOROUTINES, &mut taken.retried).await {
            Ok(bytes) => taken.keep(Kind::LeakedGoroutines, packed(bytes)),
            // Most runtimes have none: nothing is missing then.
            Err(error) => served.no_leak_profile = is_not_served(&error),
        }
    }
    if taken.files.is_empty()
        && let Some((_, error)) = taken.missing.first()
    {
        return Err(error.clone());
    }
    if !trailer.is_empty() || !page.is_empty() || pod.is_some() {
        let text = memory_json(taken.taken_at, &trailer, &page, pod);
        taken.keep(Kind::Memory, text.into_bytes());
    }
    Ok(taken)
}

impl Captured {
    fn keep(&mut self, kind: Kind, bytes: Vec<u8>) {
        self.files.push(CapturedFile { kind, bytes });
    }

    /// Whether something that was asked for is not there.
    pub fn is_half(&self) -> bool {
        !self.missing.is_empty()
    }
}

fn is_not_served(error: &FetchError) -> bool {
    matches!(
        error.problem,
        FetchProblem::Status {
            status: 400..=499,
            ..
        } | FetchProblem::Content(_)
            | FetchProblem::OtherAnswer { .. }
    )
}

/// Each goroutine with its state and how long it waits, or groups of them when there are many.
async fn take_goroutines(
    fetcher: &Fetcher,
    served: &mut Served,
    retried: &mut Vec<Retried>,
) -> Result<Vec<u8>, FetchError> {
    let groups = fetcher.get(&GOROUTINE_GROUPS, retried).await?;
    let total = total_of(&groups);
    served.has_many_goroutines |= total.is_some_and(|total| total > MAX_DUMPED);
    match total {
        Some(_) if !served.has_many_goroutines => {
            // The groups are worth keeping when the dump fails.
            Ok(fetcher
                .get(&GOROUTINE_DUMP, retried)
                .await
                .unwrap_or(groups))
        }
        _ => Ok(groups),
    }
}

/// The number in `goroutine profile: total 7`.
fn total_of(groups: &[u8]) -> Option<u64> {
    let line = groups.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    line.strip_prefix("goroutine profile: total ")?
        .trim()
        .parse()
        .ok()
}

/// The lines of memory figures at the end of a heap text.
fn trailer_of(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    match text.find("# runtime.MemStats") {
        Some(at) => text[at..].to_owned(),
        None => String::new(),
    }
}

/// Compressed, if it did not come so.
fn packed(bytes: Vec<u8>) -> Vec<u8> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return bytes;
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    match encoder.write_all(&bytes).and_then(|()| encoder.finish()) {
        Ok(packed) => packed,
        Err(_) => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_text_is_packed_once() {
        let packed_once = packed(b"goroutine profile: total 0\n".to_vec());
        assert_eq!(packed(packed_once.clone()), packed_once);
        let mut text = String::new();
        flate2::read::GzDecoder::new(&packed_once[..])
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "goroutine profile: total 0\n");
    }

    #[test]
    fn the_first_line_counts_goroutines() {
        assert_eq!(total_of(b"goroutine profile: total 42\n1 @"), Some(42));
        assert_eq!(total_of(b"goroutine 1 [running]:\n"), None);
        assert_eq!(total_of(b""), None);
    }
}
