//! Verdicts that read the Go runtime's figures alone.

use super::{Growth, entry, is_material, resident};
use crate::diagnosis::memory::reading::RETAINED;
use crate::diagnosis::{MemoryBreakdown, NotALeak, NotALeakName};
use crate::units::size;

/// Least share of what is resident that is room for garbage, to say so: with GOGC = 100 half of
/// the heap is, and with nothing beside the heap half of the process.
const HEADROOM_SHARE: f64 = 1.0 / 3.0;
/// Least share of all that was obtained that is given back, to say so. A busy process always has
/// given back a part, and takes it again with the next cycle.
const RELEASED_SHARE: f64 = 1.0 / 3.0;
/// A spike is at least so many times what the process needs with its headroom.
const SPIKE_FACTOR: f64 = 2.0;
/// Share of the peak by which it may rise within the window of a spike that came before.
const SAME_PEAK: f64 = 0.01;
/// Collections forced by the time of the first snapshot that can be the snapshot's own (`gc=1`).
const OWN_FORCED: u64 = 1;
/// Least share of what is resident that stacks hold, to say so.
const STACK_SHARE: f64 = 0.25;

/// Room for garbage up to the collector's goal: RSS ≈ live · (1 + GOGC/100).
pub(super) fn gc_headroom(memory: &MemoryBreakdown) -> Option<NotALeak> {
    let (live, goal) = (memory.live? as f64, memory.next_gc? as f64);
    let factor = memory.gogc_factor?;
    let resident = resident(memory)?;
    // Of the goal, only what has become resident counts.
    let in_heap = memory.heap_inuse? as f64 + memory.heap_idle_kept.unwrap_or(0) as f64;
    let room = goal.min(in_heap) - live;
    let is_large = room >= HEADROOM_SHARE * resident || memory.gogc_change.is_some();
    if !is_large || !is_material(room, resident) {
        return None;
    }
    let percent = match memory.gogc_percent {
        Some(percent) => format!("GOGC is {percent}"),
        None => format!("GOGC is about {}", rounded(memory.gogc_seen_percent?)),
    };
    let change = memory.gogc_change.map_or_else(String::new, |[from, to]| {
        format!(
            "; within the window it went from about {} to about {}",
            rounded(from),
            rounded(to)
        )
    });
    let text = format!(
        "{} are live, and the collector starts again only at {}, {factor:.1} times that ({percent}{change}): \
         {} of the {} resident are room for garbage; a lower GOGC or a GOMEMLIMIT takes less memory \
         and more processor time",
        size(live),
        size(goal),
        size(room),
        size(resident),
    );
    entry(NotALeakName::GcHeadroom, room, text)
}

/// An estimate to two figures: HeapAlloc holds a little more than what is live, a profile's
/// total a sampling error.
fn rounded(percent: f64) -> f64 {
    let step = 10f64.powf(percent.max(1.0).log10().floor() - 1.0).max(1.0);
    (percent / step).round() * step
}

/// Pages that the runtime has given back: they are in the peak and the address space only.
pub(super) fn released_pages(memory: &MemoryBreakdown) -> Option<NotALeak> {
    let (released, sys) = (memory.heap_released? as f64, memory.sys? as f64);
    if released < RELEASED_SHARE * sys || !is_material(released, sys) {
        return None;
    }
    let resident = resident(memory)?;
    let peak = memory.max_rss;
    // Pages that were obtained and never used are "given back" too: the resident set was never larger.
    if peak.is_some_and(|peak| !is_material(peak as f64 - resident, peak as f64)) {
        return None;
    }
    let peak = peak.map_or_else(String::new, |peak| {
        format!(" and in the peak of {} (MaxRSS)", size(peak as f64))
    });
    let text = format!(
        "{} are given back to the system already; they count in the {} that were ever obtained{peak}, \
         not in the {} held now",
        size(released),
        size(sys),
        size(resident),
    );
    entry(NotALeakName::ReleasedPages, released, text)
}

/// Idle pages beyond what the next cycle can use.
pub(super) fn idle_kept(memory: &MemoryBreakdown) -> Option<NotALeak> {
    let (kept, in_use) = (memory.heap_idle_kept? as f64, memory.heap_inuse? as f64);
    let goal = memory.next_gc? as f64;
    let resident = resident(memory)?;
    let beyond = (in_use + kept - RETAINED * goal).min(kept);
    if !is_material(beyond, resident) {
        return None;
    }
    let text = format!(
        "{} of heap pages are empty and kept for reuse, {} more than the next cycle needs (goal {}); the \
         runtime gives them back slowly, debug.FreeOSMemory at once",
        size(kept),
        size(beyond),
        size(goal),
    );
    entry(NotALeakName::IdleKept, beyond, text)
}

/// A peak from before the window, far above what is live with its headroom, where nothing grows.
/// Not when the program itself forced a collection before (`forced_before`, of the first
/// snapshot), as debug.FreeOSMemory does: then the pages are given back on purpose.
pub(super) fn start_up_spike(
    memory: &MemoryBreakdown,
    growth: Growth,
    forced_before: Option<u64>,
) -> Option<NotALeak> {
    let (peak, rose, what) = match (memory.max_rss, memory.sys) {
        (Some(peak), _) => (peak, memory.change.max_rss, "resident (MaxRSS)"),
        (None, sys) => (sys?, memory.change.sys, "obtained (Sys)"),
    };
    let peak = peak as f64;
    let heap = memory.next_gc?.max(memory.heap_inuse.unwrap_or(0));
    let other = [memory.stacks, memory.runtime].map(|part| part.unwrap_or(0));
    let needed = (heap + other[0] + other[1]) as f64 + memory.native.unwrap_or(0).max(0) as f64;
    let above = peak - needed;
    let is_before = rose.is_none_or(|rose| (rose as f64) <= SAME_PEAK * peak);
    let is_on_purpose = forced_before.is_some_and(|forced| forced > OWN_FORCED);
    if growth.any
        || !is_before
        || is_on_purpose
        || peak < SPIKE_FACTOR * needed
        || !is_material(above, peak)
    {
        return None;
    }
    let given_back = match memory.heap_released {
        Some(released) => format!("; {} are given back already", size(released as f64)),
        None => String::new(),
    };
    let text = format!(
        "before these snapshots the process once had {} {what}; what is live needs {} with the \
         collector's headroom and nothing grows{given_back}: a limit has to leave room for the spike, \
         or the start has to be done in smaller pieces",
        size(peak),
        size(needed),
    );
    entry(NotALeakName::StartUpSpike, above, text)
}

/// Goroutine stacks, which no heap profile shows. Not where goroutines pile up: then a finding says so.
pub(super) fn stacks(
    memory: &MemoryBreakdown,
    growth: Growth,
    goroutines: u64,
) -> Option<NotALeak> {
    let (stacks, resident) = (memory.stacks? as f64, resident(memory)?);
    if growth.goroutines || stacks < STACK_SHARE * resident || !is_material(stacks, resident) {
        return None;
    }
    let each = match goroutines {
        0 => String::new(),
        count => format!(
            " of {count} goroutines, {} each",
            size(stacks / count as f64)
        ),
    };
    let text = format!(
        "{} of the {} resident are stacks{each}; a heap profile does not show them, and a stack that \
         was once deep becomes smaller by half a collection at most",
        size(stacks),
        size(resident),
    );
    entry(NotALeakName::Stacks, stacks, text)
}

#[cfg(test)]
mod tests;
