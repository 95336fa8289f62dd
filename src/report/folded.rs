//! Stacks as lines `root;…;leaf BYTES`, the input of most flame graph tools; of two heaps
//! `root;…;leaf BEFORE AFTER`, as `difffolded.pl` writes it.

use super::sanitize::sanitize;
use crate::diagnosis::Stacks;
use std::collections::BTreeMap;

/// The lines, sorted, each ending with a line break; none for a stack without bytes on either side.
pub fn folded(stacks: &Stacks) -> String {
    let is_pair = stacks.before.is_some();
    folded_bytes(stacks)
        .into_iter()
        .map(|(stack, [before, after])| match is_pair {
            true => format!("{stack} {before} {after}\n"),
            false => format!("{stack} {after}\n"),
        })
        .collect()
}

/// Bytes before and after of each stack of functions.
pub(super) fn folded_bytes(stacks: &Stacks) -> BTreeMap<String, [i64; 2]> {
    let names: Vec<String> = stacks
        .frames
        .iter()
        .map(|frame| frame_name(&frame.function))
        .collect();
    let mut folded: BTreeMap<String, [i64; 2]> = BTreeMap::new();
    for row in &stacks.rows {
        let stack: Vec<&str> = row
            .frames
            .iter()
            .map(|f| names[*f as usize].as_str())
            .collect();
        let stack = match stack.is_empty() {
            true => "(no stack)".to_owned(),
            false => stack.join(";"),
        };
        let bytes = folded.entry(stack).or_default();
        bytes[0] = bytes[0].saturating_add(row.before[0]);
        bytes[1] = bytes[1].saturating_add(row.after[0]);
    }
    folded.retain(|_, bytes| *bytes != [0, 0]);
    folded
}

/// A name that cannot be taken for two frames or for a number.
fn frame_name(name: &str) -> String {
    match sanitize(name.trim()).replace(';', "\\x3b") {
        empty if empty.is_empty() => "(unnamed)".to_owned(),
        // A line that begins so is a comment to most tools.
        comment if comment.starts_with('#') => format!("\\x23{}", &comment[1..]),
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_one_frame() {
        assert_eq!(
            frame_name("a[struct { x int; y int }].f"),
            "a[struct { x int\\x3b y int }].f"
        );
        assert_eq!(frame_name("a\n 12"), "a\\n 12");
        assert_eq!(frame_name("# a"), "\\x23 a");
        assert_eq!(frame_name(""), "(unnamed)");
    }
}
