//! Function totals as stacks, as far as that is honest.
//!
//! Every byte of the profile goes to exactly one stack. A row of `top` is a stack of one frame
//! with its flat bytes. Where `tree` or `peek` say that all calls of a function come from one
//! caller, that caller stands on its stack; where a function calls nothing, its bytes are split
//! among its callers. What no row accounts for is a stack without frames. Functions that stand
//! above more bytes than these stacks show are listed beside them.

use super::figure::Figure;
use super::report::{NodeFigures, Report, Routine};
use crate::profile::{FrameId, PassingFrame, StrId, SymbolTable};
use hashbrown::{HashMap, HashSet};

/// Longest chain of callers; the runtime's own stacks are no deeper.
const DEEPEST: usize = 128;

/// What a report becomes.
#[derive(Debug, Default)]
pub(super) struct Built {
    /// Frames leaf first, and the bytes allocated there.
    pub stacks: Vec<(Vec<FrameId>, i64)>,
    /// Functions known by their cumulative bytes.
    pub passing: Vec<PassingFrame>,
    /// Bytes that belong to no row.
    pub unshown: i64,
}

pub(super) fn build(report: &Report, symbols: &mut SymbolTable) -> Built {
    let mut builder = Builder {
        report,
        routines: HashMap::new(),
        built: Built::default(),
    };
    for (number, routine) in report.routines.iter().enumerate() {
        builder.routines.entry(routine.name).or_insert(number);
    }
    builder.add_nodes(symbols);
    builder.add_lone_routines(symbols);
    builder.add_passing(symbols);
    builder.add_rest();
    builder.built
}

struct Builder<'r> {
    report: &'r Report,
    /// Blocks of `list` by function.
    routines: HashMap<StrId, usize>,
    built: Built,
}

impl Builder<'_> {
    fn add_nodes(&mut self, symbols: &mut SymbolTable) {
        let with_lines: HashSet<StrId> = self
            .report
            .nodes
            .iter()
            .filter(|node| symbols.frame(node.frame).line > 0)
            .map(|node| name_of(node.frame, symbols))
            .collect();
        for node in &self.report.nodes {
            let has_line = symbols.frame(node.frame).line > 0;
            let name = name_of(node.frame, symbols);
            // The same function line by line says more.
            if node.flat.value == 0 || (!has_line && with_lines.contains(&name)) {
                continue;
            }
            let callers = self.split_among_callers(node);
            if callers.len() > 1 {
                for (caller, bytes) in callers {
                    let mut stack = vec![node.frame];
                    stack.extend(caller);
                    stack.extend(caller.iter().flat_map(|frame| self.chain(*frame)));
                    self.built.stacks.push((stack, bytes));
                }
                continue;
            }
            let chain = self.chain(node.frame);
            let routine = self.routines.get(&name).filter(|_| !has_line);
            let leaves = match routine {
                Some(&number) => leaves(&self.report.routines[number], node.flat, symbols),
                None => vec![(node.frame, node.flat.value)],
            };
            for (leaf, bytes) in leaves {
                let mut stack = vec![leaf];
                stack.extend(&chain);
                self.built.stacks.push((stack, bytes));
            }
        }
    }

    /// The callers of a function that calls nothing, with the bytes of each; the last, without a
    /// caller, is what no edge accounts for.
    fn split_among_callers(&self, node: &NodeFigures) -> Vec<(Option<FrameId>, i64)> {
        if !node.flat.agrees_with(&node.cum) {
            return Vec::new();
        }
        let callers = node.callers.iter();
        let mut split: Vec<(Option<FrameId>, i64)> = callers
            .filter(|(caller, weight)| *caller != node.frame && weight.value > 0)
            .map(|(caller, weight)| (Some(*caller), weight.value))
            .collect();
        let known = split
            .iter()
            .fold(0i64, |sum, (_, w)| sum.saturating_add(*w));
        let rest = node.flat.value.saturating_sub(known);
        let slack = node.flat.slack.saturating_mul(1 + split.len() as i64);
        if rest.saturating_abs() <= slack {
            // Rounding: the largest takes it.
            if let Some((_, bytes)) = split.iter_mut().max_by_key(|(_, bytes)| *bytes) {
                *bytes = bytes.saturating_add(rest);
            }
            return split;
        }
        match rest > 0 && !split.is_empty() {
            true => split.push((None, rest)),
            // More comes in than is there: recursion; nothing can be said.
            false => split.clear(),
        }
        split
    }

    /// The callers that every call of a function comes through, nearest first.
    fn chain(&self, frame: FrameId) -> Vec<FrameId> {
        let mut chain: Vec<FrameId> = Vec::new();
        let mut current = frame;
        while let Some(node) = self.report.node_of(current)
            && let [(caller, weight)] = node.callers.as_slice()
            && weight.agrees_with(&node.cum)
            && *caller != frame
            && !chain.contains(caller)
            && chain.len() < DEEPEST
        {
            chain.push(*caller);
            current = *caller;
        }
        chain
    }

    /// Functions that only `list` shows.
    fn add_lone_routines(&mut self, symbols: &mut SymbolTable) {
        let rows: HashSet<StrId> = self
            .report
            .nodes
            .iter()
            .map(|node| name_of(node.frame, symbols))
            .collect();
        for routine in &self.report.routines {
            if !rows.contains(&routine.name) && routine.flat.value != 0 {
                for (leaf, bytes) in leaves(routine, routine.flat, symbols) {
                    self.built.stacks.push((vec![leaf], bytes));
                }
            }
        }
    }

    fn add_passing(&mut self, symbols: &mut SymbolTable) {
        let mut covered: HashMap<StrId, i64> = HashMap::new();
        for (stack, bytes) in &self.built.stacks {
            let names: HashSet<StrId> = stack.iter().map(|f| name_of(*f, symbols)).collect();
            for name in names {
                let known = covered.entry(name).or_default();
                *known = known.saturating_add(*bytes);
            }
        }
        // The largest figure of each function, and a frame to show it by.
        let mut known: HashMap<StrId, (i64, i64, FrameId)> = HashMap::new();
        let mut order: Vec<StrId> = Vec::new();
        let mut note = |name: StrId, bytes: i64, slack: i64, frame: FrameId| {
            let entry = known.entry(name).or_insert_with(|| {
                order.push(name);
                (0, 0, frame)
            });
            if bytes > entry.0 {
                *entry = (bytes, slack, frame);
            }
        };
        for routine in &self.report.routines {
            let heaviest = routine.lines.iter().max_by_key(|(.., cum)| cum.value);
            let line = heaviest.map_or(0, |(line, ..)| *line);
            let function = symbols.intern_function(routine.name, routine.file);
            let frame = symbols.intern_frame(function, line);
            note(routine.name, routine.cum.value, routine.cum.slack, frame);
        }
        for node in &self.report.nodes {
            note(
                name_of(node.frame, symbols),
                node.cum.value,
                node.cum.slack,
                node.frame,
            );
        }
        for (frame, bytes) in &self.report.beside {
            note(name_of(*frame, symbols), *bytes, 0, *frame);
        }
        for name in order {
            let (bytes, slack, frame) = known[&name];
            let more = bytes.saturating_sub(covered.get(&name).copied().unwrap_or(0));
            if more > slack.saturating_mul(4) {
                self.built.passing.push(PassingFrame { frame, bytes });
            }
        }
    }

    /// What the total has beyond the rows.
    fn add_rest(&mut self) {
        let Some(total) = self.report.total_value() else {
            return;
        };
        let stacks = &self.built.stacks;
        let sum = stacks
            .iter()
            .fold(0i64, |sum, (_, bytes)| sum.saturating_add(*bytes));
        let rest = total.value.saturating_sub(sum);
        let rounding = total.slack.saturating_mul(stacks.len() as i64);
        if rest > rounding.max(total.slack) {
            self.built.unshown = rest;
        }
        if rest > 0 {
            self.built.stacks.push((Vec::new(), rest));
        }
    }
}

/// The flat bytes of a function by line, and what its lines leave over.
fn leaves(routine: &Routine, flat: Figure, symbols: &mut SymbolTable) -> Vec<(FrameId, i64)> {
    let function = symbols.intern_function(routine.name, routine.file);
    let with_bytes = || routine.lines.iter().filter(|(_, flat, _)| flat.value != 0);
    let mut leaves: Vec<(FrameId, i64)> = with_bytes()
        .map(|(line, flat, _)| (symbols.intern_frame(function, *line), flat.value))
        .collect();
    let sum = leaves
        .iter()
        .fold(0i64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    let rest = flat.value.saturating_sub(sum);
    if rest.saturating_abs() <= flat.slack.saturating_mul(1 + leaves.len() as i64)
        && let Some((_, bytes)) = leaves.iter_mut().max_by_key(|(_, bytes)| *bytes)
    {
        *bytes = bytes.saturating_add(rest);
        return leaves;
    }
    if rest != 0 {
        leaves.push((symbols.intern_frame(function, 0), rest));
    }
    leaves
}

fn name_of(frame: FrameId, symbols: &SymbolTable) -> StrId {
    symbols.function(symbols.frame(frame).function).name
}
