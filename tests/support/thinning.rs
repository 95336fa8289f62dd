//! Thins an exact history as the runtime samples: each object at its birth, once and for life.

use super::random::Random;
use heapdrift::growth::Sampler;
use heapdrift::profile::{HeapColumns, StackId};
use heapdrift::snapshot::Series;
use std::collections::BTreeMap;

/// Which objects of a bucket are freed in an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Frees {
    /// Those that were born last: what is old stays, and keeps its sample (survivors cancel).
    YoungestFirst,
    /// Any, with equal chance: all that is live turns over.
    Any,
}

/// Objects allocated so far and in use, of one stack and size, at each snapshot.
pub type Bucket = Vec<[u64; 2]>;
pub type History = BTreeMap<(StackId, u64), Bucket>;

/// What the capture recorded; its snapshots are of one process.
pub fn history_of(series: &Series) -> History {
    assert_eq!(series.runs.len(), 1, "the program ran through");
    let points = series.snapshots.len();
    let mut history = History::new();
    for (point, snapshot) in series.snapshots.iter().enumerate() {
        let heap = snapshot.heap.as_ref().unwrap();
        assert_eq!(heap.period, 1, "every allocation is recorded");
        for row in 0..heap.columns.len() {
            let [allocated, _, in_use, _] = heap.columns.values(row);
            let bucket = history
                .entry(heap.columns.key(row))
                .or_insert_with(|| vec![[0; 2]; points]);
            bucket[point] = [allocated, in_use].map(|count| u64::try_from(count).unwrap());
        }
    }
    history
}

/// Objects that were born in one interval and are still in use, and the sampled ones of them.
#[derive(Debug, Clone, Copy)]
struct Cohort {
    live: u64,
    sampled: u64,
}

/// The sampled objects of one bucket, allocated so far and in use, at each snapshot.
pub fn thin(bucket: &Bucket, p: f64, frees: Frees, random: &mut Random) -> Bucket {
    let mut cohorts: Vec<Cohort> = Vec::new();
    let (mut before, mut allocated) = ([0, 0], 0);
    let mut sampled = Vec::new();
    for &now in bucket {
        let born = now[0] - before[0];
        let newborn = Cohort {
            live: born,
            sampled: random.thin(born, p),
        };
        allocated += newborn.sampled;
        match cohorts.last_mut() {
            // One crowd, of which any may go.
            Some(all) if frees == Frees::Any => {
                all.live += newborn.live;
                all.sampled += newborn.sampled;
            }
            _ => cohorts.push(newborn),
        }
        let mut freed = before[1] + born - now[1];
        while freed > 0 {
            let youngest = cohorts.last_mut().expect("only what lives is freed");
            let gone = freed.min(youngest.live);
            youngest.sampled -= random.among(youngest.live, youngest.sampled, gone);
            youngest.live -= gone;
            freed -= gone;
            if youngest.live == 0 {
                cohorts.pop();
            }
        }
        sampled.push([allocated, cohorts.iter().map(|c| c.sampled).sum()]);
        before = now;
    }
    sampled
}

/// Replaces the heaps of the series by what the runtime writes at `rate`.
pub fn resample(
    series: &mut Series,
    history: &History,
    rate: i64,
    frees: Frees,
    random: &mut Random,
) {
    let sampler = Sampler::new(rate).unwrap();
    let mut written = vec![HeapColumns::default(); series.snapshots.len()];
    for (&(stack, size), bucket) in history {
        let p = sampler.probability(size);
        let sampled = thin(bucket, p, frees, random);
        for (columns, counts) in written.iter_mut().zip(sampled) {
            // Cut to whole numbers as the runtime does; what was never sampled has no row.
            let [allocated, in_use] = counts.map(|count| {
                [
                    (count as f64 / p) as i64,
                    ((count * size) as f64 / p) as i64,
                ]
            });
            if counts[0] > 0 {
                columns.stack.push(stack);
                columns.size.push(size);
                columns.alloc_objects.push(allocated[0]);
                columns.alloc_space.push(allocated[1]);
                columns.inuse_objects.push(in_use[0]);
                columns.inuse_space.push(in_use[1]);
            }
        }
    }
    for (snapshot, columns) in series.snapshots.iter_mut().zip(written) {
        let heap = snapshot.heap.as_mut().unwrap();
        heap.columns = columns;
        heap.period = rate;
    }
}
