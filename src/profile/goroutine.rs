//! Goroutine profiles in their three forms, as groups of equal stack and state.

use super::{FrameId, ProfileError, ProfileFile, ProfileWarning, StackId, StrId, SymbolTable};

/// Which of the three forms a profile had; it decides what is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoroutineForm {
    /// `debug=0`: protobuf; no states, no waiting times, no creators.
    Proto,
    /// `debug=1`: text groups; no states, no waiting times, no creators.
    Grouped,
    /// `debug=2`: one block per goroutine, with state, waiting time and creator.
    Dump,
}

/// Goroutines of equal stack, state and creator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoroutineGroup {
    /// Where they stand, leaf first.
    pub stack: StackId,
    /// The frame that started them (`created by`), only in a dump.
    pub created_by: Option<FrameId>,
    /// `chan send`, `select`, `IO wait`, `running`, …; only in a dump.
    pub state: Option<StrId>,
    /// How many.
    pub count: u64,
    /// How many the runtime marked `(leaked)`.
    pub leaked: u64,
    /// Shortest waiting time in the group, whole minutes, 0 below one minute; only in a dump.
    pub wait_minutes_min: Option<u32>,
    /// Longest waiting time in the group, whole minutes; only in a dump.
    pub wait_minutes_max: Option<u32>,
}

/// One goroutine profile.
#[derive(Debug, Clone)]
pub struct GoroutineProfile {
    /// The form it came in.
    pub form: GoroutineForm,
    /// Groups in order of first appearance.
    pub groups: Vec<GoroutineGroup>,
    /// Wall clock if the form has one (protobuf), nanoseconds since the Unix epoch.
    pub time_nanos: Option<i64>,
    /// What its user should know.
    pub warnings: Vec<ProfileWarning>,
}

impl GoroutineProfile {
    /// All goroutines.
    pub fn total(&self) -> u64 {
        self.groups.iter().map(|g| g.count).sum()
    }
}

pub(super) fn decode_grouped(_b: &[u8], _s: &mut SymbolTable) -> Result<ProfileFile, ProfileError> {
    todo!()
}
pub(super) fn decode_dump(_b: &[u8], _s: &mut SymbolTable) -> Result<ProfileFile, ProfileError> {
    todo!()
}
