//! Allocation sites: what a function is called whatever its build, whose code it is, and
//! which samples of several profiles are of the same place.
//!
//! This module knows names and keys. It must not know whether anything grew.

mod align;
mod class;
mod declared;
mod names;
mod stacks;
mod tiers;

pub use align::{Aligned, Bucket, BucketValues};
pub use class::{Classifier, FrameClass};
pub use declared::declared_name;
pub use names::canonical_name;
pub use stacks::{CanonId, SiteIndex};
pub use tiers::{
    AcrossBuilds, Comparison, Keys, Move, Origin, Tier, TierShare, Translation, compare,
    keys_across_builds,
};
