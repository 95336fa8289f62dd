//! Whether the verdict of a watch is settled.
//!
//! A watch looks at its data again and again, and each look is a chance to be wrong. So one look
//! is not enough: the verdict must be the same from several snapshots in a row, and there must be
//! enough of them. Must not know when the looks are taken.

use super::model::{Diagnosis, FindingVerdict, Verdict};
use crate::units::size;

/// Looks in a row that must agree.
const LOOKS: usize = 3;
/// Distinct collector cycles before a leak counts as settled.
const LEAK_POINTS: usize = 8;
/// Before anything else does: what did not grow yet may begin to.
const QUIET_POINTS: usize = 12;

/// The looks of a watch so far.
#[derive(Debug, Clone, Default)]
pub struct Settling {
    verdict: Option<Verdict>,
    agreeing: usize,
    points: usize,
    goes_on: bool,
    /// The whole heap grew beyond its own noise, though no single place did.
    heap_grew: bool,
    /// A slower leak may be missed: bytes per hour.
    smallest: Option<f64>,
    /// What the present window can miss: bytes per hour.
    limit: Option<f64>,
}

impl Settling {
    /// Settles on "nothing grew" only when a leak of `smallest` bytes per hour would have been
    /// seen; `None`: whatever could be seen.
    pub fn new(smallest: Option<f64>) -> Self {
        Self {
            smallest,
            ..Self::default()
        }
    }

    /// Takes another look, at all processes that are watched.
    pub fn look<'a>(&mut self, diagnoses: impl Iterator<Item = &'a Diagnosis>) {
        let mut verdict = None;
        self.points = usize::MAX;
        self.goes_on = false;
        self.heap_grew = false;
        self.limit = Some(0.0);
        for diagnosis in diagnoses {
            verdict = match (verdict, diagnosis.verdict) {
                (Some(Verdict::Leak), _) | (_, Verdict::Leak) => Some(Verdict::Leak),
                (Some(Verdict::Steady | Verdict::Shrinking) | None, other) => Some(other),
                (Some(worse), _) => Some(worse),
            };
            self.points = self.points.min(diagnosis.series.gc_points);
            let low = diagnosis.totals.ci95.map(|[low, _]| low);
            self.heap_grew |= low.is_some_and(|low| low > 0.0);
            let limit = diagnosis.series.detection_limit_bytes_per_hour;
            // The least that can be said of one of them holds for all.
            self.limit = self.limit.zip(limit).map(|(one, other)| one.max(other));
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
    pub fn is_settled(&self) -> bool {
        let is_decided = match self.verdict {
            Some(Verdict::Leak) => true,
            // Many small growths may add up before one of them shows.
            Some(Verdict::Steady | Verdict::Shrinking) => !self.heap_grew,
            Some(Verdict::Growing) => !self.goes_on,
            Some(Verdict::Undecided) | None => false,
        };
        is_decided
            && self.agreeing >= LOOKS
            && self.points >= self.points_needed()
            && self.coarse_limit().is_none()
    }

    /// The limit of what the window can show, when it is above the one that is asked for and
    /// nothing has been found.
    fn coarse_limit(&self) -> Option<(f64, f64)> {
        let smallest = self.smallest?;
        let limit = self.limit.unwrap_or(f64::INFINITY);
        let is_open = self.verdict != Some(Verdict::Leak) && limit > smallest;
        is_open.then_some((limit, smallest))
    }

    /// What is still missing, in a sentence.
    pub fn missing(&self) -> String {
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
            Some(_) if let Some((limit, smallest)) = self.coarse_limit() => format!(
                "a window in which a leak of {}/h shows; now one of {}/h does",
                size(smallest),
                size(limit)
            ),
            Some(Verdict::Steady | Verdict::Shrinking) if self.heap_grew => {
                "the place at which the heap grew, though no single one shows yet".to_owned()
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
