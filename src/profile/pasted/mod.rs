//! What people paste: reports of `go tool pprof` and texts of the runtime, among other text.
//!
//! A paste is read line by line. Lines that begin a report (a header, a rule, a `ROUTINE`) open
//! it, lines of its shape are its rows, everything else is prose. Reports of one profile (equal
//! totals, nothing that contradicts) become one heap profile, goroutine dumps become goroutine
//! profiles. Knows that many things can stand in one text; must not know what they mean.

mod clean;
mod figure;
mod goroutines;
mod header;
mod name;
mod outcome;
mod raw;
mod report;
mod rows;
mod stacks;
mod traces;

use super::legacy::text::Lines;
use super::{ProfileError, ProfileFile, SymbolTable};
use clean::{clean, is_fence};
use figure::Figure;
use goroutines::{Block, Kind};
use header::{Session, Total};
use outcome::Outcome;
use raw::RawReader;
use report::Report;
use rows::{parse_routine, parse_routine_total, parse_row, parse_source_line};
use traces::TraceReader;

/// A text up to this size may be a paste of several things; a larger one is told by its front.
const LARGEST_MIX: usize = 16 << 20;
/// That front, in bytes.
const FRONT: usize = 64 << 10;
/// One of these is in every text with a report: most texts are decided without looking at lines.
const MARKERS: [&[u8]; 5] = [
    b" total",
    b"flat%",
    b"ROUTINE =",
    b"-----+-----",
    b"Samples:",
];
/// Dashes before the `+` of a rule: 11 in `traces`, 58 in `tree` and `peek`.
const FEWEST_IN_TREE: usize = 30;

/// Whether a line of the text opens a report of `go tool pprof`.
pub(super) fn has_report(text: &[u8]) -> bool {
    let is_mix = text.len() <= LARGEST_MIX;
    let text = if is_mix { text } else { &text[..FRONT] };
    if !MARKERS
        .iter()
        .any(|marker| memchr::memmem::find(text, marker).is_some())
    {
        return false;
    }
    let mut has_period = false;
    Lines::new(text).any(|line| {
        let line = clean(line.bytes);
        let line = line.trim_ascii();
        has_period |= RawReader::begins(line);
        let is_header = || {
            header::parse_total(line).is_some_and(|total| total.shown.is_some())
                || line.starts_with(b"Showing nodes accounting for ")
                || header::is_headings(line)
        };
        has_period && line == b"Samples:"
            || parse_routine(line).is_some()
            || header::parse_separator(line).is_some()
            || is_header()
    })
}

/// Whether a text of the runtime begins somewhere behind quote marks or other text.
pub(super) fn has_runtime_text(text: &[u8]) -> bool {
    let text = &text[..text.len().min(LARGEST_MIX)];
    Lines::new(text).any(|line| goroutines::begins(clean(line.bytes).trim_ascii()).is_some())
}

/// Reads a paste.
///
/// # Errors
/// Nothing in it can be read, or all of it is of another kind (CPU, counts).
pub(super) fn decode(bytes: &[u8], symbols: &mut SymbolTable) -> Result<ProfileFile, ProfileError> {
    let mut reader = Reader::default();
    for line in Lines::new(bytes) {
        let text = clean(line.bytes);
        if !is_fence(&text) {
            reader.read_line(&text, line.is_ended, symbols);
        }
    }
    reader.finish(symbols)
}

/// What the lines at hand belong to.
#[derive(Debug, Default)]
enum State {
    #[default]
    Prose,
    /// Rows of `top`, `tree` or `peek`.
    Rows,
    /// Below a `ROUTINE`.
    Source,
    Traces(Box<TraceReader>),
    Raw(Box<RawReader>),
    Runtime(Kind),
}

#[derive(Debug, Default)]
struct Reader {
    session: Session,
    state: State,
    reports: Vec<Report>,
    /// The report that rows go to.
    current: Option<usize>,
    raws: Vec<RawReader>,
    blocks: Vec<Block>,
}

impl Reader {
    fn read_line(&mut self, line: &[u8], is_ended: bool, symbols: &mut SymbolTable) {
        let text = line.trim_ascii();
        if self.opens_runtime_text(text, symbols) {
            self.blocks_push(line, is_ended);
            return;
        }
        if self.read_in_state(text, line, is_ended, symbols).is_some() {
            return;
        }
        self.read_header(text, symbols);
    }

    /// Whether a text of the runtime begins here. Dumps are gathered in one.
    fn opens_runtime_text(&mut self, text: &[u8], symbols: &mut SymbolTable) -> bool {
        let Some(kind) = goroutines::begins(text) else {
            return false;
        };
        self.leave(symbols);
        self.state = State::Runtime(kind);
        let is_open = kind == Kind::Dump && self.blocks.iter().any(|block| block.kind == kind);
        if !is_open {
            self.blocks.push(Block {
                kind,
                text: Vec::new(),
            });
        }
        true
    }

    fn blocks_push(&mut self, line: &[u8], is_ended: bool) {
        let State::Runtime(kind) = self.state else {
            return;
        };
        let mut open = self.blocks.iter_mut().rev();
        if let Some(block) = open.find(|block| block.kind == kind) {
            block.push(line, is_ended);
        }
    }

    /// Gives the line to what is being read. `None`: it is something else.
    fn read_in_state(
        &mut self,
        text: &[u8],
        line: &[u8],
        is_ended: bool,
        symbols: &mut SymbolTable,
    ) -> Option<()> {
        match &mut self.state {
            State::Prose => None,
            State::Rows => {
                let report = &mut self.reports[self.current?];
                match parse_row(text) {
                    Some(row) => report.add_row(row, symbols),
                    None => report.add_wrapped_name(text, symbols)?,
                }
                Some(())
            }
            State::Source => {
                let report = &mut self.reports[self.current?];
                if let Some((flat, cum)) = parse_routine_total(text) {
                    report.set_routine_total(flat, cum);
                } else {
                    let (flat, cum, number) = parse_source_line(text)?;
                    report.add_source_line(number, flat, cum);
                }
                Some(())
            }
            State::Traces(reader) => {
                if text.is_empty() {
                    return Some(());
                }
                if header::parse_separator(text).is_some() {
                    return None;
                }
                let read = reader.read_line(text, symbols);
                if read.is_none() {
                    self.leave(symbols);
                }
                read
            }
            State::Raw(reader) => {
                let read = reader.read_line(text, symbols);
                if read.is_none() && !text.is_empty() {
                    self.leave(symbols);
                }
                read
            }
            State::Runtime(_) => {
                if self.is_header(text) {
                    return None;
                }
                if self.session.read_line(text).is_some() {
                    self.current = None;
                    return Some(());
                }
                self.blocks_push(line, is_ended);
                Some(())
            }
        }
    }

    /// Whether a line ends what the runtime wrote.
    fn is_header(&self, text: &[u8]) -> bool {
        header::parse_total(text).is_some()
            || header::is_headings(text)
            || header::parse_separator(text).is_some()
            || parse_routine(text).is_some()
            || RawReader::begins(text)
    }

    fn read_header(&mut self, text: &[u8], symbols: &mut SymbolTable) {
        if let Some(total) = header::parse_total(text) {
            self.leave(symbols);
            self.begin_report(total);
        } else if header::is_headings(text) {
            self.leave(symbols);
            if self.current.is_none() {
                self.add_report(None);
            }
            self.state = State::Rows;
        } else if let Some(dashes) = header::parse_separator(text) {
            self.read_separator(dashes, symbols);
        } else if let Some((name, file)) = parse_routine(text) {
            self.leave(symbols);
            let current = match self.current {
                Some(current) => current,
                None => self.add_report(None),
            };
            self.reports[current].begin_routine(name, file, symbols);
            self.state = State::Source;
        } else if RawReader::begins(text) {
            self.leave(symbols);
            let mut reader = RawReader::default();
            let _ = reader.read_line(text, symbols);
            self.state = State::Raw(Box::new(reader));
        } else if let Some(dropped) = header::parse_dropped(text) {
            self.with_current(|report| report.dropped = report.dropped.max(dropped));
        } else if let Some(beyond) = header::parse_top(text) {
            self.with_current(|report| report.beyond = report.beyond.max(beyond));
        } else if self.session.read_line(text).is_some() {
            // Another profile may begin.
            self.current = None;
            if matches!(self.state, State::Rows | State::Source) {
                self.state = State::Prose;
            }
        }
    }

    fn read_separator(&mut self, dashes: usize, symbols: &mut SymbolTable) {
        if dashes >= FEWEST_IN_TREE {
            self.leave(symbols);
            if self.current.is_none() {
                self.add_report(None);
            }
            self.with_current(Report::end_block);
            self.state = State::Rows;
            return;
        }
        match &mut self.state {
            State::Traces(reader) => {
                let sample = reader.finish(symbols);
                let current = self.current;
                if let (Some(sample), Some(current)) = (sample, current) {
                    self.reports[current].traces.push(sample);
                }
            }
            _ => {
                self.leave(symbols);
                self.add_report(None);
                self.state = State::Traces(Box::default());
            }
        }
    }

    /// Ends what is being read, where that must be noted.
    fn leave(&mut self, symbols: &mut SymbolTable) {
        match std::mem::take(&mut self.state) {
            State::Raw(reader) if reader.has_samples() => self.raws.push(*reader),
            // What stands before the end is a sample.
            State::Traces(mut reader) => {
                if let Some(current) = self.current.take() {
                    let report = &mut self.reports[current];
                    report.is_diff |= reader.is_diff;
                    report.traces.extend(reader.finish(symbols));
                }
            }
            _ => {}
        }
    }

    /// The report of this total: one that is known, or a new one.
    fn begin_report(&mut self, total: Total) {
        let known = self.reports.iter();
        let known = known
            .rev()
            .position(|report| report.is_of(&self.session, total.all));
        let index = match known {
            Some(from_end) => self.reports.len() - 1 - from_end,
            None => self.add_report(Some(total.all)),
        };
        self.current = Some(index);
        self.reports[index].note_total(&total);
        if total.shown.is_some() {
            self.state = State::Rows;
        }
    }

    fn add_report(&mut self, total: Option<Figure>) -> usize {
        self.reports.push(Report::new(self.session.clone(), total));
        let index = self.reports.len() - 1;
        self.current = Some(index);
        index
    }

    fn with_current(&mut self, change: impl FnOnce(&mut Report)) {
        if let Some(current) = self.current {
            change(&mut self.reports[current]);
        }
    }

    fn finish(mut self, symbols: &mut SymbolTable) -> Result<ProfileFile, ProfileError> {
        self.leave(symbols);
        let outcome = Outcome {
            reports: self.reports,
            raws: self.raws,
            blocks: self.blocks,
        };
        outcome.into_file(symbols)
    }
}

#[cfg(test)]
mod tests;
