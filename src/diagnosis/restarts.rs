//! A series that is not of one process from end to end: what a reader of a dashboard sees as
//! memory that fell, or that began to rise again, is a process that began anew.

use super::case::Case;
use super::{NotALeak, NotALeakName};
use crate::snapshot::{OtherProcess, SeriesWarning};

/// What breaks the series, named by what it is.
pub(super) fn restarts(case: &Case) -> Option<NotALeak> {
    let (cause, first) = case
        .series
        .warnings
        .iter()
        .find_map(|warning| match warning {
            SeriesWarning::Restarted { cause, first, .. } => Some((cause, first)),
            _ => None,
        })?;
    let judged = case.run.snapshots.len();
    let (name, what) = match cause {
        OtherProcess::RateChanged { .. } => (
            NotALeakName::RateChange,
            "sizes before and after it are not of one scale: a rise or a fall there is the sampler's",
        ),
        cause if cause.is_other_build() => (
            NotALeakName::Rebuild,
            "memory begins anew with another build: a fall there is no repair, and a rise after it is a start-up",
        ),
        _ => (
            NotALeakName::Restart,
            "memory begins anew there: a fall is no repair, and a rise after it is a start-up",
        ),
    };
    Some(NotALeak {
        name,
        text: format!("at {first}: {cause}; {what}; {judged} snapshots of one run are judged"),
        bytes: None,
    })
}
