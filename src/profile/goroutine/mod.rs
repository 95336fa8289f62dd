//! Goroutine profiles in their three forms, as groups of equal stack and state.
//!
//! Knows the types and how goroutines are grouped; each form's grammar is in a file of its own.

mod dump;
mod grouped;
mod header;
mod proto;

pub(super) use dump::decode as decode_dump;
pub(super) use grouped::{decode as decode_grouped, profile_name};
pub(super) use header::begins_dump;
pub(super) use proto::from_samples;

use super::{FrameId, ProfileError, ProfileWarning, StackId, StrId};
use hashbrown::HashMap;

/// Beyond any process: at 2 kB a goroutine these are two pebibytes.
const MAX_TOTAL: u64 = 1 << 40;

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
    /// Whether it lists only those that the runtime has proved to be stuck (`goroutineleak`).
    pub lists_only_leaked: bool,
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
        self.groups
            .iter()
            .fold(0, |sum, group| sum.saturating_add(group.count))
    }

    /// Refuses more goroutines than a process can have.
    pub(super) fn check_total(&self) -> Result<(), ProfileError> {
        match self.total() <= MAX_TOTAL {
            true => Ok(()),
            false => Err(ProfileError::Impossible { what: "goroutines" }),
        }
    }
}

/// What tells two groups apart.
type GroupKey = (StackId, Option<StrId>, Option<FrameId>);

/// Gathers goroutines; its size follows the distinct groups, not the goroutines.
#[derive(Debug, Default)]
struct Groups {
    groups: Vec<GoroutineGroup>,
    index: HashMap<GroupKey, usize>,
}

impl Groups {
    /// Adds a group, to an equal one if there is one.
    fn add(&mut self, added: GoroutineGroup) {
        let key = (added.stack, added.state, added.created_by);
        let next = self.groups.len();
        let index = *self.index.entry(key).or_insert(next);
        match self.groups.get_mut(index) {
            Some(group) => {
                group.count = group.count.saturating_add(added.count);
                group.leaked = group.leaked.saturating_add(added.leaked);
                group.wait_minutes_min = group.wait_minutes_min.min(added.wait_minutes_min);
                group.wait_minutes_max = group.wait_minutes_max.max(added.wait_minutes_max);
            }
            None => self.groups.push(added),
        }
    }

    /// Adds goroutines of which only the stack is known.
    fn add_stack(&mut self, stack: StackId, count: u64, leaked: u64) {
        self.add(GoroutineGroup {
            stack,
            created_by: None,
            state: None,
            count,
            leaked,
            wait_minutes_min: None,
            wait_minutes_max: None,
        });
    }
}
