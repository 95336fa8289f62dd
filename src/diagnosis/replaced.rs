//! Growth that replaces what another caller allocated at the same place: a cache that one
//! function loads and another refreshes moves from caller to caller, and does not grow.

use super::case::Case;
use super::{NotALeak, NotALeakName, candidate};
use crate::growth::History;
use crate::profile::Frame;
use crate::site::SiteIndex;
use crate::units::size;
use hashbrown::HashSet;

/// z at which the other callers' bytes shrank beyond noise (one-sided, 1 %).
const SHRUNK_Z: f64 = -2.33;
/// The others must have given up at least this share of what the candidate gained.
const REPLACED_SHARE: f64 = 0.7;

/// Bytes in use that other callers of the functions that ordered `buckets` gave up, at the same
/// lines, if that is why these grew.
pub(super) fn replaced_bytes(history: &History, sites: &SiteIndex, buckets: &[u32]) -> Option<f64> {
    let last = history.points().checked_sub(1)?;
    let site_of = |bucket: u32| sites.orderer(history.buckets()[bucket as usize].stack);
    let places: HashSet<Frame> = buckets
        .iter()
        .filter_map(|&bucket| site_of(bucket))
        .collect();
    let at_places = history
        .active()
        .iter()
        .copied()
        .filter(|&bucket| site_of(bucket).is_some_and(|site| places.contains(&site)));
    let (own, others): (Vec<u32>, Vec<u32>) =
        at_places.partition(|bucket| buckets.binary_search(bucket).is_ok());
    let gave_up = -candidate::growth_of(history, &others);
    let shrank = history.evidence(&others, 0, last)?.z() <= SHRUNK_Z;
    let whole = super::sorted_union(&own, &others);
    // The place as a whole stands still, within its standard error.
    let together = history.evidence(&whole, 0, last)?;
    let is_level = together.delta_bytes() <= together.sd_bytes();
    let is_enough = gave_up >= REPLACED_SHARE * candidate::growth_of(history, &own);
    (shrank && is_level && is_enough).then_some(gave_up)
}

/// Says so.
pub(super) fn write_replaced(case: &Case, buckets: &[u32], gave_up: f64) -> NotALeak {
    let growth = candidate::growth_of(case.history, buckets);
    let place = buckets
        .first()
        .and_then(|&bucket| {
            case.sites
                .orderer(case.history.buckets()[bucket as usize].stack)
        })
        .map_or_else(|| "one place".to_owned(), |frame| case.name(frame).function);
    NotALeak {
        name: NotALeakName::Replaced,
        text: format!(
            "{} of {place} replaced {} that another caller had allocated there: together they do not grow",
            size(growth),
            size(gave_up),
        ),
        bytes: Some(growth),
    }
}
