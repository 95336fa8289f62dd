//! Did the fix stop the growth? Two series of different processes, two rates, their difference.
//!
//! Each series is judged for itself first; what grew in the first is then looked for in the
//! second, by site, across builds. This module knows series and judgements; it must not know how
//! the answer is shown.

mod growths;
mod rules;
#[cfg(test)]
mod tests;

use super::identity::matched_between;
use super::programs::refuse_other_programs;
use super::{
    DiagnoseOptions, Diagnosis, Finding, FindingVerdict, Identity, NotComparable, SCHEMA_VERSION,
    Verdict, diagnose,
};
use crate::growth::Rate;
use crate::pattern::Catalogue;
use crate::snapshot::{Run, Series, Snapshot};
use crate::units::duration;
use growths::Growths;
use rules::{combine, judge_rates, seconds_to_settle};
use serde::Serialize;

/// What became of growth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerifyVerdict {
    /// It grew before, and now it does not, or by less than a tenth.
    Fixed,
    /// It grows more slowly, beyond noise, and still grows.
    Reduced,
    /// It still grows, and not more slowly beyond noise.
    Unchanged,
    /// It grows faster, beyond noise.
    Worse,
    /// The windows are too short to say, or there was nothing to be fixed.
    TooShortToTell,
}

/// The answer of [`verify`]. Rates are bytes (or goroutines) per hour.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verification {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The answer in a word.
    pub verdict: VerifyVerdict,
    /// Why, as a sentence.
    pub reason: String,
    /// The series before the fix.
    pub before: VerifySide,
    /// The series after it.
    pub after: VerifySide,
    /// The whole heap; null without sampled counts or clocks.
    pub total: Option<RateChange>,
    /// All that grew before, together: the sites of all findings of the worst kind (leaks, if there
    /// are any); null without any.
    pub growth: Option<RateChange>,
    /// All goroutines; null where they were not captured.
    pub goroutines: Option<RateChange>,
    /// What grew before, worst first, and what became of each.
    pub findings: Vec<VerifiedFinding>,
    /// What grows only now, worst first.
    pub new_findings: Vec<NewFinding>,
    /// Length of a window, in seconds, that would settle what is not settled; null when it is.
    pub settles_after_seconds: Option<f64>,
    /// What would settle it, as a sentence; null when it is settled.
    pub settles: Option<String>,
    /// How the sites of the two were matched: the last heap before, the first after.
    pub identity: Option<Identity>,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// One of the series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifySide {
    /// Its first file, as the user knows it.
    pub source: String,
    /// What `diagnose` says of it.
    pub verdict: Verdict,
    /// Snapshots of the judged run.
    pub snapshots: usize,
    /// From its first to its last.
    pub window_seconds: Option<f64>,
    /// Mean bytes between samples.
    pub sampling_period: Option<i64>,
    /// Smaller growth per hour can go unseen in it.
    pub detection_limit_bytes_per_hour: Option<f64>,
}

/// A rate before and after.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RateChange {
    /// Growth per hour before.
    pub before_per_hour: f64,
    /// Its 95 % interval.
    pub before_ci95: [f64; 2],
    /// Growth per hour after.
    pub after_per_hour: f64,
    /// Its 95 % interval.
    pub after_ci95: [f64; 2],
    /// After less before.
    pub difference_per_hour: f64,
    /// Its 95 % interval.
    pub difference_ci95: [f64; 2],
    /// What it comes to.
    pub verdict: VerifyVerdict,
}

/// What became of a finding of the first series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifiedFinding {
    /// Catalogue name, or null for plain growth.
    pub pattern: Option<String>,
    /// A line that says it.
    pub title: String,
    /// The function to blame, as the profile names it.
    pub culprit: Option<String>,
    /// Its source file, if known.
    pub file: Option<String>,
    /// Line within it, if known.
    pub line: Option<u32>,
    /// What kind of growth it was.
    pub before: FindingVerdict,
    /// What kind of growth the second series shows for the same pattern and culprit, if any.
    pub after: Option<FindingVerdict>,
    /// Growth of its sites; null where goroutines alone grew.
    pub growth: Option<RateChange>,
    /// What it comes to.
    pub verdict: VerifyVerdict,
}

/// Growth that only the second series has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NewFinding {
    /// Catalogue name, or null for plain growth.
    pub pattern: Option<String>,
    /// A line that says it.
    pub title: String,
    /// What kind of growth.
    pub verdict: FindingVerdict,
    /// How fast.
    pub bytes_per_hour: Option<f64>,
    /// Its 95 % interval.
    pub ci95: Option<[f64; 2]>,
}

/// Compares how fast two series grow. Both must share one symbol table
/// (`load_sides` of the sources); with `force` different programs are compared too.
///
/// # Errors
/// As [`diagnose`] for either series; two series of different programs.
pub fn verify(
    before: &Series,
    after: &Series,
    catalogue: &Catalogue,
    options: &DiagnoseOptions,
    force: bool,
) -> Result<Verification, NotComparable> {
    let judged = [
        diagnose(before, catalogue, options)?,
        diagnose(after, catalogue, options)?,
    ];
    let growths = Growths::new([before, after], options);
    let identity = identity_of(before, after, &growths, force)?;
    let change = |rates: [Option<Rate>; 2], found: [bool; 2]| {
        let [Some(before), Some(after)] = rates else {
            return None;
        };
        Some((write_change(&before, &after, found), before, after))
    };
    let total = change(growths.rates(|_| true), [false; 2]);
    // Whether the second series has a finding of the same cause.
    let goes_on = |finding: &Finding| {
        let mut after = judged[1].findings.iter().filter(|f| is_growth(f));
        after.any(|other| is_same(other, finding))
    };
    let grown: Vec<&Finding> = judged[0].findings.iter().filter(|f| is_growth(f)).collect();
    // A fix is for the worst of it.
    let worst = grown.iter().map(|finding| finding.verdict).max();
    let lead: Vec<&Finding> = grown
        .iter()
        .copied()
        .filter(|f| Some(f.verdict) == worst)
        .collect();
    let on_heap: Vec<&Finding> = lead
        .iter()
        .copied()
        .filter(|f| !f.sites.is_empty())
        .collect();
    let growth = (!on_heap.is_empty()).then(|| {
        let members = growths.members_of(&on_heap);
        let go_on = on_heap.iter().any(|f| goes_on(f) && rests_on_heap(f));
        let was_found = on_heap.iter().any(|f| rests_on_heap(f));
        change(growths.rates_of(&members), [was_found, go_on])
    });
    let growth = growth.flatten();
    let has_goroutines = lead.iter().any(|f| rests_on_goroutines(f));
    let go_on = lead.iter().any(|f| goes_on(f) && rests_on_goroutines(f));
    let goroutines = change(growths.goroutine_rates(), [has_goroutines, go_on]);
    let verdict_of = |change: &Option<(RateChange, Rate, Rate)>| {
        change.as_ref().map(|(change, ..)| change.verdict)
    };
    let on_goroutines = verdict_of(&goroutines).filter(|_| has_goroutines);
    let lead = match grown.is_empty() {
        true => verdict_of(&total),
        false => combine(verdict_of(&growth), on_goroutines),
    };
    let new_findings = new_findings(&judged);
    let has_new_leak = new_findings
        .iter()
        .any(|f| f.verdict == FindingVerdict::Leak);
    let verdict = match (lead, verdict_of(&total)) {
        (None, _) => VerifyVerdict::TooShortToTell,
        // What was there is gone, and something else leaks instead.
        (Some(VerifyVerdict::Fixed), whole) if has_new_leak => match whole {
            Some(VerifyVerdict::Worse) => VerifyVerdict::Worse,
            Some(VerifyVerdict::Unchanged) => VerifyVerdict::Unchanged,
            _ => VerifyVerdict::Reduced,
        },
        (Some(VerifyVerdict::TooShortToTell), _) if has_new_leak && grown.is_empty() => {
            VerifyVerdict::Worse
        }
        (Some(lead), _) => lead,
    };
    let findings = grown
        .iter()
        .map(|finding| {
            let growth = match finding.sites.is_empty() {
                true => None,
                false => change(
                    growths.rates_of(&growths.members_of(&[*finding])),
                    [
                        rests_on_heap(finding),
                        rests_on_heap(finding) && goes_on(finding),
                    ],
                ),
            };
            let crowds = match rests_on_goroutines(finding) {
                true => verdict_of(&goroutines),
                false => None,
            };
            write_finding(
                finding,
                &judged[1],
                growth.map(|(change, ..)| change),
                crowds,
            )
        })
        .collect();
    let leading = growth.as_ref().or(match grown.is_empty() {
        true => total.as_ref(),
        false => goroutines.as_ref(),
    });
    let settles_after_seconds = leading
        .filter(|_| verdict == VerifyVerdict::TooShortToTell)
        .and_then(|(_, before, after)| seconds_to_settle(before, after));
    let settles = (verdict == VerifyVerdict::TooShortToTell)
        .then(|| settling_sentence(&judged, leading.is_some(), settles_after_seconds));
    Ok(Verification {
        schema_version: SCHEMA_VERSION,
        verdict,
        reason: rules::reason(
            verdict,
            leading.map(|(change, ..)| change),
            !grown.is_empty(),
            has_new_leak,
        ),
        before: write_side(&judged[0]),
        after: write_side(&judged[1]),
        total: total.map(|(change, ..)| change),
        growth: growth.map(|(change, ..)| change),
        goroutines: goroutines.map(|(change, ..)| change),
        findings,
        new_findings,
        settles_after_seconds,
        settles,
        identity,
        warnings: warnings([before, after], &judged),
    })
}

/// Growth that a fix is to stop.
fn is_growth(finding: &Finding) -> bool {
    finding.verdict >= FindingVerdict::Growing
}

fn rests_on_heap(finding: &Finding) -> bool {
    finding.rests_on.contains(&"heap")
}

fn rests_on_goroutines(finding: &Finding) -> bool {
    finding.rests_on.contains(&"goroutines")
}

fn identity_of(
    before: &Series,
    after: &Series,
    growths: &Growths,
    force: bool,
) -> Result<Option<Identity>, NotComparable> {
    let last = heaps_of(before, before.main_run()).last();
    let first = heaps_of(after, after.main_run()).next();
    let (Some(last), Some(first)) = (last, first) else {
        return Ok(None);
    };
    let Some((identity, _)) = matched_between(growths.sites(), last, first) else {
        return Ok(None);
    };
    if !force {
        let [old, new] = [growths.heaps(0), growths.heaps(1)];
        refuse_other_programs(&identity, [last, first], growths.sites(), [&old, &new])?;
    }
    Ok(Some(identity))
}

fn heaps_of<'a>(
    series: &'a Series,
    run: Option<&'a Run>,
) -> impl DoubleEndedIterator<Item = &'a Snapshot> {
    let indices = run.map_or(&[][..], |run| &run.snapshots);
    let snapshots = indices.iter().map(|&index| &series.snapshots[index]);
    snapshots.filter(|snapshot| snapshot.heap.is_some())
}

fn write_change(before: &Rate, after: &Rate, found: [bool; 2]) -> RateChange {
    RateChange {
        before_per_hour: before.per_hour(),
        before_ci95: before.ci95(),
        after_per_hour: after.per_hour(),
        after_ci95: after.ci95(),
        difference_per_hour: after.per_hour() - before.per_hour(),
        difference_ci95: after.less95(before),
        verdict: judge_rates(before, after, found),
    }
}

fn write_finding(
    finding: &Finding,
    after: &Diagnosis,
    growth: Option<RateChange>,
    on_goroutines: Option<VerifyVerdict>,
) -> VerifiedFinding {
    let same = after.findings.iter().filter(|f| is_same(f, finding));
    let on_heap = growth.as_ref().map(|change| change.verdict);
    VerifiedFinding {
        pattern: finding.pattern.clone(),
        title: finding.title.clone(),
        culprit: finding.culprit.as_ref().map(|c| c.function.clone()),
        file: finding.culprit.as_ref().and_then(|c| c.file.clone()),
        line: finding.culprit.as_ref().and_then(|c| c.line),
        before: finding.verdict,
        after: same.map(|finding| finding.verdict).max(),
        growth,
        verdict: combine(on_heap, on_goroutines).unwrap_or(VerifyVerdict::TooShortToTell),
    }
}

/// Whether two findings are of one cause: the same pattern, or plain growth with one culprit.
fn is_same(one: &Finding, other: &Finding) -> bool {
    let function = |finding: &Finding| finding.culprit.as_ref().map(|c| c.function.clone());
    match (&one.pattern, &other.pattern) {
        (None, None) => function(one) == function(other),
        (one, other) => one == other,
    }
}

fn new_findings(judged: &[Diagnosis; 2]) -> Vec<NewFinding> {
    let known = |finding: &&Finding| !judged[0].findings.iter().any(|old| is_same(old, finding));
    let grown = judged[1]
        .findings
        .iter()
        .filter(|finding| is_growth(finding));
    grown
        .filter(known)
        .map(|finding| NewFinding {
            pattern: finding.pattern.clone(),
            title: finding.title.clone(),
            verdict: finding.verdict,
            bytes_per_hour: finding.growth.as_ref().and_then(|g| g.bytes_per_hour),
            ci95: finding.growth.as_ref().and_then(|g| g.ci95),
        })
        .collect()
}

fn write_side(diagnosis: &Diagnosis) -> VerifySide {
    let used = diagnosis.inputs.iter().find(|input| input.used);
    VerifySide {
        source: used.map_or_else(String::new, |input| input.source.clone()),
        verdict: diagnosis.verdict,
        snapshots: diagnosis.series.snapshots,
        window_seconds: diagnosis.series.window_seconds,
        sampling_period: diagnosis.series.sampling_period,
        detection_limit_bytes_per_hour: diagnosis.series.detection_limit_bytes_per_hour,
    }
}

fn settling_sentence(judged: &[Diagnosis; 2], has_rates: bool, seconds: Option<f64>) -> String {
    match (has_rates, seconds) {
        (false, _) => "two heap profiles or more of each, with clocks and sampled counts, give rates: capture both with --every 30s --for 10m".to_owned(),
        (true, Some(seconds)) => format!(
            "windows of {} or more on both sides would settle it",
            duration(seconds)
        ),
        (true, None) => {
            let limit = judged[0].series.detection_limit_bytes_per_hour;
            let seen = limit.map_or_else(String::new, |limit| {
                format!(", in which growth of {}/h would show", crate::units::size(limit))
            });
            format!("no growth beyond noise shows before the fix{seen}: capture it for longer, under the load that makes it grow")
        }
    }
}

fn warnings(series: [&Series; 2], judged: &[Diagnosis; 2]) -> Vec<String> {
    let mut warnings = Vec::new();
    for (side, diagnosis) in ["before", "after"].into_iter().zip(judged) {
        warnings.extend(
            diagnosis
                .warnings
                .iter()
                .map(|text| format!("{side}: {text}")),
        );
    }
    let [one, other] = [0, 1].map(|side| judged[side].series.sampling_period);
    if one != other {
        warnings.push(format!(
            "the two were sampled at different rates ({} and {} bytes): rates in bytes compare, with the error of each",
            one.map_or("unknown".to_owned(), |rate| rate.to_string()),
            other.map_or("unknown".to_owned(), |rate| rate.to_string()),
        ));
    }
    let moments = series.map(|series| {
        let run = series.main_run();
        heaps_of(series, run).filter_map(Snapshot::moment).next()
    });
    match moments {
        [Some(before), Some(after)] if after < before => warnings.push(
            "the series after the fix was captured before the other: are they swapped?".to_owned(),
        ),
        [Some(before), Some(after)] if after == before => warnings.push(
            "both series begin at the same instant: the same captures given twice can only be unchanged".to_owned(),
        ),
        _ => {}
    }
    warnings
}
