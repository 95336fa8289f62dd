//! Verdicts that read the heap profiles.

use super::{Growth, entry, is_material};
use crate::diagnosis::case::{Case, FrameName};
use crate::diagnosis::judge::shape_of;
use crate::diagnosis::measure::all_buckets;
use crate::diagnosis::memory::MIB;
use crate::diagnosis::summary::detection_limit;
use crate::diagnosis::{Finding, FindingVerdict, NotALeak, NotALeakName};
use crate::growth::Shape;
use crate::units::{signed_size, size};

/// Least share of the heap that is a cache of the cluster.
const CACHE_SHARE: f64 = 0.30;
/// Beginnings of the frames under which informers keep and decode objects.
const CACHE_FRAMES: [&str; 3] = [
    "k8s.io/client-go/tools/cache.",
    "k8s.io/apimachinery/pkg/watch.(*StreamWatcher)",
    "sigs.k8s.io/controller-runtime/pkg/cache",
];
/// Goroutine descriptors for each goroutine that is there, from which on there was a peak.
const PEAK_DESCRIPTORS: f64 = 4.0;
/// Change in the last third of the window, as a share of the growth, up to which it is flat.
const FLAT: f64 = 0.10;
/// Least share of the heap that is a constant block, and most objects that make one.
const BLOCK_SHARE: f64 = 0.25;
const BLOCK_OBJECTS: i64 = 4;
/// Least object of a constant block. From three sampling rates on objects are always sampled.
const BLOCK_SIZE: i64 = 1 << 20;
const ALWAYS_SAMPLED: i64 = 3;
/// A heap up to this is small: in a larger one a profiler's tenth would be the program's.
const SMALL_HEAP: f64 = 64.0 * MIB;
const PROFILER_SHARE: f64 = 0.10;
const PROFILER_BYTES: f64 = MIB / 4.0;
const PROFILER_FRAMES: [&str; 2] = ["runtime/pprof.", "net/http/pprof."];
/// Least rise of the heap that a reader will ask about.
const NOTICED: f64 = 0.10;

/// Objects that informers keep, where they do not grow: memory of the cluster's size.
pub(super) fn cluster_sized_cache(case: &Case, findings: &[Finding]) -> Option<NotALeak> {
    let buckets = buckets_below(case, &CACHE_FRAMES);
    let (bytes, total) = (in_use(case, &buckets), in_use(case, &all_buckets(case)));
    if bytes < CACHE_SHARE * total || !is_material(bytes, total) {
        return None;
    }
    // One snapshot shows no growth: then a suspect has the word.
    if case.is_single() && !findings.is_empty() || grows(case, &buckets) {
        return None;
    }
    let text = format!(
        "{} of the {} in use are objects that Kubernetes informers keep or decode: a cache of the cluster's \
         size; fewer kinds, one namespace, metadata only or a transform that drops fields make it smaller",
        size(bytes),
        size(total),
    );
    entry(NotALeakName::ClusterSizedCache, bytes, text)
}

/// Whether the buckets grew beyond noise, other than up to a level where they stay.
fn grows(case: &Case, buckets: &[u32]) -> bool {
    if case.history.points() < 2 {
        return false;
    }
    let grew = match case.history.evidence(buckets, 0, case.last()) {
        Some(evidence) => evidence.p_value() <= 0.05 && evidence.delta_bytes() > 0.0,
        None => {
            let values = case.history.series(buckets);
            values.last() > values.first()
        }
    };
    let shape = || shape_of(case.history, buckets).shape;
    grew && matches!(shape(), Shape::Sustained | Shape::Open)
}

/// Memory that rose earlier and stays: goroutine descriptors of a peak, or a finding's sites
/// that have been flat since and are more than what a cache of the cluster explains. The larger.
pub(super) fn peak_kept(case: &Case, findings: &[Finding], of_cache: f64) -> Option<NotALeak> {
    let reached = findings
        .iter()
        .filter_map(|finding| level_reached(case, finding))
        .filter(|reached| reached.bytes.is_some_and(|bytes| bytes > of_cache));
    let all = reached.chain(descriptors(case));
    all.max_by(|a, b| a.bytes.unwrap_or(0.0).total_cmp(&b.bytes.unwrap_or(0.0)))
}

/// The runtime keeps the descriptor of every goroutine that there ever was at one time.
fn descriptors(case: &Case) -> Option<NotALeak> {
    let goroutines: u64 = case
        .crowds
        .crowds
        .iter()
        .filter_map(|crowd| crowd.counts.last())
        .sum();
    let buckets = buckets_below(case, &["runtime.malg"]);
    let count = |bucket: &u32| case.history.inuse_objects(case.last(), *bucket) as f64;
    let once: f64 = buckets.iter().map(count).sum();
    let (bytes, total) = (in_use(case, &buckets), in_use(case, &all_buckets(case)));
    let is_peak = goroutines > 0 && once >= PEAK_DESCRIPTORS * goroutines as f64;
    if !is_peak || !is_material(bytes, total) || grows(case, &buckets) {
        return None;
    }
    let text = format!(
        "there were once about {once:.0} goroutines and are {goroutines} now: the runtime keeps their {} of \
         descriptors (runtime.malg) for the next ones and never frees them",
        size(bytes),
    );
    entry(NotALeakName::PeakKept, bytes, text)
}

/// A finding whose growth is over: its last third is flat.
fn level_reached(case: &Case, finding: &Finding) -> Option<NotALeak> {
    let is_over = matches!(
        finding.verdict,
        FindingVerdict::Step | FindingVerdict::Plateauing
    );
    let growth = finding.growth.as_ref().filter(|_| is_over)?;
    let last = case.last();
    let at = |point: usize| -> f64 {
        let values = finding
            .sites
            .iter()
            .filter_map(|site| site.series.get(point));
        values.sum()
    };
    let late = at(last) - at(last - last.div_ceil(3));
    let total = in_use(case, &all_buckets(case));
    let is_flat = late.abs() <= FLAT * growth.bytes.abs();
    if last < 3 || !is_flat || !is_material(growth.bytes, total) {
        return None;
    }
    let culprit = finding.culprit.as_ref();
    let whose = culprit.map_or_else(String::new, |culprit| format!(" of {}", culprit.function));
    let text = format!(
        "the memory{whose} rose by {} early in the window and changed by {} in its last third: it has \
         reached a size that it keeps, as a map, a ring buffer, a cache or a new load does",
        size(growth.bytes),
        signed_size(late),
    );
    entry(NotALeakName::PeakKept, growth.bytes, text)
}

/// One or a few huge objects that are the same in every snapshot.
pub(super) fn constant_block(case: &Case) -> Option<NotALeak> {
    let (history, last) = (case.history, case.last());
    if history.distinct().len() < 2 {
        return None;
    }
    let rate = history.sampler().map_or(0, |sampler| sampler.rate());
    let least = BLOCK_SIZE.max(rate.saturating_mul(ALWAYS_SAMPLED));
    let is_block = |bucket: &u32| {
        let now = history.values(last, *bucket);
        let is_huge = history.buckets()[*bucket as usize].size >= least.unsigned_abs();
        let is_same = |point| history.inuse(point, *bucket) == now.inuse_space;
        is_huge && (1..=BLOCK_OBJECTS).contains(&now.inuse_objects) && (0..last).all(is_same)
    };
    let all = all_buckets(case);
    let blocks: Vec<u32> = all.iter().copied().filter(is_block).collect();
    let (bytes, total) = (in_use(case, &blocks), in_use(case, &all));
    if bytes < BLOCK_SHARE * total || !is_material(bytes, total) {
        return None;
    }
    let largest = blocks
        .iter()
        .max_by_key(|bucket| history.inuse(last, **bucket))?;
    let frame = case.sites.site(history.buckets()[*largest as usize].stack);
    let FrameName { function, .. } = case.name(frame?);
    let objects: i64 = blocks
        .iter()
        .map(|bucket| history.inuse_objects(last, *bucket))
        .sum();
    let text = format!(
        "{} of the {} in use are {objects} object(s), the largest from {function}, that are the same in every \
         snapshot: a ballast or an arena; pages of it that were never touched are not resident, and the \
         collector's goal grows with it",
        size(bytes),
        size(total),
    );
    entry(NotALeakName::ConstantBlock, bytes, text)
}

/// What profiling itself takes, in a small heap. The mean over the window: the profiler's buffers
/// come and go, and one snapshot holds a sample or two of them.
pub(super) fn profiler_memory(case: &Case) -> Option<NotALeak> {
    let buckets = buckets_below(case, &PROFILER_FRAMES);
    let mean = |buckets: &[u32]| {
        let values = case.history.series(buckets);
        values.iter().sum::<f64>() / values.len().max(1) as f64
    };
    let (bytes, total) = (mean(&buckets), mean(&all_buckets(case)));
    if total > SMALL_HEAP || bytes < PROFILER_BYTES || bytes < PROFILER_SHARE * total {
        return None;
    }
    let text = format!(
        "{} of the {} in use on average belong to the profiler: the tables and the compressor with which \
         profiles are written; they are there because of the capture",
        size(bytes),
        size(total),
    );
    entry(NotALeakName::ProfilerMemory, bytes, text)
}

/// A rise of the heap that this capture cannot tell from noise.
pub(super) fn below_detection(case: &Case, growth: Growth) -> Option<NotALeak> {
    let limit = detection_limit(case)?;
    let (history, last) = (case.history, case.last());
    let evidence = history.evidence(history.active(), 0, last)?;
    let rose = evidence.delta_bytes();
    let first: f64 = all_buckets(case)
        .into_iter()
        .map(|bucket| history.inuse(0, bucket) as f64)
        .sum();
    // Less than one sampled object is nothing at all.
    let sample = history.sampler()?.rate() as f64;
    let is_noticed = rose >= sample && rose >= NOTICED * first;
    if growth.any || !case.run.is_one_process || !is_noticed || rose >= limit {
        return None;
    }
    let text = format!(
        "the heap in use rose by {} ±{}, less than the {} that this capture can tell from noise: a leak that \
         slow is neither shown nor excluded; a longer window or a smaller MemProfileRate would tell",
        size(rose),
        size(evidence.sd_bytes()),
        size(limit),
    );
    entry(NotALeakName::BelowDetection, rose, text)
}

/// Buckets on whose stack stands a function with one of these beginnings (canonical names).
fn buckets_below(case: &Case, fronts: &[&str]) -> Vec<u32> {
    let is_front = |name: &String| fronts.iter().any(|front| name.starts_with(front));
    let wanted: Vec<bool> = case.sites.names().iter().map(is_front).collect();
    if !wanted.contains(&true) {
        return Vec::new();
    }
    let is_below = |bucket: &u32| {
        let stack = case.history.buckets()[*bucket as usize].stack;
        let mut frames = case.sites.frames(stack);
        frames.any(|frame| wanted[case.sites.canon(frame.function).index()])
    };
    all_buckets(case).into_iter().filter(is_below).collect()
}

/// Bytes in use in the last snapshot.
fn in_use(case: &Case, buckets: &[u32]) -> f64 {
    if case.history.points() == 0 {
        return 0.0;
    }
    let bytes = |bucket: &u32| case.history.inuse(case.last(), *bucket) as f64;
    buckets.iter().map(bytes).sum()
}
