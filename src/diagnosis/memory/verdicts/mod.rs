//! Memory that is not a leak of the heap: one small function a verdict, each with its numbers.
//!
//! `figures` reads the memory breakdown alone, `outside` what the Go runtime does not hold,
//! `sites` the heap profiles. A verdict is given only when what it explains is material, so
//! that a report is not flooded; the largest comes first.

mod figures;
mod outside;
mod sites;

use super::reading::readings;
use super::unseen::unseen_growth;
use crate::diagnosis::case::Case;
use crate::diagnosis::{Finding, FindingVerdict, MemoryBreakdown, NotALeak, NotALeakName};

/// Least share of the resident memory that is worth a sentence.
const MATERIAL_SHARE: f64 = 0.10;
/// Least size that is worth a sentence: Go's least heap goal (4 MiB at GOGC = 100), below which
/// figures are the same for every Go program.
const MATERIAL_BYTES: f64 = 4.0 * super::MIB;

/// What the findings say of growth; some verdicts hold only where nothing grows.
#[derive(Debug, Clone, Copy, Default)]
struct Growth {
    /// Something grows or leaks.
    any: bool,
    /// Growth that goroutines carry.
    goroutines: bool,
}

impl Growth {
    fn of(findings: &[Finding]) -> Self {
        let grows = |finding: &&Finding| finding.verdict >= FindingVerdict::Growing;
        let mut growing = findings.iter().filter(grows);
        Self {
            any: growing.clone().next().is_some(),
            goroutines: growing.any(|finding| finding.rests_on.contains(&"goroutines")),
        }
    }
}

/// All verdicts about memory that is no leak of the heap, largest first.
pub(in crate::diagnosis) fn verdicts(
    case: &Case,
    findings: &[Finding],
    memory: Option<&MemoryBreakdown>,
) -> Vec<NotALeak> {
    let growth = Growth::of(findings);
    let mut said = Vec::new();
    if let Some(memory) = memory {
        let forced = case.first_and_last(|stats| stats.num_forced_gc);
        let forced_before = forced.map(|(first, _)| first);
        let spike = figures::start_up_spike(memory, growth, forced_before);
        // The spike's sentence says what was given back of it.
        if spike.is_none() {
            said.extend(figures::released_pages(memory));
        }
        said.extend(spike);
        said.extend(figures::gc_headroom(memory));
        said.extend(figures::idle_kept(memory));
        let goroutines = case.crowds.crowds.iter();
        let goroutines: u64 = goroutines.filter_map(|crowd| crowd.counts.last()).sum();
        said.extend(figures::stacks(memory, growth, goroutines));
        said.extend(outside::page_cache(memory));
        let native = outside::native_memory(memory);
        said.extend(unseen_growth(
            case,
            &readings(case),
            memory,
            native.is_some(),
        ));
        said.extend(native);
    }
    let cache = sites::cluster_sized_cache(case, findings);
    // A cache that was filled within the window has reached a level: said once.
    let of_cache = cache.as_ref().and_then(|cache| cache.bytes).unwrap_or(0.0);
    said.extend(sites::peak_kept(case, findings, of_cache));
    said.extend(cache);
    said.extend(sites::constant_block(case));
    said.extend(sites::profiler_memory(case));
    said.extend(sites::below_detection(case, growth));
    let size = |entry: &NotALeak| entry.bytes.unwrap_or(0.0);
    said.sort_by(|a, b| {
        size(b)
            .total_cmp(&size(a))
            .then_with(|| a.name.as_str().cmp(b.name.as_str()))
    });
    said
}

fn entry(name: NotALeakName, bytes: f64, text: String) -> Option<NotALeak> {
    Some(NotALeak {
        name,
        text,
        bytes: Some(bytes),
    })
}

/// Whether so many bytes are worth a sentence, against the whole that they are a part of.
fn is_material(bytes: f64, whole: f64) -> bool {
    bytes >= MATERIAL_BYTES && bytes >= MATERIAL_SHARE * whole
}

/// What is resident: the resident set, else what the Go runtime holds.
fn resident(memory: &MemoryBreakdown) -> Option<f64> {
    memory.rss.or(memory.held).map(|bytes| bytes as f64)
}
