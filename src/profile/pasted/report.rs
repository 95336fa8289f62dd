//! What one profile's `top`, `tree`, `peek` and `list` say together.
//!
//! Knows how rows of several reports of one profile belong together; what becomes of them is
//! [`super::stacks`]'.

use super::figure::{Figure, Unit};
use super::header::{Session, Total};
use super::name::Node;
use super::rows::Row;
use crate::profile::{FrameId, StackId, StrId, SymbolTable};
use hashbrown::HashMap;

/// Percentage of the total above which rows must be those of a difference.
const MOST_PERCENT: f64 = 101.0;

/// A function (or one of its lines) as a row or a block shows it.
#[derive(Debug)]
pub(super) struct NodeFigures {
    pub frame: FrameId,
    pub flat: Figure,
    pub cum: Figure,
    /// Whether its callers were shown (`tree`, `peek`).
    pub is_in_tree: bool,
    /// Who calls it, and how many bytes come through each.
    pub callers: Vec<(FrameId, Figure)>,
}

/// A block of `list`.
#[derive(Debug)]
pub(super) struct Routine {
    pub name: StrId,
    pub file: StrId,
    pub flat: Figure,
    pub cum: Figure,
    /// Line, flat, cum; lines without bytes are left out.
    pub lines: Vec<(u32, Figure, Figure)>,
}

/// All that a paste says of one profile.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub session: Session,
    /// The whole profile, where a line says so.
    pub total: Option<Figure>,
    pub nodes: Vec<NodeFigures>,
    pub routines: Vec<Routine>,
    /// Functions that only edges name, with the bytes of their heaviest edge.
    pub beside: Vec<(FrameId, i64)>,
    /// Whole stacks of `traces`: stack, object size (0 = unknown, else rounded), value.
    pub traces: Vec<(StackId, u64, Figure)>,
    /// Nodes that pprof left out for being small, and beyond the number asked for.
    pub dropped: u64,
    pub beyond: u64,
    /// Whether the figures are differences.
    pub is_diff: bool,
    ids: HashMap<FrameId, usize>,
    beside_ids: HashMap<FrameId, usize>,
    /// The edges above the next row of a tree.
    above: Vec<(FrameId, Figure)>,
    /// The row to which edges below belong.
    below: Option<FrameId>,
    wrapped: Option<(Figure, Figure)>,
    /// The largest cumulative figure and its share of the total, in per cent.
    seen: Figure,
    seen_percent: f64,
}

impl Report {
    pub fn new(session: Session, total: Option<Figure>) -> Self {
        Self {
            session,
            total,
            ..Self::default()
        }
    }

    /// Whether a header of this session and total is of the same profile.
    pub fn is_of(&self, session: &Session, total: Figure) -> bool {
        fn agree<T: PartialEq>(a: &Option<T>, b: &Option<T>) -> bool {
            a.is_none() || b.is_none() || a == b
        }
        let (ours, theirs) = (&self.session, session);
        agree(&ours.sample_type, &theirs.sample_type)
            && agree(&ours.seconds, &theirs.seconds)
            && self.total.is_some_and(|known| known.agrees_with(&total))
    }

    pub fn note_total(&mut self, total: &Total) {
        let more_than_all = |shown: Figure| {
            shown.value.saturating_sub(total.all.value)
                > shown.slack.saturating_add(total.all.slack)
        };
        self.is_diff |= total.all.value < 0 || total.shown.is_some_and(more_than_all);
    }

    /// The whole profile; where no line says it, by the share of the largest row.
    pub fn total_value(&self) -> Option<Figure> {
        self.total.or_else(|| {
            let scale = 100.0 / self.seen_percent;
            (self.seen_percent > 0.0).then(|| Figure {
                unit: self.seen.unit,
                value: (self.seen.value as f64 * scale) as i64,
                // A share of two decimals.
                slack: (self.seen.value as f64 * scale * 0.005 / self.seen_percent) as i64,
            })
        })
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.routines.is_empty() && self.traces.is_empty()
    }

    /// What the figures count.
    pub fn unit(&self) -> Unit {
        let of_nodes = self.nodes.iter().flat_map(|node| [node.flat, node.cum]);
        let of_routines = self.routines.iter().map(|routine| routine.cum);
        let of_traces = self.traces.iter().map(|(.., value)| *value);
        let mut all = self
            .total
            .into_iter()
            .chain(of_nodes)
            .chain(of_routines)
            .chain(of_traces);
        all.find(|figure| figure.unit != Unit::None)
            .map_or(Unit::None, |figure| figure.unit)
    }

    /// A block of a tree ends.
    pub fn end_block(&mut self) {
        for (frame, weight) in std::mem::take(&mut self.above) {
            self.note_beside(frame, weight);
        }
        self.below = None;
    }

    pub fn add_row(&mut self, row: Row, symbols: &mut SymbolTable) {
        match row {
            Row::Node {
                node,
                flat,
                cum,
                sum_percent,
                cum_percent,
                is_in_tree,
            } => {
                let frame = intern(&node, symbols);
                self.is_diff |= sum_percent > MOST_PERCENT;
                if cum_percent > 0.0 && cum.value > self.seen.value {
                    self.seen = cum;
                    self.seen_percent = cum_percent;
                }
                self.add_node(frame, flat, cum, is_in_tree);
                if is_in_tree {
                    let above = std::mem::take(&mut self.above);
                    let number = self.ids[&frame];
                    for (caller, weight) in &above {
                        self.note_beside(*caller, *weight);
                    }
                    self.nodes[number].callers = above;
                    self.below = Some(frame);
                }
            }
            Row::Wrapped {
                flat,
                cum,
                sum_percent,
            } => {
                self.is_diff |= sum_percent > MOST_PERCENT;
                self.wrapped = Some((flat, cum));
            }
            Row::Edge { node, weight } => {
                let frame = intern(&node, symbols);
                self.is_diff |= weight.value < 0;
                match self.below {
                    None => self.above.push((frame, weight)),
                    Some(_) => self.note_beside(frame, weight),
                }
            }
        }
    }

    /// The name of a row that was wrapped, if there is one. `None`: the line is something else.
    pub fn add_wrapped_name(&mut self, text: &[u8], symbols: &mut SymbolTable) -> Option<()> {
        let (flat, cum) = self.wrapped.take()?;
        let node = super::name::parse_node(text)?;
        let is_name = !node.name.contains(&b' ') && node.name.contains(&b'.');
        is_name.then(|| {
            let frame = intern(&node, symbols);
            self.add_node(frame, flat, cum, false);
        })
    }

    fn add_node(&mut self, frame: FrameId, flat: Figure, cum: Figure, is_in_tree: bool) {
        self.is_diff |= flat.value < 0 || cum.value < 0;
        let next = self.nodes.len();
        let number = *self.ids.entry(frame).or_insert(next);
        match self.nodes.get_mut(number) {
            // Shown by two reports: the same but for rounding.
            Some(known) => known.is_in_tree |= is_in_tree,
            None => self.nodes.push(NodeFigures {
                frame,
                flat,
                cum,
                is_in_tree,
                callers: Vec::new(),
            }),
        }
    }

    /// Functions at the other end of an edge hold at least its bytes.
    fn note_beside(&mut self, frame: FrameId, weight: Figure) {
        let next = self.beside.len();
        let number = *self.beside_ids.entry(frame).or_insert(next);
        match self.beside.get_mut(number) {
            Some((_, known)) => *known = (*known).max(weight.value),
            None => self.beside.push((frame, weight.value)),
        }
    }

    pub fn begin_routine(&mut self, name: &[u8], file: &[u8], symbols: &mut SymbolTable) {
        let (name, file) = (symbols.intern_bytes(name), symbols.intern_bytes(file));
        self.routines.push(Routine {
            name,
            file,
            flat: Figure::ZERO,
            cum: Figure::ZERO,
            lines: Vec::new(),
        });
    }

    pub fn set_routine_total(&mut self, flat: Figure, cum: Figure) {
        if let Some(routine) = self.routines.last_mut() {
            (routine.flat, routine.cum) = (flat, cum);
            self.is_diff |= flat.value < 0 || cum.value < 0;
        }
    }

    pub fn add_source_line(&mut self, line: u32, flat: Figure, cum: Figure) {
        if let Some(routine) = self.routines.last_mut()
            && (flat.value != 0 || cum.value != 0)
        {
            routine.lines.push((line, flat, cum));
        }
    }

    /// Where a frame stands among the nodes.
    pub fn node_of(&self, frame: FrameId) -> Option<&NodeFigures> {
        self.ids.get(&frame).map(|&number| &self.nodes[number])
    }

    /// Drops blocks of `list` that were pasted twice.
    pub fn drop_repeated_routines(&mut self) {
        let mut seen: HashMap<(StrId, StrId), ()> = HashMap::new();
        self.routines
            .retain(|routine| seen.insert((routine.name, routine.file), ()).is_none());
    }
}

/// A node as a frame.
pub(super) fn intern(node: &Node, symbols: &mut SymbolTable) -> FrameId {
    let (name, file) = (
        symbols.intern_bytes(node.name),
        symbols.intern_bytes(node.file),
    );
    let function = symbols.intern_function(name, file);
    symbols.intern_frame(function, node.line)
}
