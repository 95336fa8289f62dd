//! pprof's `drop_frames` and `keep_frames`: frames of an allocator that hide the caller.

use super::{HeapProfile, StackId, SymbolTable};
use regex::{Regex, RegexBuilder};

/// Longest pattern that is looked at; Go's own has a few dozen bytes, pprof's longest 1 kB.
const MAX_PATTERN_BYTES: usize = 16 << 10;
/// Memory of a compiled pattern.
const MAX_REGEX_BYTES: usize = 1 << 20;

impl HeapProfile {
    /// Cuts, in every stack, the root-most frame that matches `drop_frames` (and not
    /// `keep_frames`) with all frames below it, as pprof's `RemoveUninteresting` does.
    /// A pattern that is no regular expression, or an absurdly large one, drops nothing.
    pub(super) fn drop_uninteresting(&mut self, symbols: &mut SymbolTable) {
        let Some(drop) = whole_name(&self.drop_frames) else {
            return;
        };
        let keep = whole_name(&self.keep_frames);
        let dropped: Vec<bool> = symbols
            .function_ids()
            .map(|id| {
                let name = symbols.function_name(id);
                drop.is_match(name) && !keep.as_ref().is_some_and(|keep| keep.is_match(name))
            })
            .collect();
        for stack in &mut self.columns.stack {
            *stack = cut(*stack, &dropped, symbols);
        }
        self.columns.normalise();
    }
}

fn whole_name(pattern: &str) -> Option<Regex> {
    if pattern.is_empty() || pattern.len() > MAX_PATTERN_BYTES {
        return None;
    }
    let pattern = format!("^(?:{pattern})$");
    RegexBuilder::new(&pattern)
        .size_limit(MAX_REGEX_BYTES)
        .build()
        .ok()
}

fn cut(stack: StackId, dropped: &[bool], symbols: &mut SymbolTable) -> StackId {
    let frames: Vec<_> = symbols.stack(stack).collect();
    let is_dropped = |frame: &_| dropped[symbols.frame(*frame).function.index()];
    // Frames before the first one of the user's, from the root, stay: a stack rooted in
    // `runtime.main` would be emptied otherwise.
    let Some(user) = frames.iter().rposition(|frame| !is_dropped(frame)) else {
        return stack;
    };
    match frames[..user].iter().rposition(is_dropped) {
        Some(last) => symbols.intern_stack(&frames[last + 1..]),
        None => stack,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allocator_is_cut_and_the_root_stays() {
        // pprof's Prune, worked out by hand on stacks written leaf first.
        let check = |stack: &[&str], expect: &[&str]| {
            let mut symbols = SymbolTable::new();
            let frames: Vec<_> = stack
                .iter()
                .map(|name| {
                    let (name, file) = (symbols.intern_str(name), symbols.intern_str(""));
                    let function = symbols.intern_function(name, file);
                    symbols.intern_frame(function, 0)
                })
                .collect();
            let stack = symbols.intern_stack(&frames);
            let mut heap = HeapProfile {
                drop_frames: r"runtime\..*|malloc".to_owned(),
                keep_frames: r"runtime\.kept".to_owned(),
                ..HeapProfile::default()
            };
            heap.columns.push(stack, 8, [1, 8, 1, 8]);
            heap.drop_uninteresting(&mut symbols);
            let names: Vec<_> = symbols
                .stack(heap.columns.stack[0])
                .map(|frame| symbols.function_name(symbols.frame(frame).function))
                .collect();
            assert_eq!(names, expect);
        };
        check(&["malloc", "main.f", "main.main"], &["main.f", "main.main"]);
        check(&["x", "malloc", "main.f"], &["main.f"]);
        check(
            &["runtime.a", "main.f", "runtime.main"],
            &["main.f", "runtime.main"],
        );
        check(&["runtime.kept", "main.f"], &["runtime.kept", "main.f"]);
        check(&["malloc", "runtime.main"], &["malloc", "runtime.main"]);
        check(&["mallocx", "main.f"], &["mallocx", "main.f"]);
    }
}
