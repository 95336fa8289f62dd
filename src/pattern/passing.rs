//! Conditions on stacks that are not known: what cumulative figures alone say.
//!
//! `pprof top` shows how many bytes are allocated below each function, not which function stands
//! above which. The largest of the functions that match gives a lower limit of what passes
//! through them; of several that must stand above one another, the smallest limits them all.

use super::HeapCondition;
use super::view::{EvidenceView, HeapView};

/// Least bytes that may meet the condition; None where it asks for nothing that such figures
/// show, or where all stacks are known.
pub(super) fn bytes_passing(
    condition: &HeapCondition,
    view: &EvidenceView,
    heap: &HeapView,
) -> Option<f64> {
    if !view.is_single || heap.passing.is_empty() || condition.through.is_empty() {
        return None;
    }
    let flat_of = |expression| {
        let stacks = heap.stacks.iter();
        let at_site = stacks.filter(|stack| {
            let site = view.sites.site(stack.stack);
            site.is_some_and(|frame| view.is_match(expression, frame))
        });
        at_site.map(|stack| stack.weight).sum::<f64>()
    };
    let mut bytes = f64::INFINITY;
    for expression in &condition.through {
        let below = view.heaviest_passing(heap, expression);
        let below = below.map_or(0.0, |passing| passing.weight);
        // A function that calls nothing is a site.
        bytes = bytes.min(below.max(flat_of(expression)));
    }
    if let Some(site) = &condition.site {
        bytes = bytes.min(flat_of(site));
    }
    if let Some(without) = &condition.without
        && let Some(passing) = view.heaviest_passing(heap, without)
    {
        bytes -= passing.weight;
    }
    (bytes > 0.0).then_some(bytes)
}
