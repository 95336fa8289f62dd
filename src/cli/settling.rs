//! Whether the verdict of a watch is settled.
//!
//! A watch looks at its data again and again, and each look is a chance to be wrong. So one look
//! is not enough: the verdict must be the same from several snapshots in a row, and there must be
//! enough of them.

use crate::diagnosis::{Diagnosis, FindingVerdict, Verdict};

/// Looks in a row that must agree.
const LOOKS: usize = 3;
/// Distinct collector cycles before a leak counts as settled.
const LEAK_POINTS: usize = 8;
/// Before anything else does: what did not grow yet may begin to.
const QUIET_POINTS: usize = 12;

/// The looks of a watch so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Settling {
    verdict: Option<Verdict>,
    agreeing: usize,
    points: usize,
    goes_on: bool,
}

impl Settling {
    /// Takes another look.
    pub(super) fn look<'a>(&mut self, diagnoses: impl Iterator<Item = &'a Diagnosis>) {
        let mut verdict = None;
        self.points = usize::MAX;
        self.goes_on = false;
        for diagnosis in diagnoses {
            verdict = match (verdict, diagnosis.verdict) {
                (Some(Verdict::Leak), _) | (_, Verdict::Leak) => Some(Verdict::Leak),
                (Some(Verdict::Steady | Verdict::Shrinking) | None, other) => Some(other),
                (Some(worse), _) => Some(worse),
            };
            self.points = self.points.min(diagnosis.series.gc_points);
            // Growth that is still going on may turn out to be a leak.
            self.goes_on |= diagnosis
                .findings
                .iter()
                .any(|finding| finding.verdict == FindingVerdict::Growing);
        }
        match verdict.is_some() && verdict == self.verdict {
            true => self.agreeing += 1,
            false => self.agreeing = 1,
        }
        self.verdict = verdict;
    }

    fn points_needed(&self) -> usize {
        match self.verdict {
            Some(Verdict::Leak) => LEAK_POINTS,
            _ => QUIET_POINTS,
        }
    }

    /// Whether more snapshots are unlikely to change the verdict.
    pub(super) fn is_settled(&self) -> bool {
        let is_decided = match self.verdict {
            Some(Verdict::Leak | Verdict::Steady | Verdict::Shrinking) => true,
            Some(Verdict::Growing) => !self.goes_on,
            Some(Verdict::Undecided) | None => false,
        };
        is_decided && self.agreeing >= LOOKS && self.points >= self.points_needed()
    }

    /// What is still missing, in a sentence.
    pub(super) fn missing(&self) -> String {
        let points = self.points_needed().saturating_sub(self.points);
        let looks = LOOKS.saturating_sub(self.agreeing);
        match self.verdict {
            None => "the first snapshot".to_owned(),
            Some(_) if points > 0 => {
                format!(
                    "{points} more snapshot{} of collector cycles of their own",
                    plural(points)
                )
            }
            Some(Verdict::Growing) if self.goes_on => {
                "growth in every third of the window, or its end".to_owned()
            }
            Some(Verdict::Undecided) => "growth whose shape can be told".to_owned(),
            Some(_) if looks > 0 => format!(
                "{looks} more snapshot{} with the same verdict",
                plural(looks)
            ),
            Some(_) => "nothing: the verdict is settled".to_owned(),
        }
    }
}

fn plural(number: usize) -> &'static str {
    if number == 1 { "" } else { "s" }
}
