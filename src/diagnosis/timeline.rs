//! Every snapshot in time order, and every site of the judged run: what charts and tables of the
//! whole are made of.

use super::case::Case;
use super::listing::write_site;
use super::summary::written_time;
use super::{FindingSite, Moment, Unshown};
use crate::profile::Frame;
use hashbrown::HashMap;

/// Sites that are listed.
const MAX_SITES: usize = 200;

/// Every snapshot of the series, those of other runs too.
pub(super) fn timeline(case: &Case) -> Vec<Moment> {
    let start = case.snapshots().find_map(|snapshot| snapshot.moment());
    let snapshots = case.series.snapshots.iter().enumerate();
    snapshots
        .map(|(index, snapshot)| {
            let runs = &case.series.runs;
            let run = runs.iter().position(|run| run.snapshots.contains(&index));
            Moment {
                source: snapshot.name().to_owned(),
                taken_at: written_time(snapshot.taken_at),
                seconds: snapshot
                    .moment()
                    .zip(start)
                    .map(|(moment, start)| moment.saturating_sub(start) as f64 / 1e9),
                run: run.unwrap_or(0),
                used: case.run.snapshots.contains(&index),
                repeats_previous: snapshot.repeats_previous,
                inuse_bytes: snapshot.heap.as_ref().map(|heap| heap.inuse_bytes()),
                goroutines: snapshot.goroutines.as_ref().map(|crowd| crowd.total()),
            }
        })
        .collect()
}

/// The sites of the judged run with anything in use at its ends, largest change first.
pub(super) fn all_sites(case: &Case) -> (Vec<FindingSite>, Unshown) {
    let (history, last) = (case.history, case.last());
    if history.points() == 0 {
        return (Vec::new(), Unshown::default());
    }
    let mut by_site: HashMap<Frame, Vec<u32>> = HashMap::new();
    for number in 0..history.buckets().len() as u32 {
        let is_held = history.inuse(0, number) != 0 || history.inuse(last, number) != 0;
        let stack = history.buckets()[number as usize].stack;
        if let (true, Some(site)) = (is_held, case.sites.site(stack)) {
            by_site.entry(site).or_default().push(number);
        }
    }
    let sum = |point: usize, numbers: &[u32]| {
        let bytes = numbers.iter().map(|number| history.inuse(point, *number));
        bytes.fold(0i64, i64::saturating_add)
    };
    let mut sites: Vec<(Frame, Vec<u32>, i64, i64)> = by_site
        .into_iter()
        .map(|(frame, numbers)| {
            let after = sum(last, &numbers);
            let change = match case.is_single() || last == 0 {
                true => after,
                false => after.saturating_sub(sum(0, &numbers)),
            };
            (frame, numbers, change, after)
        })
        .collect();
    sites.sort_by(|a, b| (b.2.unsigned_abs(), b.3, a.0).cmp(&(a.2.unsigned_abs(), a.3, b.0)));
    let rest = sites.split_off(sites.len().min(MAX_SITES));
    let listed = sites
        .iter()
        .map(|(frame, numbers, ..)| write_site(case, *frame, numbers));
    let unshown = Unshown {
        rows: rest.len(),
        bytes: rest.iter().map(|(_, _, change, _)| *change as f64).sum(),
    };
    (listed.collect(), unshown)
}
