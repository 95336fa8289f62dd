//! `goroutine/count` samples of the protobuf form (`debug=0`) as groups.
//!
//! Knows counts per stack; the protobuf itself is decoded elsewhere.

use super::{GoroutineForm, GoroutineProfile, Groups};
use crate::profile::StackId;

/// Groups rows of (stack, count); rows without goroutines, or less, are dropped.
pub(in crate::profile) fn from_samples(
    rows: impl Iterator<Item = (StackId, i64)>,
    time_nanos: Option<i64>,
    are_leaked: bool,
) -> GoroutineProfile {
    let mut groups = Groups::default();
    for (stack, count) in rows {
        match u64::try_from(count) {
            Ok(count) if count > 0 => {
                groups.add_stack(stack, count, if are_leaked { count } else { 0 })
            }
            _ => {}
        }
    }
    GoroutineProfile {
        form: GoroutineForm::Proto,
        lists_only_leaked: are_leaked,
        groups: groups.groups,
        time_nanos,
        warnings: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_are_one_group() {
        // Labels split rows of one stack.
        let rows = [
            (3, 2),
            (1, 5),
            (3, 1),
            (2, 0),
            (4, -7),
            (1, i64::MAX),
            (1, i64::MAX),
        ];
        let rows = rows.map(|(stack, count)| (StackId(stack), count));
        let profile = from_samples(rows.into_iter(), Some(7), false);
        let seen: Vec<_> = profile
            .groups
            .iter()
            .map(|g| (g.stack.0, g.count))
            .collect();
        assert_eq!(seen, [(3, 3), (1, u64::MAX)]);
        assert_eq!(profile.total(), u64::MAX);
        assert_eq!(profile.time_nanos, Some(7));
        assert_eq!(profile.form, GoroutineForm::Proto);
        assert_eq!(profile.groups[0].wait_minutes_min, None);
    }
}
