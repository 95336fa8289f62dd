//! What grew, and is it real: counts, tests, intervals, shapes, multiplicity.
//!
//! [`History`] lines up the heap profiles of one process and recovers the sampled counts;
//! [`Evidence`] is what those say about a set of buckets between two points; [`test_units`]
//! tests sets at every level and holds the false-discovery rate; [`read_shape`] tells a leak
//! from a step, a plateau or a sawtooth. [`Crowds`] does the same for goroutines, whose
//! counts are exact.
//!
//! This module knows numbers and sites. It must not know patterns, nor what is printed.

mod container;
mod counts;
mod crowd;
mod detection;
mod evidence;
mod history;
mod holding;
mod interval;
mod multiplicity;
mod ranks;
mod rate;
mod scatter;
mod shape;
mod test;
mod units;

pub use container::Container;
pub use counts::Sampler;
pub use crowd::{
    Crowd, Crowds, GroupFacts, MIN_GROWTH, grow_in_step, growth_of, is_growing, read_growth,
};
pub use detection::{limit_bytes, live_interval95, objects_needed, standard_error};
pub use evidence::{BucketCounts, Evidence};
pub use history::{History, Point};
pub use holding::{Difference, Holding};
pub use multiplicity::benjamini_hochberg;
pub use ranks::{hodges_lehmann, mann_whitney};
pub use rate::Rate;
pub use scatter::theil_sen;
pub use shape::{BLOCK_ALPHA, Block, BlockTest, MIN_POINTS, Shape, ShapeReading, read_shape};
pub use test::{binomial_upper_tail, normal_quantile, normal_upper_tail};
pub use units::{FALSE_DISCOVERY_RATE, TestedUnits, Unit, UnitKind, test_units};
