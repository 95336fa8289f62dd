//! `traces`: whole stacks, each with its value and its labels, between rules.
//!
//! Knows that grammar. Values and sizes are rounded, and there are no counts.

use super::figure::{Figure, Unit, parse_figure, split_word};
use super::name::parse_node;
use super::report::intern;
use crate::profile::{FrameId, StackId, SymbolTable};

/// Reads one sample after another.
#[derive(Debug, Default)]
pub(super) struct TraceReader {
    size: u64,
    value: Option<Figure>,
    frames: Vec<FrameId>,
    /// Whether a label of a saved diff was seen.
    pub is_diff: bool,
}

impl TraceReader {
    /// A rule: the sample before it is whole.
    pub fn finish(&mut self, symbols: &mut SymbolTable) -> Option<(StackId, u64, Figure)> {
        let value = self.value.take();
        let size = std::mem::take(&mut self.size);
        let stack = symbols.intern_stack(&self.frames);
        self.frames.clear();
        Some((stack, size, value?))
    }

    /// A line between rules. `None`: it is of another kind.
    pub fn read_line(&mut self, text: &[u8], symbols: &mut SymbolTable) -> Option<()> {
        if text.is_empty() {
            return None;
        }
        if self.value.is_some() {
            let node = parse_node(text)?;
            self.frames.push(intern(&node, symbols));
            return Some(());
        }
        let (word, rest) = split_word(text)?;
        if let Some(key) = word.strip_suffix(b":") {
            match key {
                b"bytes" => {
                    let (size, _) = split_word(rest)?;
                    let size = parse_figure(size).filter(|size| size.unit == Unit::Bytes);
                    self.size = size.map_or(0, |size| u64::try_from(size.value).unwrap_or(0));
                }
                b"pprof::base" => self.is_diff = true,
                _ => {}
            }
            return Some(());
        }
        let value = parse_figure(word)?;
        let node = parse_node(rest)?;
        self.is_diff |= value.value < 0;
        self.value = Some(value);
        self.frames.push(intern(&node, symbols));
        Some(())
    }
}
