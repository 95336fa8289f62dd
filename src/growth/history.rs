//! The heap of one process over time: every bucket's values and sampled counts at each point.

use super::{BucketCounts, Evidence, Sampler};
use crate::profile::HeapColumns;
use crate::site::{Aligned, Bucket, BucketValues};
use rayon::prelude::*;
use std::sync::OnceLock;

/// One heap profile of a run.
#[derive(Debug, Clone, Copy)]
pub struct Point<'a> {
    /// Its samples, keyed so that equal keys mean equal sites.
    pub columns: &'a HeapColumns,
    /// Wall clock in nanoseconds, if known.
    pub taken_at: Option<i64>,
    /// `MemProfileRate` if sampled counts can be recovered from this profile.
    pub sampling_rate: Option<i64>,
    /// Whether it shows the collector cycle of the point before it.
    pub repeats_previous: bool,
}

/// K heap profiles, in time order, lined up.
#[derive(Debug)]
pub struct History<'a> {
    aligned: Aligned<'a>,
    sampler: Option<Sampler>,
    is_one_process: bool,
    /// Per point and bucket; empty without a sampler.
    counts: Vec<Vec<BucketCounts>>,
    seconds: Option<Vec<f64>>,
    distinct: Vec<usize>,
    /// Worked out when asked for.
    active: OnceLock<Vec<u32>>,
}

impl<'a> History<'a> {
    /// Lines up the points. Counts are recovered when all of them have the same known rate.
    /// Points that are not of one process are judged as independent samples.
    pub fn new(points: &[Point<'a>], is_one_process: bool) -> Self {
        let aligned = Aligned::new(points.iter().map(|point| point.columns).collect());
        let rate = points.first().and_then(|point| point.sampling_rate);
        let sampler = rate
            .filter(|_| points.iter().all(|point| point.sampling_rate == rate))
            .and_then(Sampler::new);
        let counts = match sampler {
            Some(sampler) => (0..points.len())
                .into_par_iter()
                .map(|point| count_samples(&aligned, point, sampler))
                .collect(),
            None => Vec::new(),
        };
        let start = points.first().and_then(|point| point.taken_at);
        let seconds = points
            .iter()
            .map(|point| Some(point.taken_at?.saturating_sub(start?) as f64 / 1e9))
            .collect();
        let distinct = (0..points.len())
            .filter(|&index| !points[index].repeats_previous)
            .collect();
        Self {
            aligned,
            sampler,
            is_one_process,
            counts,
            seconds,
            distinct,
            active: OnceLock::new(),
        }
    }

    /// Number of points, repeats included.
    pub fn points(&self) -> usize {
        self.aligned.points()
    }

    /// Points that show a collector cycle of their own.
    pub fn distinct(&self) -> &[usize] {
        &self.distinct
    }

    /// All buckets; an index into this is a bucket's number.
    pub fn buckets(&self) -> &[Bucket] {
        self.aligned.buckets()
    }

    /// Numbers of the buckets in which anything was allocated or freed within the window.
    pub fn active(&self) -> &[u32] {
        self.active.get_or_init(|| {
            let last = self.points().saturating_sub(1);
            // Allocation counters never go back, so a bucket that is equal at both ends of one
            // process had no event.
            let is_active = |bucket: &u32| {
                let at = |point| self.aligned.values(point, *bucket as usize);
                !self.is_one_process || at(0) != at(last)
            };
            (0..self.buckets().len() as u32).filter(is_active).collect()
        })
    }

    /// The sampler, when every profile's counts can be recovered.
    pub fn sampler(&self) -> Option<Sampler> {
        self.sampler
    }

    /// Seconds of each point since the first, when every profile has a clock.
    pub fn seconds(&self) -> Option<&[f64]> {
        self.seconds.as_deref()
    }

    /// All values of one bucket at one point, scaled.
    pub fn values(&self, point: usize, bucket: u32) -> BucketValues {
        self.aligned.values(point, bucket as usize)
    }

    /// Bytes in use of one bucket at one point, scaled.
    pub fn inuse(&self, point: usize, bucket: u32) -> i64 {
        self.aligned.values(point, bucket as usize).inuse_space
    }

    /// Objects in use of one bucket at one point, scaled.
    pub fn inuse_objects(&self, point: usize, bucket: u32) -> i64 {
        self.aligned.values(point, bucket as usize).inuse_objects
    }

    /// Bytes in use of a set of buckets at each point.
    pub fn series(&self, buckets: &[u32]) -> Vec<f64> {
        (0..self.points())
            .map(|point| {
                let bytes = buckets
                    .iter()
                    .map(|&bucket| self.inuse(point, bucket) as f64);
                bytes.sum()
            })
            .collect()
    }

    /// Bytes that a set of buckets allocated between two points.
    pub fn allocated_between(&self, buckets: &[u32], from: usize, to: usize) -> f64 {
        let at = |point, bucket: u32| self.aligned.values(point, bucket as usize).alloc_space;
        buckets
            .iter()
            .map(|&bucket| at(to, bucket).saturating_sub(at(from, bucket)) as f64)
            .sum()
    }

    /// What the sampled objects say about a set of buckets between two points; None without counts.
    pub fn evidence(&self, buckets: &[u32], from: usize, to: usize) -> Option<Evidence> {
        let sampler = self.sampler?;
        let mut evidence = Evidence::default();
        for &bucket in buckets {
            let index = bucket as usize;
            let (before, after) = (self.counts[from][index], self.counts[to][index]);
            let size = self.buckets()[index].size;
            if self.is_one_process {
                evidence.add(sampler, size, before, after);
            } else {
                evidence.add_independent(sampler, size, before, after);
            }
        }
        Some(evidence)
    }
}

fn count_samples(aligned: &Aligned, point: usize, sampler: Sampler) -> Vec<BucketCounts> {
    // Few sizes, many buckets: the exponential is worked out when the size changes.
    let mut last = (0u64, 0.0);
    aligned
        .buckets()
        .iter()
        .enumerate()
        .map(|(index, bucket)| {
            let values = aligned.values(point, index);
            if values == BucketValues::default() || bucket.size == 0 {
                return BucketCounts::default();
            }
            if last.0 != bucket.size {
                last = (bucket.size, sampler.per_byte(bucket.size));
            }
            let (_, per_byte) = last;
            BucketCounts {
                allocated: (values.alloc_space as f64 * per_byte).round() as i64,
                inuse: (values.inuse_space as f64 * per_byte).round() as i64,
            }
        })
        .collect()
}
