//! Where the resident memory is, what of it is no leak of the heap, and when a limit is reached.
//!
//! ```text
//! resident = live heap + garbage up to the goal + room between objects + idle pages kept
//!          + stacks + runtime + native
//! ```
//!
//! [`breakdown`] takes the sum apart, [`verdicts`] says what explains it without a leak, and
//! [`forecast`] continues the growth up to a limit. This module knows the figures of Go's
//! runtime, of the process and of its control group, and the judged run; it must not know the
//! texts that they came from, nor how a report shows them.

mod breakdown;
mod forecast;
mod reading;
mod unseen;
mod verdicts;

pub(super) use breakdown::breakdown;
pub(super) use forecast::forecast;
pub(super) use verdicts::verdicts;

/// One mebibyte, in which thresholds are written.
const MIB: f64 = 1_048_576.0;
