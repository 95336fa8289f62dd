//! A clock that was set back within a series: allocation counters know the order better.

use super::process::continues;
use super::{Series, SeriesWarning, Snapshot};

/// The step across the jump may be so many times the longest other: a process that began anew
/// and by chance never allocated more than its predecessor is farther away.
const MAX_STEP_RATIO: i64 = 4;

impl Series {
    /// Puts the snapshots in the order of their counters, where in this order, and not by the
    /// clock, all are of one process and the clock goes back exactly once.
    pub(super) fn mend_clock(&mut self) {
        let mut order: Vec<usize> = (0..self.snapshots.len()).collect();
        order.sort_by_key(|&index| (allocated(&self.snapshots[index]), index));
        let Some(jump) = self.find_jump(&order) else {
            return;
        };
        let mut old: Vec<Option<Snapshot>> = std::mem::take(&mut self.snapshots)
            .into_iter()
            .map(Some)
            .collect();
        let ordered = order.iter().filter_map(|&index| old[index].take());
        self.snapshots = ordered.collect();
        let times: Vec<i64> = self.snapshots.iter().filter_map(|s| s.taken_at).collect();
        let back = times[jump - 1].saturating_sub(times[jump]);
        let mut steps: Vec<i64> = times
            .windows(2)
            .enumerate()
            .filter(|(index, _)| index + 1 != jump)
            .map(|(_, pair)| pair[1].saturating_sub(pair[0]))
            .collect();
        steps.sort_unstable();
        let step = steps[steps.len() / 2];
        for snapshot in &mut self.snapshots[jump..] {
            snapshot.clock_shift = back.saturating_add(step);
        }
        self.warnings.push(SeriesWarning::ClockJumped {
            first: self.snapshots[jump].name().to_owned(),
            back_seconds: back / 1_000_000_000,
            step_seconds: Some(step / 1_000_000_000),
        });
    }

    /// The position in `order` before which the clock jumped back; none where the counters do
    /// not settle it.
    fn find_jump(&self, order: &[usize]) -> Option<usize> {
        let ordered: Vec<&Snapshot> = order.iter().map(|&index| &self.snapshots[index]).collect();
        let mut jump = None;
        let (mut longest, mut across) = (0, 0);
        for (index, pair) in ordered.windows(2).enumerate() {
            let is_back = pair[1].taken_at? < pair[0].taken_at?;
            let step = allocated(pair[1])?.saturating_sub(allocated(pair[0])?);
            if !continues(pair[0], pair[1]) || is_back && jump.is_some() {
                return None;
            }
            match is_back {
                true => (jump, across) = (Some(index + 1), step),
                false => longest = longest.max(step),
            }
        }
        let is_settled = across > 0 && across <= longest.saturating_mul(MAX_STEP_RATIO);
        jump.filter(|_| is_settled)
    }

    /// For two snapshots whose clocks say that they are in the wrong order: whether their
    /// counters say that they are in the right one. Then they are taken as one process.
    pub fn trust_counters(&mut self, first: usize, second: usize) -> bool {
        let (before, after) = (&self.snapshots[first], &self.snapshots[second]);
        let is_settled = allocated(before) < allocated(after) && continues(before, after);
        if !is_settled || continues(after, before) {
            return false;
        }
        let back = before.taken_at.zip(after.taken_at);
        let warning = SeriesWarning::ClockJumped {
            first: after.name().to_owned(),
            back_seconds: back.map_or(0, |(before, after)| {
                before.saturating_sub(after) / 1_000_000_000
            }),
            step_seconds: None,
        };
        self.take_as_one_process();
        self.warnings.push(warning);
        true
    }
}

/// All that was ever allocated; none without a heap profile.
fn allocated(snapshot: &Snapshot) -> Option<i64> {
    let heap = snapshot.heap.as_ref()?;
    let counters = heap.columns.alloc_space.iter();
    Some(counters.fold(0i64, |sum, bytes| sum.saturating_add(*bytes)))
}
