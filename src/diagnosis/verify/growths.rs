//! The two series under keys that mean the same sites in both, and the rates of sets of sites.

use crate::diagnosis::identity::rekeyed;
use crate::diagnosis::points;
use crate::diagnosis::{DiagnoseOptions, Finding};
use crate::growth::{History, Rate};
use crate::profile::{HeapColumns, HeapProfile, StackId};
use crate::site::{
    Bucket, CanonId, Classifier, Keys, SiteIndex, canonical_name, keys_across_builds,
};
use crate::snapshot::{Run, Series, is_other_build};
use hashbrown::{HashMap, HashSet};
use std::borrow::Cow;

/// The main runs of two series, lined up.
pub(super) struct Growths<'a> {
    series: [&'a Series; 2],
    sites: SiteIndex<'a>,
    /// Per side, the key at which a bucket counts, where it is not its own.
    keys: [Keys; 2],
}

impl<'a> Growths<'a> {
    /// The series share one symbol table.
    pub(super) fn new(series: [&'a Series; 2], options: &DiagnoseOptions) -> Self {
        let classifier = Classifier::new(options.app_modules.clone());
        let sites = SiteIndex::new(&series[0].symbols, &classifier);
        let heaps = series.map(heaps);
        let is_other = match (heaps[0].last(), heaps[1].first()) {
            (Some(last), Some(first)) => is_other_build(&series[0].symbols, last, first),
            _ => false,
        };
        let mut keys = match is_other {
            true => keys_across_builds(&sites, &heaps).keys.into_iter(),
            false => Vec::new().into_iter(),
        };
        Self {
            series,
            sites,
            keys: [(); 2].map(|()| keys.next().unwrap_or_default()),
        }
    }

    pub(super) fn sites(&self) -> &SiteIndex<'a> {
        &self.sites
    }

    /// The heaps of a side.
    pub(super) fn heaps(&self, side: usize) -> Vec<&'a HeapProfile> {
        heaps(self.series[side])
    }

    /// The keys, in either series, of the buckets of some findings of the first: those below the
    /// same function at the same sites. What only the second build has counts by its names.
    pub(super) fn members_of(&self, findings: &[&Finding]) -> HashSet<Bucket> {
        let places: Vec<Place> = findings.iter().map(|f| Place::of(f, &self.sites)).collect();
        let mut known: HashMap<StackId, bool> = HashMap::new();
        let mut belongs = |stack: StackId| {
            *known
                .entry(stack)
                .or_insert_with(|| places.iter().any(|place| place.holds(stack, &self.sites)))
        };
        let (mut members, mut old) = (HashSet::new(), HashSet::new());
        for (bucket, key) in self.buckets(0) {
            old.insert(key);
            if belongs(bucket.stack) {
                members.insert(key);
            }
        }
        for (bucket, key) in self.buckets(1) {
            if !old.contains(&key) && belongs(bucket.stack) {
                members.insert(key);
            }
        }
        members
    }

    /// Every bucket of a side with its key; repeated once a snapshot.
    fn buckets(&self, side: usize) -> impl Iterator<Item = (Bucket, Bucket)> + '_ {
        let keys = &self.keys[side];
        heaps(self.series[side]).into_iter().flat_map(move |heap| {
            (0..heap.columns.len()).map(move |row| {
                let (stack, size) = heap.columns.key(row);
                let bucket = Bucket { stack, size };
                (bucket, keys.get(&bucket).copied().unwrap_or(bucket))
            })
        })
    }

    /// The rates of a set of keys, before and after.
    pub(super) fn rates_of(&self, members: &HashSet<Bucket>) -> [Option<Rate>; 2] {
        self.rates(|key| members.contains(key))
    }

    /// The rates of all keys that are wanted.
    pub(super) fn rates(&self, is_wanted: impl Fn(&Bucket) -> bool) -> [Option<Rate>; 2] {
        [0, 1].map(|side| {
            let series = self.series[side];
            let run = series.main_run()?;
            let keys = &self.keys[side];
            let columns: Vec<Cow<HeapColumns>> = heaps(series)
                .into_iter()
                .map(|heap| rekeyed(heap, keys))
                .collect();
            let history = History::new(&points(series, run, &columns), run.is_one_process);
            let numbers: Vec<u32> = (0..history.buckets().len() as u32)
                .filter(|number| is_wanted(&history.buckets()[*number as usize]))
                .collect();
            Rate::of(&history, &numbers)
        })
    }

    /// How the number of all goroutines grew, before and after.
    pub(super) fn goroutine_rates(&self) -> [Option<Rate>; 2] {
        self.series.map(|series| {
            let run = series.main_run()?;
            let snapshots = run.snapshots.iter().map(|&index| &series.snapshots[index]);
            let (mut counts, mut moments) = (Vec::new(), Vec::new());
            for snapshot in snapshots {
                if let (Some(all), Some(moment)) = (&snapshot.goroutines, snapshot.moment()) {
                    counts.push(all.total());
                    moments.push(moment);
                }
            }
            let start = *moments.first()?;
            let seconds: Vec<f64> = moments
                .iter()
                .map(|moment| moment.saturating_sub(start) as f64 / 1e9)
                .collect();
            Rate::of_counts(&counts, &seconds)
        })
    }
}

/// The heaps of the run that is judged.
fn heaps(series: &Series) -> Vec<&HeapProfile> {
    let run: Option<&Run> = series.main_run();
    let indices = run.map_or(&[][..], |run| &run.snapshots);
    let snapshots = indices.iter().map(|&index| &series.snapshots[index]);
    snapshots
        .filter_map(|snapshot| snapshot.heap.as_ref())
        .collect()
}

/// Where a finding's growth is.
struct Place {
    /// Functions that allocate.
    sites: HashSet<CanonId>,
    /// The function above them that is to blame, if it is on their stacks.
    culprit: Option<CanonId>,
}

impl Place {
    fn of(finding: &Finding, index: &SiteIndex) -> Self {
        let ids: HashMap<&str, CanonId> = index
            .names()
            .iter()
            .enumerate()
            .map(|(number, name)| (name.as_str(), CanonId(number as u32)))
            .collect();
        let find = |function: &str| ids.get(canonical_name(function).as_str()).copied();
        let culprit = finding.culprit.as_ref();
        Self {
            sites: finding
                .sites
                .iter()
                .filter_map(|site| find(&site.function))
                .collect(),
            culprit: culprit
                .filter(|culprit| culprit.seen_in == "heap")
                .and_then(|culprit| find(&culprit.function)),
        }
    }

    fn holds(&self, stack: StackId, index: &SiteIndex) -> bool {
        let is_site = index
            .site(stack)
            .is_some_and(|frame| self.sites.contains(&index.canon(frame.function)));
        let passes = |culprit: CanonId| {
            let mut frames = index.frames(stack);
            frames.any(|frame| index.canon(frame.function) == culprit)
        };
        is_site && self.culprit.is_none_or(passes)
    }
}
