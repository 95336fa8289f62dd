//! Several processes of one program side by side: which of them leak, and what they share.
//!
//! Knows the judgement of each. Must not look at profiles again, nor at how anything is shown.

use super::model::{Diagnosis, Finding, FindingVerdict, SCHEMA_VERSION, Verdict};
use serde::Serialize;
use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};
use std::collections::BTreeMap;

/// Coverage of the intervals is 1 − 2 × this.
const TAIL: f64 = 0.025;

/// The judgement over several processes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fleet {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The worst of the members' verdicts.
    pub verdict: Verdict,
    /// One entry a process, in the order given.
    pub members: Vec<FleetMember>,
    /// Growth of the whole heap over the processes; null with fewer than two rates.
    pub pooled: Option<PooledGrowth>,
    /// What grows in several of them, or in one: worst first.
    pub findings: Vec<SharedFinding>,
}

/// A process of a fleet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetMember {
    /// As the user knows it; untrusted text.
    pub name: String,
    /// Its judgement; null where none could be made.
    pub diagnosis: Option<Diagnosis>,
    /// Why there is none.
    pub problem: Option<String>,
}

/// Rates of several processes as one sample: each process is an independent trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PooledGrowth {
    /// Processes with a rate.
    pub processes: usize,
    /// Their mean.
    pub bytes_per_hour: f64,
    /// Its 95 % interval by Student's t over the processes; it holds for processes like these.
    pub ci95: [f64; 2],
    /// One-sided test of "no mean growth" (one-sample t-test).
    pub p_value: f64,
}

/// A cause of growth, over all processes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SharedFinding {
    /// Catalogue name, or null for plain growth.
    pub pattern: Option<String>,
    /// A line that says it.
    pub title: String,
    /// The function to blame, where there is one.
    pub culprit: Option<String>,
    /// The worst of its verdicts.
    pub verdict: FindingVerdict,
    /// Processes in which it is a leak.
    pub leaks_in: Vec<String>,
    /// Those in which it is found with a milder verdict.
    pub found_in: Vec<String>,
    /// Those that were judged and do not show it.
    pub not_in: Vec<String>,
    /// Its rates over the processes that show it; null with fewer than two.
    pub pooled: Option<PooledGrowth>,
    /// Test of "in some third of the window it did not grow" over all processes that show it: the
    /// p-values of each third are combined by Fisher's method, and the weakest third counts. Null
    /// with fewer than two processes whose windows have thirds.
    pub sustained_p_value: Option<f64>,
    /// Index of the member that shows it worst.
    pub worst_member: usize,
    /// Index of the finding there.
    pub worst_finding: usize,
}

/// Puts the judgements of several processes together.
pub fn diagnose_fleet(members: Vec<FleetMember>) -> Fleet {
    let judged = || {
        members
            .iter()
            .filter_map(|member| member.diagnosis.as_ref())
    };
    let verdict = judged()
        .map(|diagnosis| diagnosis.verdict)
        .min_by_key(|verdict| rank(*verdict))
        .unwrap_or(Verdict::Undecided);
    let rates: Vec<f64> = judged()
        .filter_map(|diagnosis| diagnosis.totals.bytes_per_hour)
        .collect();
    let findings = share(&members);
    Fleet {
        schema_version: SCHEMA_VERSION,
        verdict,
        pooled: pool(&rates),
        findings,
        members,
    }
}

/// Worst first.
fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Leak => 0,
        Verdict::Growing => 1,
        Verdict::Undecided => 2,
        Verdict::Shrinking => 3,
        Verdict::Steady => 4,
    }
}

/// What makes two findings the same: the pattern and the function to blame.
type Cause<'a> = (Option<&'a str>, Option<&'a str>, &'a str);

fn cause(finding: &Finding) -> Cause<'_> {
    let culprit = finding.culprit.as_ref();
    let culprit = culprit.map(|culprit| culprit.function.as_str());
    // Without a culprit the title is all that there is.
    let title = if culprit.is_none() {
        finding.title.as_str()
    } else {
        ""
    };
    (finding.pattern.as_deref(), culprit, title)
}

fn share(members: &[FleetMember]) -> Vec<SharedFinding> {
    // The worst finding of each cause in each member: indices of both.
    let mut causes: BTreeMap<Cause, Vec<(usize, usize)>> = BTreeMap::new();
    for (index, member) in members.iter().enumerate() {
        let findings = member
            .diagnosis
            .iter()
            .flat_map(|diagnosis| &diagnosis.findings);
        for (number, finding) in findings.enumerate() {
            let places = causes.entry(cause(finding)).or_default();
            if places.last().is_none_or(|(last, _)| *last != index) {
                places.push((index, number));
            }
        }
    }
    let of = |(member, number): (usize, usize)| {
        let diagnosis = members[member].diagnosis.as_ref();
        diagnosis.map(|diagnosis| &diagnosis.findings[number])
    };
    let growth = |finding: &Finding| {
        let growth = finding.growth.as_ref();
        growth.map_or(0.0, |growth| growth.bytes)
    };
    let mut shared: Vec<SharedFinding> = causes
        .into_values()
        .filter_map(|places| {
            let found: Vec<((usize, usize), &Finding)> = places
                .iter()
                .filter_map(|place| Some((*place, of(*place)?)))
                .collect();
            let (worst, finding) = found.iter().max_by(|(_, a), (_, b)| {
                a.verdict
                    .cmp(&b.verdict)
                    .then(growth(a).total_cmp(&growth(b)))
            })?;
            let names = |is_leak: bool| {
                let of_kind = found
                    .iter()
                    .filter(|(_, finding)| (finding.verdict == FindingVerdict::Leak) == is_leak);
                of_kind
                    .map(|((member, _), _)| members[*member].name.clone())
                    .collect()
            };
            let has_it = |index: usize| found.iter().any(|((member, _), _)| *member == index);
            let not_in = members
                .iter()
                .enumerate()
                .filter(|(index, member)| member.diagnosis.is_some() && !has_it(*index))
                .map(|(_, member)| member.name.clone());
            let rates: Vec<f64> = found
                .iter()
                .filter_map(|(_, finding)| finding.growth.as_ref()?.bytes_per_hour)
                .collect();
            Some(SharedFinding {
                pattern: finding.pattern.clone(),
                title: finding.title.clone(),
                culprit: finding
                    .culprit
                    .as_ref()
                    .map(|culprit| culprit.function.clone()),
                verdict: finding.verdict,
                leaks_in: names(true),
                found_in: names(false),
                not_in: not_in.collect(),
                pooled: pool(&rates),
                sustained_p_value: sustained(found.iter().map(|(_, finding)| *finding)),
                worst_member: worst.0,
                worst_finding: worst.1,
            })
        })
        .collect();
    shared.sort_by(|a, b| {
        let bytes = |finding: &SharedFinding| {
            of((finding.worst_member, finding.worst_finding)).map_or(0.0, growth)
        };
        let number = |finding: &SharedFinding| finding.leaks_in.len() + finding.found_in.len();
        (b.verdict.cmp(&a.verdict))
            .then(b.leaks_in.len().cmp(&a.leaks_in.len()))
            .then(number(b).cmp(&number(a)))
            .then(bytes(b).total_cmp(&bytes(a)))
            .then(a.title.cmp(&b.title))
    });
    shared
}

/// One-sample t statistics of rates; `None` with fewer than two.
fn pool(rates: &[f64]) -> Option<PooledGrowth> {
    let number = rates.len();
    if number < 2 {
        return None;
    }
    let n = number as f64;
    let mean = rates.iter().sum::<f64>() / n;
    let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
    let standard_error = (squares / (n - 1.0) / n).sqrt();
    let student = StudentsT::new(0.0, 1.0, n - 1.0).ok()?;
    let half = student.inverse_cdf(1.0 - TAIL) * standard_error;
    let p_value = match standard_error > 0.0 {
        true => student.sf(mean / standard_error),
        // Equal rates to the last bit are counts that did not move, or one that all share.
        false => match mean > 0.0 {
            true => 0.0,
            false => 1.0,
        },
    };
    Some(PooledGrowth {
        processes: number,
        bytes_per_hour: mean,
        ci95: [mean - half, mean + half],
        p_value,
    })
}

/// The weakest third after combining the processes.
fn sustained<'a>(findings: impl Iterator<Item = &'a Finding>) -> Option<f64> {
    let thirds: Vec<[f64; 3]> = findings
        .filter_map(|finding| {
            let thirds = &finding.course.as_ref()?.thirds;
            let p_values = thirds.iter().map(|third| third.p_value);
            let p_values: Vec<f64> = p_values.collect::<Option<_>>()?;
            p_values.try_into().ok()
        })
        .collect();
    if thirds.len() < 2 {
        return None;
    }
    (0..3)
        .map(|third| fisher(thirds.iter().map(|p_values| p_values[third])))
        .max_by(f64::total_cmp)
}

/// Fisher's method: −2 Σ ln p has 2k degrees of freedom when all k hypotheses hold (R. A. Fisher,
/// Statistical Methods for Research Workers, § 21.1).
fn fisher(p_values: impl Iterator<Item = f64>) -> f64 {
    // The logarithm of 0 would make a sum of infinity, from which nothing could be said.
    let logs: Vec<f64> = p_values.map(|p| p.max(f64::MIN_POSITIVE).ln()).collect();
    let statistic = -2.0 * logs.iter().sum::<f64>();
    ChiSquared::new(2.0 * logs.len() as f64).map_or(1.0, |chi| chi.sf(statistic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_combined_as_fisher_did() {
        // Two of 0.05: −4 ln 0.05 = 11.983 on four degrees of freedom; by the closed form
        // e^(−x/2) (1 + x/2) = 0.0025 × 6.9915 = 0.017479.
        assert!((fisher([0.05, 0.05].into_iter()) - 0.017_479).abs() < 1e-5);
        assert!((fisher([0.3].into_iter()) - 0.3).abs() < 1e-9);
        assert!(fisher([0.0, 1.0].into_iter()) < 1e-6);
    }

    #[test]
    fn rates_are_pooled_as_a_textbook_does() {
        // 5.1, 4.9, 5.6, 5.8, 5.6: mean 5.4, s = 0.3808, s/√5 = 0.1703, t(4, 0.975) = 2.7764:
        // 5.4 ± 0.4728.
        let pooled = pool(&[5.1, 4.9, 5.6, 5.8, 5.6]).unwrap();
        assert!((pooled.bytes_per_hour - 5.4).abs() < 1e-9);
        assert!((pooled.ci95[0] - 4.9272).abs() < 1e-3, "{pooled:?}");
        assert!((pooled.ci95[1] - 5.8728).abs() < 1e-3, "{pooled:?}");
        assert!(pooled.p_value < 1e-4, "{pooled:?}");
        assert_eq!(pool(&[1.0]), None);
    }

    #[test]
    fn no_growth_on_the_mean_is_no_growth() {
        // Mean 0: half of all such samples lie above.
        let pooled = pool(&[-1.0, 1.0, -2.0, 2.0]).unwrap();
        assert!((pooled.p_value - 0.5).abs() < 1e-9);
        assert!(pooled.ci95[0] < 0.0 && pooled.ci95[1] > 0.0);
    }
}
