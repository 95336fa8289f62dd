//! Who stands above a blamed function, and the way from it down to the site.

use crate::profile::{Frame, StackId};
use crate::site::{CanonId, FrameClass, SiteIndex};
use hashbrown::{HashMap, HashSet};

/// Callers that share a function's growth evenly: at least three of [`EVEN_LEAST`] each, and none
/// with [`EVEN_MOST`].
const EVEN_CALLERS: usize = 3;
const EVEN_LEAST: f64 = 0.1;
const EVEN_MOST: f64 = 0.5;

/// Whether at least three share a growth, and none of them has half of it.
pub(super) fn is_even(shares: &HashMap<CanonId, f64>) -> bool {
    let total: f64 = shares.values().sum();
    let largest = shares.values().copied().fold(0.0, f64::max);
    let sharing = shares
        .values()
        .filter(|growth| **growth >= EVEN_LEAST * total);
    sharing.count() >= EVEN_CALLERS && largest < EVEN_MOST * total
}

/// Share of the blamed frame's growth that must come through a caller that is named.
const CALLER_SHARE: f64 = 0.7;
/// Callers that are named.
const MAX_CALLERS: usize = 3;

/// The application's functions above the blamed frame through which most of its growth comes,
/// nearest first.
pub(super) fn callers_of(
    sites: &SiteIndex,
    blamed: Frame,
    stacks: impl Iterator<Item = (StackId, f64)>,
) -> Vec<String> {
    let canon = sites.canon(blamed.function);
    let mut total = 0.0;
    // Growth through each caller, and its distance from the blamed frame, weighted by growth.
    let mut callers: HashMap<CanonId, (f64, f64, Frame)> = HashMap::new();
    for (stack, growth) in stacks.filter(|(_, growth)| *growth > 0.0) {
        let mut above = sites
            .frames(stack)
            .skip_while(|frame| sites.canon(frame.function) != canon)
            .peekable();
        if above.peek().is_none() {
            continue;
        }
        total += growth;
        let mut seen: HashSet<CanonId> = HashSet::from_iter([canon]);
        for (distance, frame) in above.enumerate() {
            let caller = sites.canon(frame.function);
            let is_application = sites.class(frame.function) == FrameClass::Application;
            if is_application && seen.insert(caller) {
                let entry = callers.entry(caller).or_insert((0.0, 0.0, frame));
                entry.0 += growth;
                entry.1 += growth * distance as f64;
            }
        }
    }
    let mut named: Vec<(f64, CanonId, Frame)> = callers
        .into_iter()
        .filter(|(_, (growth, ..))| *growth >= CALLER_SHARE * total)
        .map(|(caller, (growth, distance, frame))| (distance / growth, caller, frame))
        .collect();
    named.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    named.truncate(MAX_CALLERS);
    let name = |frame: Frame| sites.symbols().function_name(frame.function).to_owned();
    named.into_iter().map(|(.., frame)| name(frame)).collect()
}

/// How many callers share the blamed frame's growth, and the share of the largest, if it is no
/// caller's own: then the function itself is what keeps (statistics.md §7.4).
pub(super) fn even_callers(
    sites: &SiteIndex,
    blamed: Frame,
    stacks: impl Iterator<Item = (StackId, f64)>,
) -> Option<(usize, f64)> {
    let canon = sites.canon(blamed.function);
    let mut callers: HashMap<CanonId, f64> = HashMap::new();
    for (stack, growth) in stacks.filter(|(_, growth)| *growth > 0.0) {
        let is_somebody = |frame: &Frame| {
            sites.canon(frame.function) != canon
                && sites.class(frame.function) != FrameClass::Runtime
                && !sites.is_transparent(frame.function)
        };
        let caller = sites
            .frames(stack)
            .skip_while(|frame| sites.canon(frame.function) != canon)
            .find(is_somebody);
        if let Some(caller) = caller {
            *callers.entry(sites.canon(caller.function)).or_default() += growth;
        }
    }
    let total: f64 = callers.values().sum();
    let largest = callers.values().copied().fold(0.0, f64::max);
    is_even(&callers).then(|| (callers.len(), largest / total))
}

/// Function names from the blamed frame down to the site, along the heaviest of the stacks.
pub(super) fn path_from(
    sites: &SiteIndex,
    frame: Frame,
    stacks: impl Iterator<Item = (StackId, f64)>,
) -> Vec<String> {
    let canon = sites.canon(frame.function);
    let position = |stack| {
        sites
            .frames(stack)
            .position(|frame| sites.canon(frame.function) == canon)
    };
    let heaviest = stacks
        .filter(|(stack, _)| position(*stack).is_some())
        .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    let Some((stack, _)) = heaviest else {
        return Vec::new();
    };
    let length = position(stack).map_or(0, |at| at + 1);
    let mut path: Vec<String> = sites
        .frames(stack)
        .take(length)
        .skip_while(|frame| sites.class(frame.function) == FrameClass::Runtime)
        .map(|frame| sites.symbols().function_name(frame.function).to_owned())
        .collect();
    path.reverse();
    path.dedup();
    path
}
