//! Whether two heap profiles are of other code, told without build ids.

use crate::profile::{FunctionId, HeapProfile, SymbolTable};
use hashbrown::{HashMap, HashSet};
use thiserror::Error;

/// What shows that the code is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CodeChange {
    /// Functions begin on other lines: never within one build.
    #[error("{moved} of {known} functions begin on another line")]
    Beginnings {
        /// How many.
        moved: usize,
        /// Functions of both of which that is known.
        known: usize,
    },
    /// Functions are seen on other lines than before.
    #[error("{moved} of {known} functions are seen on other lines")]
    Lines {
        /// How many.
        moved: usize,
        /// Functions of both.
        known: usize,
    },
    /// Most bytes of both are allocated through functions that the other does not have.
    #[error(
        "{before} % and {after} % of the bytes in use come from functions of one of the two only"
    )]
    Functions {
        /// Of the first, in whole percent.
        before: u32,
        /// Of the second.
        after: u32,
    },
}

/// Share of the functions of both that must be seen on other lines throughout: a function that
/// allocates on many lines is seen on a few of them, and not on the same ones in each process.
const MIN_MOVED: f64 = 0.25;
/// And so many functions.
const MIN_MOVED_FUNCTIONS: usize = 3;
/// Share of the bytes, in percent, that functions of one profile only must make up in both: a process that just
/// began has seen few of its functions, but its predecessor knows those.
const MIN_FOREIGN_PERCENT: u32 = 50;

/// Why two profiles are of other code; none where nothing shows it.
pub(super) fn code_change(
    symbols: &SymbolTable,
    before: &HeapProfile,
    after: &HeapProfile,
) -> Option<CodeChange> {
    let (moved, known) = before.functions.begin_elsewhere(&after.functions);
    if moved > 0 {
        return Some(CodeChange::Beginnings { moved, known });
    }
    let [old, new] = [before, after].map(|heap| lines_of(symbols, heap));
    if known == 0 {
        let (moved, known) = seen_elsewhere(&old, &new);
        if moved >= MIN_MOVED_FUNCTIONS && moved as f64 >= MIN_MOVED * known as f64 {
            return Some(CodeChange::Lines { moved, known });
        }
    }
    let foreign = |heap, others: &HeapProfile, seen: &HashMap<FunctionId, HashSet<u32>>| {
        let is_known =
            |function| others.functions.contains(function) || seen.contains_key(&function);
        foreign_percent(symbols, heap, is_known)
    };
    let before_foreign = foreign(before, after, &new);
    let after_foreign = foreign(after, before, &old);
    (before_foreign >= MIN_FOREIGN_PERCENT && after_foreign >= MIN_FOREIGN_PERCENT).then_some(
        CodeChange::Functions {
            before: before_foreign,
            after: after_foreign,
        },
    )
}

/// The lines on which each function is seen.
fn lines_of(symbols: &SymbolTable, heap: &HeapProfile) -> HashMap<FunctionId, HashSet<u32>> {
    let mut lines: HashMap<FunctionId, HashSet<u32>> = HashMap::new();
    let mut last = None;
    for &stack in &heap.columns.stack {
        if last.replace(stack) == Some(stack) {
            continue;
        }
        for frame in symbols.stack(stack) {
            let frame = symbols.frame(frame);
            lines.entry(frame.function).or_default().insert(frame.line);
        }
    }
    lines
}

/// Functions of both that are never seen on the same line, and all functions of both.
fn seen_elsewhere(
    old: &HashMap<FunctionId, HashSet<u32>>,
    new: &HashMap<FunctionId, HashSet<u32>>,
) -> (usize, usize) {
    let of_both = old
        .iter()
        .filter_map(|(id, lines)| Some((lines, new.get(id)?)));
    of_both.fold((0, 0), |(moved, known), (old, new)| {
        (moved + usize::from(old.is_disjoint(new)), known + 1)
    })
}

/// Percent of the bytes in use with a function on their stack that is not known.
fn foreign_percent(
    symbols: &SymbolTable,
    heap: &HeapProfile,
    is_known: impl Fn(FunctionId) -> bool,
) -> u32 {
    let columns = &heap.columns;
    let (mut foreign, mut all) = (0i64, 0i64);
    let mut last = None;
    for row in 0..columns.len() {
        let (stack, bytes) = (columns.stack[row], columns.inuse_space[row].max(0));
        let is_foreign = match last {
            Some((known, is_foreign)) if known == stack => is_foreign,
            _ => symbols
                .stack(stack)
                .any(|frame| !is_known(symbols.frame(frame).function)),
        };
        last = Some((stack, is_foreign));
        all = all.saturating_add(bytes);
        foreign = foreign.saturating_add(if is_foreign { bytes } else { 0 });
    }
    match all {
        0 => 0,
        all => (foreign as f64 * 100.0 / all as f64) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows are (`name:line@start < …`, bytes).
    fn heap(symbols: &mut SymbolTable, rows: &[(&str, i64)]) -> HeapProfile {
        let mut heap = HeapProfile::default();
        for (stack, bytes) in rows {
            let frames: Vec<_> = stack
                .split(" < ")
                .map(|frame| {
                    let (frame, start) = frame.split_once('@').unwrap_or((frame, "0"));
                    let (name, line) = frame.split_once(':').unwrap();
                    let (name, file) = (symbols.intern_str(name), symbols.intern_str("a.go"));
                    let function = symbols.intern_function(name, file);
                    heap.functions.insert(function, start.parse().unwrap());
                    symbols.intern_frame(function, line.parse().unwrap())
                })
                .collect();
            let stack = symbols.intern_stack(&frames);
            heap.columns.push(stack, 16, [1, *bytes, 1, *bytes]);
        }
        heap.columns.normalise();
        heap
    }

    fn change(before: &[(&str, i64)], after: &[(&str, i64)]) -> Option<CodeChange> {
        let mut symbols = SymbolTable::new();
        let (before, after) = (heap(&mut symbols, before), heap(&mut symbols, after));
        code_change(&symbols, &before, &after)
    }

    #[test]
    fn a_function_that_begins_elsewhere_is_other_code() {
        let found = change(&[("f:12@10 < main:5@1", 16)], &[("f:15@13 < main:5@1", 16)]);
        assert_eq!(found, Some(CodeChange::Beginnings { moved: 1, known: 2 }));
        // Another line of the same function is not.
        assert_eq!(
            change(&[("f:12@10 < main:5@1", 16)], &[("f:15@10 < main:5@1", 16)]),
            None
        );
    }

    #[test]
    fn without_beginnings_many_functions_must_be_on_other_lines() {
        let found = change(
            &[("f:12 < g:22 < h:32 < main:5", 16)],
            &[("f:13 < g:23 < h:33 < main:5", 16)],
        );
        assert_eq!(found, Some(CodeChange::Lines { moved: 3, known: 4 }));
        assert_eq!(
            change(&[("f:12 < main:5", 16)], &[("f:13 < main:5", 16)]),
            None
        );
    }

    #[test]
    fn foreign_functions_must_be_most_of_both() {
        let (old, new) = (("f:1 < main:5", 60), ("g:1 < main:5", 60));
        let found = change(&[old, ("x:1", 40)], &[new, ("x:1", 20)]);
        assert_eq!(
            found,
            Some(CodeChange::Functions {
                before: 60,
                after: 75
            })
        );
        // A process that just began knows less than the one before it.
        assert_eq!(change(&[old, ("x:1", 40)], &[("x:1", 20)]), None);
    }
}
