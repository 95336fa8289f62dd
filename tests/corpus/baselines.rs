//! What people do without heapdrift: four rules on the same files (statistics.md §9).
//!
//! They are given what they would have to work for: the right files in the right order, one
//! process only, and stacks summed up by the function of the program that ordered the memory.

use crate::judged::Call;
use crate::support::Case;
use heapdrift::growth::{benjamini_hochberg, normal_upper_tail};
use heapdrift::site::{Classifier, FrameClass, SiteIndex, declared_name};
use heapdrift::source::{LoadOptions, Source, load_series};
use std::collections::BTreeMap;

/// Bytes in use of one place in each snapshot.
pub struct Site {
    pub name: String,
    pub bytes: Vec<i64>,
}

/// A rule: what it makes of the places of a series.
pub type Rule = fn(&[Site]) -> Call;

/// All of them, with the name that the table shows.
pub const BASELINES: [(&str, Rule); 4] = [
    ("top 10 by delta", top_ten),
    ("> 10 % growth", ten_percent),
    ("grew in every interval", every_interval),
    ("Mann-Kendall + BH", mann_kendall_bh),
];

/// The places of a case: for each stack its nearest function of the program, or without one its
/// leaf-most function outside the runtime; closures belong to the function around them.
pub fn sites_of(case: &Case) -> Vec<Site> {
    let source = Source::Directory(case.dir.clone());
    let series = load_series(&[source], &LoadOptions::default()).unwrap();
    let index = SiteIndex::new(&series.symbols, &Classifier::default());
    let run = series.main_run().unwrap();
    let snapshots = run.snapshots.iter().map(|&at| &series.snapshots[at]);
    let heaps: Vec<_> = snapshots.filter_map(|s| s.heap.as_ref()).collect();
    let mut sites: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for (point, heap) in heaps.iter().enumerate() {
        for (&stack, &bytes) in heap.columns.stack.iter().zip(&heap.columns.inuse_space) {
            let is_application = |function| index.class(function) == FrameClass::Application;
            let frame = index
                .frames(stack)
                .find(|frame| is_application(frame.function))
                .or_else(|| index.site(stack));
            let name = frame.map_or("", |f| series.symbols.function_name(f.function));
            let site = sites
                .entry(declared_name(name))
                .or_insert_with(|| vec![0; heaps.len()]);
            site[point] += bytes;
        }
    }
    let site = |(name, bytes): (&str, _)| Site {
        name: name.to_owned(),
        bytes,
    };
    sites.into_iter().map(site).collect()
}

impl Site {
    fn delta(&self) -> i64 {
        match self.bytes.as_slice() {
            [first, .., last] => last - first,
            _ => 0,
        }
    }
}

/// Names, the largest growth from first to last before the others.
fn by_delta<'a>(sites: impl Iterator<Item = &'a Site>) -> Vec<&'a Site> {
    let mut sites: Vec<&Site> = sites.collect();
    sites.sort_by(|a, b| b.delta().cmp(&a.delta()).then(a.name.cmp(&b.name)));
    sites
}

fn call(is_leak: bool, culprits: &[&Site]) -> Call {
    Call {
        is_leak,
        culprits: culprits.iter().map(|site| site.name.clone()).collect(),
    }
}

/// A leak when any of the ten largest changes is growth.
fn top_ten(sites: &[Site]) -> Call {
    let mut ranked = by_delta(sites.iter());
    ranked.truncate(10);
    call(ranked.iter().any(|site| site.delta() > 0), &ranked)
}

/// A leak when the whole heap grew by more than a tenth.
fn ten_percent(sites: &[Site]) -> Call {
    let total = |at: fn(&[i64]) -> Option<&i64>| -> i64 {
        sites.iter().filter_map(|site| at(&site.bytes)).sum()
    };
    let (first, last) = (total(<[i64]>::first), total(<[i64]>::last));
    call(10 * last > 11 * first, &by_delta(sites.iter()))
}

/// A leak when some place grew from each snapshot to the next.
fn every_interval(sites: &[Site]) -> Call {
    let grows = |site: &&Site| site.bytes.len() > 1 && site.bytes.is_sorted_by(|a, b| a < b);
    let growing = by_delta(sites.iter().filter(grows));
    call(!growing.is_empty(), &growing)
}

/// A leak when Mann and Kendall's test finds an upward trend at some place, with the share of
/// false discoveries held at 5 %. Places that never change are not tested, which helps the others.
fn mann_kendall_bh(sites: &[Site]) -> Call {
    let changes = |site: &&Site| site.bytes.windows(2).any(|pair| pair[0] != pair[1]);
    let tested: Vec<&Site> = sites.iter().filter(changes).collect();
    let p_values: Vec<f64> = tested
        .iter()
        .map(|site| normal_upper_tail(mann_kendall_z(&site.bytes)))
        .collect();
    let is_rejected = benjamini_hochberg(&p_values, 0.05);
    let rejected = tested.iter().zip(is_rejected).filter(|(_, yes)| *yes);
    let rejected = by_delta(rejected.map(|(site, _)| *site));
    call(!rejected.is_empty(), &rejected)
}

/// Mann and Kendall's statistic as a standard normal variable (Mann 1945, Kendall 1975): the
/// number of pairs that rise less those that fall, moved by one towards 0 (continuity), over its
/// standard deviation, from which each group of t equal values takes t(t − 1)(2t + 5).
fn mann_kendall_z(values: &[i64]) -> f64 {
    let pairs = || (0..values.len()).flat_map(|i| (0..i).map(move |j| (j, i)));
    let score: i64 = pairs().map(|(j, i)| (values[i] - values[j]).signum()).sum();
    let mut ties: BTreeMap<i64, f64> = BTreeMap::new();
    for value in values {
        *ties.entry(*value).or_default() += 1.0;
    }
    let part = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let tied: f64 = ties.into_values().map(part).sum();
    let variance = (part(values.len() as f64) - tied) / 18.0;
    if score == 0 || variance <= 0.0 {
        return 0.0;
    }
    (score - score.signum()) as f64 / variance.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sites(all: &[(&str, &[i64])]) -> Vec<Site> {
        let site = |(name, bytes): &(&str, &[i64])| Site {
            name: (*name).to_owned(),
            bytes: bytes.to_vec(),
        };
        all.iter().map(site).collect()
    }

    #[test]
    fn the_ten_largest_are_a_leak_when_one_of_them_grew() {
        let grew = top_ten(&sites(&[("a", &[5, 4]), ("b", &[1, 2]), ("c", &[1, 9])]));
        assert!(grew.is_leak);
        assert_eq!(grew.culprits, ["c", "b", "a"]);
        assert!(!top_ten(&sites(&[("a", &[5, 4]), ("b", &[1, 1])])).is_leak);
        let many: Vec<_> = (0..12).map(|_| ("x", [0, 1].as_slice())).collect();
        assert_eq!(top_ten(&sites(&many)).culprits.len(), 10);
        assert!(!top_ten(&[]).is_leak);
    }

    #[test]
    fn a_tenth_of_the_whole_heap_is_a_leak() {
        // 100 to 111: b's fall is made up for.
        let more = ten_percent(&sites(&[("a", &[40, 90, 61]), ("b", &[60, 0, 50])]));
        assert!(more.is_leak);
        assert_eq!(more.culprits, ["a", "b"]);
        assert!(!ten_percent(&sites(&[("a", &[100, 500, 110])])).is_leak);
        assert!(!ten_percent(&[]).is_leak);
    }

    #[test]
    fn growth_must_be_in_every_interval() {
        let found = every_interval(&sites(&[
            ("rises", &[1, 2, 3]),
            ("rests", &[1, 9, 9]),
            ("rises more", &[1, 2, 5]),
        ]));
        assert!(found.is_leak);
        assert_eq!(found.culprits, ["rises more", "rises"]);
        assert!(!every_interval(&sites(&[("rests", &[1, 9, 9]), ("one", &[1])])).is_leak);
    }

    /// By hand. 1 to 5: all 10 pairs rise, variance 5·4·15/18 = 50/3, z = 9/√(50/3). With two
    /// pairs of equal values: 8 of 10 rise, variance (300 − 2·18)/18 = 44/3, z = 7/√(44/3).
    #[test]
    fn mann_kendall_as_by_hand() {
        assert!((mann_kendall_z(&[1, 2, 3, 4, 5]) - 2.204_541).abs() < 1e-6);
        assert!((mann_kendall_z(&[5, 4, 3, 2, 1]) + 2.204_541).abs() < 1e-6);
        assert!((mann_kendall_z(&[1, 1, 2, 3, 3]) - 1.827_815).abs() < 1e-6);
        assert_eq!(mann_kendall_z(&[7, 7, 7]), 0.0);
        assert_eq!(mann_kendall_z(&[]), 0.0);
    }

    /// Eight values in order: z = 27/√(8·7·21/18) = 3.34, p = 0.0004; one place up and one down
    /// leave p = 0.0008 after the correction. Five in order among four that fall: p = 0.0137·5.
    #[test]
    fn mann_kendall_is_corrected_for_the_number_of_places() {
        let up: Vec<i64> = (0..8).collect();
        let down: Vec<i64> = (0..8).rev().collect();
        let found = mann_kendall_bh(&sites(&[("up", &up), ("down", &down), ("flat", &[3; 8])]));
        assert!(found.is_leak);
        assert_eq!(found.culprits, ["up"]);
        let down: &[i64] = &[5, 4, 3, 2, 1];
        let four = [("a", down), ("b", down), ("c", down), ("d", down)];
        let with_one = [four.as_slice(), &[("up", &[1, 2, 3, 4, 5])]].concat();
        assert!(!mann_kendall_bh(&sites(&with_one)).is_leak);
        assert!(mann_kendall_bh(&sites(&with_one[4..])).is_leak);
    }
}
