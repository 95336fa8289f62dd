//! The result of the judgement, as the JSON contract prints it.
//!
//! Every number that any report shows stands here. Sizes are bytes, rates bytes per hour,
//! times seconds unless a name says otherwise. Strings that come from a profile or a path
//! are verbatim and untrusted.

use super::NotALeakName;
pub use crate::site::Tier;
use serde::Serialize;

/// Changes only together with a change that breaks readers of the JSON.
pub const SCHEMA_VERSION: u32 = 1;

/// The judgement over one or more snapshots.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The answer in a word.
    pub verdict: Verdict,
    /// Every file, used or left out.
    pub inputs: Vec<Input>,
    /// What the judgement rests on.
    pub series: SeriesSummary,
    /// The whole heap.
    pub totals: Totals,
    /// Every snapshot, in time order.
    pub timeline: Vec<Moment>,
    /// Worst first.
    pub findings: Vec<Finding>,
    /// All allocation sites of the judged run, those of the findings among them: largest change
    /// first, or largest size in a single snapshot. Not all of these changes are real.
    pub sites: Vec<FindingSite>,
    /// What the list of sites leaves out; `bytes` is the sum of their changes, or sizes.
    pub sites_unshown: Unshown,
    /// Memory that is not a leak of the heap.
    pub not_a_leak: Vec<NotALeak>,
    /// Where the resident memory is, when runtime figures were captured.
    pub memory: Option<MemoryBreakdown>,
    /// When the limit is reached.
    pub forecast: Forecast,
    /// How the sites on both sides of a rebuild or restart were matched; null when all
    /// snapshots are of one process.
    pub identity: Option<Identity>,
    /// What the reader should know, as sentences.
    pub warnings: Vec<String>,
    /// What would settle an open question, as sentences.
    pub next_steps: Vec<String>,
}

/// How the sites of two heaps of different builds or processes were matched: the last heap
/// before the rebuild or restart, and the first after it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Identity {
    /// Whether the code of the two differs.
    pub is_other_build: bool,
    /// Their build ids, `unknown` where the profile has none.
    pub builds: [String; 2],
    /// The first heap, as the user knows it.
    pub before: String,
    /// The second heap.
    pub after: String,
    /// One entry a tier, closest first. Each bucket counts in the first tier that finds it a
    /// partner.
    pub tiers: Vec<IdentityTier>,
    /// What is in one of the two only.
    pub unmatched: IdentityShares,
    /// Code that stands elsewhere in the second build, largest first.
    pub moves: Vec<IdentityMove>,
    /// What the list of moves leaves out.
    pub moves_unshown: Unshown,
}

/// What was matched in one way.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct IdentityTier {
    /// How.
    pub tier: Tier,
    /// Of the bytes of both, 0 to 1.
    pub share: f64,
    /// Of the bytes in use in the first heap, 0 to 1.
    pub before_share: f64,
    /// Of those in the second.
    pub after_share: f64,
}

/// Shares of the bytes in use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct IdentityShares {
    /// Of the bytes of both, 0 to 1.
    pub share: f64,
    /// Of the first heap, 0 to 1.
    pub before_share: f64,
    /// Of the second.
    pub after_share: f64,
}

/// Code that stands elsewhere in the second build.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IdentityMove {
    /// The function that allocated in the first build.
    pub from: String,
    /// The one that does in the second.
    pub to: String,
    /// The smaller of the bytes there before and here after.
    pub bytes: i64,
}

/// The answer in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Growth in every part of the window.
    Leak,
    /// Real growth, too few points to say more.
    Growing,
    /// Nothing grew beyond noise.
    Steady,
    /// The heap fell beyond noise.
    Shrinking,
    /// A single snapshot, or growth whose shape is not decided.
    Undecided,
}

/// What kind of growth a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingVerdict {
    /// Seen in a single snapshot: looks like a known pattern.
    Suspect,
    /// Memory comes and goes.
    Sawtooth,
    /// Nearly all growth within one interval.
    Step,
    /// Growth that levels off.
    Plateauing,
    /// Real growth; too few points or too short a window to call it a leak.
    Growing,
    /// Real growth in every third of the window.
    Leak,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Input {
    /// As the user knows it.
    pub source: String,
    /// `heap`, `goroutines`, `memory` or `left-out`.
    pub kind: &'static str,
    /// RFC 3339, from the profile's own clock.
    pub taken_at: Option<String>,
    /// Bytes in use by the profile.
    pub inuse_bytes: Option<i64>,
    /// Number of goroutines.
    pub goroutines: Option<u64>,
    /// Build id of the main binary, if the profile has one.
    pub build_id: Option<String>,
    /// Whether it takes part in the judgement.
    pub used: bool,
    /// What is to be said of it.
    pub warnings: Vec<String>,
}

/// What the judgement rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesSummary {
    /// Snapshots of the judged run.
    pub snapshots: usize,
    /// From its first to its last snapshot.
    pub window_seconds: Option<f64>,
    /// Distinct collector cycles among its heap snapshots.
    pub gc_points: usize,
    /// Collector cycles that the process went through in the window, when the runtime said so.
    pub gc_cycles: Option<u64>,
    /// Snapshots that show the same cycle as the one before.
    pub repeats: usize,
    /// Restarts between the snapshots given.
    pub restarts: usize,
    /// False when `--force` put snapshots of several processes into one series.
    pub is_one_process: bool,
    /// Mean bytes between samples (`MemProfileRate`).
    pub sampling_period: Option<i64>,
    /// Half of all captures like this one would show a growth of this size as real, nearly
    /// all one of twice the size; smaller growth can go unseen.
    pub detection_limit_bytes: Option<f64>,
    /// The same as a rate over the window.
    pub detection_limit_bytes_per_hour: Option<f64>,
    /// Tests made, over which the false-discovery rate is held at 5 %.
    pub tests: usize,
}

/// The whole heap.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Totals {
    /// In use in the first snapshot.
    pub first_bytes: Option<i64>,
    /// Its standard error.
    pub first_sd: Option<f64>,
    /// In use in the last snapshot.
    pub last_bytes: Option<i64>,
    /// Its standard error.
    pub last_sd: Option<f64>,
    /// Slope from first to last.
    pub bytes_per_hour: Option<f64>,
    /// Its 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// In use in each snapshot with a heap profile.
    pub series: Vec<i64>,
    /// Goroutines in each snapshot that has them.
    pub goroutines: Vec<u64>,
}

/// One snapshot.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Moment {
    /// Its first file.
    pub source: String,
    /// RFC 3339, from the profile's own clock.
    pub taken_at: Option<String>,
    /// Seconds since the first snapshot of the judged run; null without clocks.
    pub seconds: Option<f64>,
    /// Number of its run, in order of their first snapshots.
    pub run: usize,
    /// Whether that run is the judged one.
    pub used: bool,
    /// Whether its heap is of the collector cycle of the snapshot before it.
    pub repeats_previous: bool,
    /// Bytes in use by the profile.
    pub inuse_bytes: Option<i64>,
    /// Number of goroutines.
    pub goroutines: Option<u64>,
}

/// One cause of growth, or one suspect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Catalogue name, or null for plain growth.
    pub pattern: Option<String>,
    /// A line that says it.
    pub title: String,
    /// What kind of growth.
    pub verdict: FindingVerdict,
    /// Which growth carries the verdict: `heap`, `goroutines` or both; empty for a single snapshot.
    pub rests_on: Vec<&'static str>,
    /// 0 to 1.
    pub confidence: f64,
    /// Who is to blame.
    pub culprit: Option<Culprit>,
    /// Growth of its sites together; null for a single snapshot.
    pub growth: Option<FindingGrowth>,
    /// How that growth is spread over the window; null for goroutines alone or a single snapshot.
    pub course: Option<Course>,
    /// The same sites in the other runs given (other pods, before a restart); null without any.
    pub other_runs: Option<OtherRuns>,
    /// Its share of the heap in use in the last snapshot, 0 to 1.
    pub share: Option<f64>,
    /// Largest change first.
    pub sites: Vec<FindingSite>,
    /// What the list of sites leaves out.
    pub sites_unshown: Unshown,
    /// Groups of goroutines that belong to it.
    pub goroutines: Vec<FindingGoroutines>,
    /// The program's own functions above the culprit through which most of its growth comes,
    /// nearest first: where a culprit is a constructor, one of these keeps what it makes. Of a
    /// culprit seen on goroutines: the functions that started them.
    pub callers: Vec<String>,
    /// Function names from the culprit down to its largest site.
    pub path: Vec<String>,
    /// Sentences with numbers.
    pub evidence: Vec<String>,
    /// What would change the verdict, as sentences.
    pub would_change: Vec<String>,
    /// Why memory grows.
    pub why: String,
    /// What to do.
    pub fix: String,
    /// Public reports.
    pub references: Vec<String>,
    /// Another pattern that fits less well.
    pub also_matches: Option<String>,
}

/// Who is to blame.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Culprit {
    /// As the profile names it.
    pub function: String,
    /// Source file, if known.
    pub file: Option<String>,
    /// Line within it, if known.
    pub line: Option<u32>,
    /// `heap` (a frame above the growing sites) or `goroutine` (a frame of a goroutine's stack).
    pub seen_in: &'static str,
    /// What the choice rests on.
    pub basis: String,
}

/// Growth of a finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FindingGrowth {
    /// From first to last snapshot.
    pub bytes: f64,
    /// Standard error of `bytes`.
    pub sd_bytes: Option<f64>,
    /// Slope from first to last.
    pub bytes_per_hour: Option<f64>,
    /// 95 % interval of the slope.
    pub ci95: Option<[f64; 2]>,
    /// Median of the slopes between all pairs of snapshots (Theil–Sen): a few odd snapshots
    /// cannot move it.
    pub median_bytes_per_hour: Option<f64>,
    /// One-sided test of "no net growth" over the whole window.
    pub p_value: Option<f64>,
    /// Change in objects (estimated, not sampled).
    pub objects: f64,
    /// Of the bytes that its sites with anything in use allocated in the window, the share by
    /// which they grew: 1 = nothing is freed.
    pub retention: Option<f64>,
    /// Bytes allocated per byte of growth in the window, sites that hold nothing included.
    pub churn: Option<f64>,
}

/// How growth is spread over the window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Course {
    /// The thirds of the window; empty with fewer than four points of collector cycles of their own.
    pub thirds: Vec<Third>,
    /// Share of the growth that fell into the interval with most of it.
    pub largest_interval_share: f64,
    /// Largest fall below an earlier value, as a share of the growth; null if nothing grew.
    pub draw_down_share: Option<f64>,
    /// How far the changes scatter around their slopes, as a multiple of what the sampled counts
    /// predict: more than about 2 is load that swings. Null with few points.
    pub dispersion: Option<f64>,
    /// Length of a warm-up in the beginning that is left out of the thirds.
    pub warm_up_seconds: Option<f64>,
}

/// A third of the window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Third {
    /// Seconds since the first snapshot, from and to; null without clocks.
    pub seconds: Option<[f64; 2]>,
    /// Change within it.
    pub bytes: f64,
    /// One-sided test of "no net growth" within it; null without an error estimate.
    pub p_value: Option<f64>,
}

/// The sites of a finding in other runs of the same series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OtherRuns {
    /// Other runs with two heap snapshots or more.
    pub runs: usize,
    /// Those in which the sites grew beyond noise (5 %).
    pub grew: usize,
    /// Those in which they grew in every third.
    pub sustained: usize,
    /// One-sided test of "no net growth", the counts of all runs pooled.
    pub pooled_p_value: Option<f64>,
}

/// One allocation site of a finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FindingSite {
    /// As the profile names it.
    pub function: String,
    /// Source file, if known.
    pub file: Option<String>,
    /// Line, if known.
    pub line: Option<u32>,
    /// In use in the first snapshot; null for a single one.
    pub before: Option<f64>,
    /// In use in the last snapshot.
    pub after: f64,
    /// Change; null for a single snapshot.
    pub delta: Option<f64>,
    /// Standard error of `delta`, or of `after` for a single snapshot.
    pub sd: Option<f64>,
    /// Bytes of each object; null when sizes are mixed or unknown.
    pub object_size: Option<u64>,
    /// In use in each snapshot.
    pub series: Vec<f64>,
}

/// A group of goroutines of a finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FindingGoroutines {
    /// Where they stand: the leaf-most frame outside the runtime and the standard library, or the
    /// leaf-most of the latter that is not a mere helper.
    pub function: String,
    /// The function that started them, if known.
    pub created_by: Option<String>,
    /// Most common state, if known.
    pub state: Option<String>,
    /// In the first snapshot.
    pub before: u64,
    /// In the last snapshot.
    pub after: u64,
    /// How many of them, in the last snapshot, the runtime itself has proved to be stuck for good
    /// (`(leaked)` in a dump, or a profile `goroutineleak`).
    pub leaked: u64,
    /// Longest wait in the last snapshot, whole minutes.
    pub wait_minutes: Option<u32>,
    /// In each snapshot that has goroutines.
    pub series: Vec<u64>,
}

/// Rows and bytes that a list leaves out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Unshown {
    /// How many rows.
    pub rows: usize,
    /// Their sum in the list's own measure.
    pub bytes: f64,
}

/// Memory that is not a leak of the heap.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NotALeak {
    /// Catalogue name.
    pub name: NotALeakName,
    /// A sentence with its numbers.
    pub text: String,
    /// The bytes it is about.
    pub bytes: Option<f64>,
}

/// Where the resident memory is: figures of the last snapshot with memory figures, bytes unless
/// a name says otherwise; null = not captured. `heap_alloc` + `fragmentation` + `heap_idle_kept`
/// + `stacks` + `runtime` = `held`, and `held` + `native` = `rss` of one reading.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct MemoryBreakdown {
    /// In use by the profile.
    pub profile_inuse: Option<i64>,
    /// Live after the last collection, as estimated.
    pub live: Option<u64>,
    /// What `live` is taken from: `goal` (the collector's goal and the GOGC that the process
    /// reports), `profile` (its error is below 5 %, or HeapAlloc is from long after a collection)
    /// or `heap-alloc` (HeapAlloc right after a collection: a little more than what is live).
    pub live_from: Option<&'static str>,
    /// Live and not yet swept objects.
    pub heap_alloc: Option<u64>,
    /// In spans with objects.
    pub heap_inuse: Option<u64>,
    /// Of these, room between objects: `heap_inuse` − `heap_alloc`.
    pub fragmentation: Option<u64>,
    /// Idle, kept for reuse: HeapIdle − HeapReleased.
    pub heap_idle_kept: Option<u64>,
    /// Already given back to the system.
    pub heap_released: Option<u64>,
    /// Goroutine stacks.
    pub stacks: Option<u64>,
    /// Collector, profiler and other runtime data.
    pub runtime: Option<u64>,
    /// All obtained from the system, given back or not.
    pub sys: Option<u64>,
    /// All that the Go runtime holds: `sys` − `heap_released`.
    pub held: Option<u64>,
    /// Resident set now.
    pub rss: Option<u64>,
    /// Resident and not of the Go runtime (C libraries, mapped files, the program's own code):
    /// `rss` − (`sys` − `heap_released`), all of one reading. Below zero where pages that were
    /// obtained have never been touched.
    pub native: Option<i64>,
    /// Largest resident set since the process began; not what is resident now.
    pub max_rss: Option<u64>,
    /// Heap size at which the next collection starts (NextGC).
    pub next_gc: Option<u64>,
    /// Room for garbage until then: `next_gc` − `live`.
    pub garbage_headroom: Option<u64>,
    /// GOGC in per cent, as the process reports it.
    pub gogc_percent: Option<u64>,
    /// `next_gc` / `live`; null below 4 MiB live, where the runtime's least heap decides.
    pub gogc_factor: Option<f64>,
    /// GOGC in per cent as seen: 100 · (`next_gc` − live) / (live + stacks in use), by the pacer's
    /// own formula without the globals, with live as measured (`profile` or `heap-alloc`). A
    /// memory limit makes it smaller than GOGC.
    pub gogc_seen_percent: Option<f64>,
    /// GOGC before and after, in per cent as reported or seen, when it changed in the window.
    pub gogc_change: Option<[f64; 2]>,
    /// GOMEMLIMIT; null when it is off or not known.
    pub go_memory_limit: Option<u64>,
    /// Anonymous memory of the control group.
    pub cgroup_anon: Option<u64>,
    /// Its file pages (page cache).
    pub cgroup_file: Option<u64>,
    /// Of these, the pages that are dropped first; a working set leaves them out.
    pub cgroup_inactive_file: Option<u64>,
    /// All that it is charged for.
    pub cgroup_current: Option<u64>,
    /// Its limit.
    pub cgroup_limit: Option<u64>,
    /// From the first to the last snapshot that has the figure.
    pub change: MemoryChange,
}

/// Changes of memory figures within the window, bytes; null = in fewer than two snapshots.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct MemoryChange {
    /// Of `profile_inuse`.
    pub profile_inuse: Option<i64>,
    /// Of `heap_alloc`.
    pub heap_alloc: Option<i64>,
    /// Of `heap_inuse`.
    pub heap_inuse: Option<i64>,
    /// Of `fragmentation`.
    pub fragmentation: Option<i64>,
    /// Of `heap_idle_kept`.
    pub heap_idle_kept: Option<i64>,
    /// Of `heap_released`.
    pub heap_released: Option<i64>,
    /// Of `stacks`.
    pub stacks: Option<i64>,
    /// Of `runtime`.
    pub runtime: Option<i64>,
    /// Of `sys`.
    pub sys: Option<i64>,
    /// Of `held`.
    pub held: Option<i64>,
    /// Of `rss`.
    pub rss: Option<i64>,
    /// Of `native`.
    pub native: Option<i64>,
    /// Of `max_rss`: above zero, the resident set was never as large before.
    pub max_rss: Option<i64>,
    /// Of `cgroup_anon`.
    pub cgroup_anon: Option<i64>,
    /// Of `cgroup_file`.
    pub cgroup_file: Option<i64>,
}

/// When a limit is reached.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Forecast {
    /// The limit.
    pub limit_bytes: Option<u64>,
    /// Where it is from: `given` (by the user) or `cgroup` (of the snapshots).
    pub limit_from: Option<&'static str>,
    /// What counts against it now.
    pub held_bytes: Option<u64>,
    /// Where that is from: `rss` (resident set), `cgroup` (anonymous memory of the control
    /// group), `runtime` (Sys − HeapReleased) or `profile` (live heap × factor).
    pub held_from: Option<&'static str>,
    /// Bytes that the process comes to hold per byte of growth: 1 + GOGC/100.
    pub factor: Option<f64>,
    /// Hours from the last snapshot to the earliest time at which it is reached.
    pub earliest_hours: Option<f64>,
    /// Hours to the latest; null = later than ten times the window, or never.
    pub latest_hours: Option<f64>,
    /// Why there is no forecast.
    pub reason: Option<String>,
}

/// The site table of two snapshots.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diff {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The first profile.
    pub before: DiffSide,
    /// The second.
    pub after: DiffSide,
    /// Change of the whole heap.
    pub total: DiffTotal,
    /// Largest absolute change first.
    pub rows: Vec<DiffRow>,
    /// What the rows leave out; `bytes` is the sum of their deltas.
    pub unshown: Unshown,
    /// How the sites of the two were matched; null when they are of one process.
    pub identity: Option<Identity>,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// One side of a diff.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiffSide {
    /// As the user knows it.
    pub source: String,
    /// RFC 3339.
    pub taken_at: Option<String>,
    /// Bytes in use.
    pub inuse_bytes: i64,
    /// Mean bytes between samples.
    pub sampling_period: Option<i64>,
}

/// Change of the whole heap.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiffTotal {
    /// After less before.
    pub delta_bytes: i64,
    /// Its standard error.
    pub sd_bytes: Option<f64>,
    /// Seconds between the two.
    pub seconds: Option<f64>,
    /// Smallest growth of one row that could be told from noise.
    pub detection_limit_bytes: Option<f64>,
}

/// What a diff says of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowVerdict {
    /// Beyond noise (false-discovery rate 5 % over the rows).
    Grew,
    /// Beyond noise.
    Shrank,
    /// Not to be told from noise.
    WithinNoise,
    /// Allocated elsewhere in the other build, and not changed beyond noise.
    Moved,
    /// No error estimate.
    Unknown,
}

/// One allocation site, at its leaf frame as `go tool pprof -top` has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiffRow {
    /// As the profile names it.
    pub function: String,
    /// Source file, if known.
    pub file: Option<String>,
    /// Line, if known.
    pub line: Option<u32>,
    /// Bytes of each object; null when sizes are mixed or unknown.
    pub object_size: Option<u64>,
    /// In use before.
    pub before_bytes: i64,
    /// In use after.
    pub after_bytes: i64,
    /// After less before.
    pub delta_bytes: i64,
    /// Standard error of the change.
    pub sd_bytes: Option<f64>,
    /// Change in objects.
    pub delta_objects: i64,
    /// One-sided test, in the direction of the change.
    pub p_value: Option<f64>,
    /// What it comes to.
    pub verdict: RowVerdict,
    /// The function that allocated most of `before_bytes` in the first build, where the code
    /// was moved since.
    pub moved_from: Option<String>,
}

/// The functions of one snapshot.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Top {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// As the user knows it.
    pub source: String,
    /// RFC 3339.
    pub taken_at: Option<String>,
    /// Mean bytes between samples.
    pub sampling_period: Option<i64>,
    /// Bytes in use.
    pub total_bytes: i64,
    /// Its standard error.
    pub total_se: Option<f64>,
    /// Largest flat first, then largest cum.
    pub rows: Vec<TopRow>,
    /// What the rows leave out; `bytes` is the sum of their flat values.
    pub unshown: Unshown,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// One function.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TopRow {
    /// As the profile names it.
    pub function: String,
    /// Source file, if known.
    pub file: Option<String>,
    /// Bytes whose leaf frame it is.
    pub flat_bytes: i64,
    /// Their standard error.
    pub flat_se: Option<f64>,
    /// Their share of all bytes in use, 0 to 1.
    pub flat_share: f64,
    /// Objects whose leaf frame it is.
    pub flat_objects: i64,
    /// Bytes on whose stack it stands.
    pub cum_bytes: i64,
    /// Their standard error.
    pub cum_se: Option<f64>,
    /// Their share of all bytes in use, 0 to 1.
    pub cum_share: f64,
}
