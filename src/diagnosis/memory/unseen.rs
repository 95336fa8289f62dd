//! Growth that the runtime or the kernel reports and the heap profile does not show.

use super::MIB;
use super::reading::Reading;
use crate::diagnosis::case::Case;
use crate::diagnosis::{MemoryBreakdown, NotALeak, NotALeakName};
use crate::units::{signed_size, size};

/// Least growth, in bytes and as a share of what was resident at first, that is worth saying:
/// room between objects, idle pages and the runtime's own data move by less without a cause.
const LEAST_UNSEEN: f64 = 2.0 * MIB;
const LEAST_SHARE: f64 = 0.10;

/// What grew, by how much, and what of it the profile's growth accounts for.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Measure {
    what: &'static str,
    grew: f64,
    explained: f64,
}

impl Measure {
    fn unseen(&self) -> f64 {
        self.grew - self.explained
    }
}

/// Growth beyond what the profile's own growth accounts for, at the upper end of its 95 %
/// interval. `native_is_said`: a verdict of its own speaks of native memory.
pub(super) fn unseen_growth(
    case: &Case,
    readings: &[Reading],
    memory: &MemoryBreakdown,
    native_is_said: bool,
) -> Option<NotALeak> {
    let (first, last) = readings.first().zip(readings.last())?;
    // Both ends of the window need both kinds of figures.
    let mut heaps = case.snapshots().filter(|snapshot| snapshot.heap.is_some());
    let ends = heaps.next()?.taken_at.zip(heaps.next_back()?.taken_at)?;
    if !case.run.is_one_process || first.taken_at.zip(last.taken_at)? != ends {
        return None;
    }
    let profile = memory.change.profile_inuse? as f64;
    let evidence = case.history.evidence(case.history.active(), 0, case.last());
    let at_most = evidence.map_or(profile, |evidence| evidence.interval95().1.max(profile));
    let before = first.stats.rss.or(first.held())? as f64;
    let mut measure = measures(first, last, at_most)
        .into_iter()
        .max_by(|a, b| a.unseen().total_cmp(&b.unseen()))?;
    if native_is_said {
        measure.explained += memory.change.native.unwrap_or(0).max(0) as f64;
    }
    let unseen = measure.unseen();
    if unseen < LEAST_UNSEEN || unseen < LEAST_SHARE * before {
        return None;
    }
    let parts: Vec<String> = [
        ("spans in use", memory.change.heap_inuse),
        ("stacks", memory.change.stacks),
        ("the runtime's own data", memory.change.runtime),
        ("native memory", memory.change.native),
    ]
    .into_iter()
    .filter_map(|(what, change)| {
        let change = change.filter(|change| *change as f64 >= LEAST_SHARE * unseen)?;
        Some(format!("{what} {}", signed_size(change as f64)))
    })
    .collect();
    let parts = match parts.is_empty() {
        true => String::new(),
        false => format!("; by parts: {}", parts.join(", ")),
    };
    let text = format!(
        "{} grew by {} and the heap in use by {} (at most {}): {} of growth is not in the heap profile{parts}",
        measure.what,
        size(measure.grew),
        signed_size(profile),
        signed_size(at_most),
        size(unseen),
    );
    Some(NotALeak {
        name: NotALeakName::UnseenGrowth,
        text,
        bytes: Some(unseen),
    })
}

/// Idle pages and garbage count nowhere: they come and go. A byte of live growth takes the room
/// between objects besides.
fn measures(first: &Reading, last: &Reading, profile: f64) -> Vec<Measure> {
    let between = last.stats.heap_inuse.zip(last.stats.heap_alloc);
    let between = between.map_or(1.0, |(inuse, alloc)| inuse as f64 / alloc.max(1) as f64);
    let explained = profile.max(0.0) * between.max(1.0);
    let grew = |figure: &dyn Fn(&Reading) -> Option<f64>| Some(figure(last)? - figure(first)?);
    // Native memory counts only when both ends know it.
    let has_native = first.stats.native.is_some() && last.stats.native.is_some();
    let used = |reading: &Reading| {
        let parts = [
            reading.live()?.0,
            reading.fragmentation()?,
            reading.stacks().unwrap_or(0),
            reading.runtime().unwrap_or(0),
        ];
        let native = reading.stats.native.filter(|_| has_native).unwrap_or(0);
        Some(parts.map(|part| part as f64).iter().sum::<f64>() + native as f64)
    };
    let process = grew(&used).map(|grew| Measure {
        what: match has_native {
            true => "what is resident without garbage and idle pages",
            false => "what the Go runtime holds without garbage and idle pages",
        },
        grew,
        explained,
    });
    let stacks = grew(&|reading| Some(reading.stacks()? as f64)).map(|grew| Measure {
        what: "the memory of goroutine stacks",
        grew,
        explained: 0.0,
    });
    process.into_iter().chain(stacks).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::MemoryStats;

    const MB: u64 = 1 << 20;

    /// 10 MiB of room between objects; just collected.
    fn stats(inuse: u64, stacks: u64) -> MemoryStats {
        MemoryStats {
            heap_alloc: Some((inuse - 10) * MB),
            heap_inuse: Some(inuse * MB),
            stack_sys: Some(stacks * MB),
            last_gc_nanos: Some(0),
            ..MemoryStats::default()
        }
    }

    fn between(first: &MemoryStats, last: &MemoryStats, profile: f64) -> Vec<(f64, f64)> {
        let reading = |stats| Reading {
            stats,
            heap: None,
            taken_at: Some(0),
        };
        measures(&reading(first), &reading(last), profile * MIB)
            .into_iter()
            .map(|measure| (measure.grew / MIB, measure.explained / MIB))
            .collect()
    }

    #[test]
    fn room_between_objects_is_explained_and_stacks_are_not() {
        // 60 → 110 in use (50 → 100 allocated), 1 → 6 of stacks.
        let seen = between(&stats(60, 1), &stats(110, 6), 50.0);
        // 50 + 5 grew; 50 × 110/100 = 55 are explained. Stacks: 5, and nothing explains them.
        assert_eq!(seen.len(), 2);
        let (grew, explained) = seen[0];
        assert!(
            (grew - 55.0).abs() < 1e-9 && (explained - 55.0).abs() < 1e-9,
            "{seen:?}"
        );
        assert_eq!(seen[1], (5.0, 0.0));
    }

    #[test]
    fn native_memory_counts_where_both_ends_know_it() {
        let (mut first, mut last) = (stats(60, 1), stats(60, 1));
        last.native = Some(50 << 20);
        assert_eq!(between(&first, &last, 0.0)[0], (0.0, 0.0));
        first.native = Some(10 << 20);
        // A heap that shrank explains nothing, and hides nothing.
        assert_eq!(between(&first, &last, -3.0), [(40.0, 0.0), (0.0, 0.0)]);
    }

    #[test]
    fn garbage_is_no_growth() {
        let (mut first, mut last) = (stats(60, 0), stats(90, 0));
        // GOGC = 100: live is half of the goal, 40 and 45; the other 35 MiB allocated are garbage.
        (first.gogc_percent, last.gogc_percent) = (Some(100), Some(100));
        (first.next_gc, last.next_gc) = (Some(80 * MB), Some(90 * MB));
        // 5 grew, 5 × 90/80 are explained.
        assert_eq!(between(&first, &last, 5.0)[0], (5.0, 5.625));
    }
}
