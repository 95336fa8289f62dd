//! Whether heaps are of one program, where their bytes alone do not tell: a heap of a few sampled
//! objects has next to no site in common with the next one of the same process.

use super::diff::refuse_other_program;
use super::{Identity, NotComparable};
use crate::profile::{FunctionId, HeapProfile};
use crate::site::{CanonId, FrameClass, SiteIndex};
use crate::snapshot::Snapshot;
use hashbrown::HashSet;

/// Of the application's functions in the smaller profile at least this share is in the other, if
/// they are builds of one program.
const MIN_SHARED_FUNCTIONS: f64 = 0.25;

/// Refuses two sides that have neither bytes nor functions of the application in common.
///
/// # Errors
/// [`NotComparable::OtherProgram`].
pub(super) fn refuse_other_programs(
    identity: &Identity,
    nearest: [&Snapshot; 2],
    sites: &SiteIndex,
    heaps: [&[&HeapProfile]; 2],
) -> Result<(), NotComparable> {
    match shared_functions(sites, heaps) {
        Some(share) if share >= MIN_SHARED_FUNCTIONS => Ok(()),
        _ => refuse_other_program(identity, nearest),
    }
}

/// The share of the application's functions that both have, of the side with fewer; None when
/// one has none. `main.main` counts for nothing: every program has it.
fn shared_functions(sites: &SiteIndex, heaps: [&[&HeapProfile]; 2]) -> Option<f64> {
    let [one, other] = heaps.map(|heaps| -> HashSet<CanonId> {
        let named = |function: &FunctionId| heaps.iter().any(|h| h.functions.contains(*function));
        let functions = sites.symbols().function_ids();
        functions
            .filter(|function| sites.class(*function) == FrameClass::Application)
            .filter(named)
            .map(|function| sites.canon(function))
            .filter(|canon| sites.name(*canon) != "main.main")
            .collect()
    });
    let smaller = one.len().min(other.len());
    (smaller > 0).then(|| one.intersection(&other).count() as f64 / smaller as f64)
}
