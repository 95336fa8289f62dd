//! Rows of figures with a function's name: one line a row where the width allows it, else a
//! second line for the name. Figures are never wrapped or cut.

use super::names::shorten;
use super::printer::{Printer, Role, Span};
use super::sanitize::sanitize;
use super::wrap::{flow, width_of};
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

/// One row.
pub(super) struct Row {
    /// Colour of the whole row.
    pub(super) role: Role,
    /// Figures, one a column.
    pub(super) figures: Vec<String>,
    /// The function; shortened from the left to fit.
    pub(super) name: String,
    /// File and line.
    pub(super) place: String,
    /// What gets a line of its own below the row; empty for nothing.
    pub(super) note: String,
}

/// Indent of a note.
const NOTE_INDENT: usize = 8;

impl Row {
    /// The line of its note, if it has one.
    fn note_within(&self, room: usize) -> Option<(Role, String)> {
        let note = shorten(&sanitize(&self.note), room.saturating_sub(NOTE_INDENT));
        (!note.is_empty()).then(|| (Role::Faint, format!("{}{note}", " ".repeat(NOTE_INDENT))))
    }
}

/// What happens to a name for which one line has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Narrow {
    /// It is shortened, whatever is left of it.
    Shorten,
    /// Name and place get a line above the figures.
    NameAbove,
    /// The name gets a line below the figures, indented.
    NameBelow(usize),
}

/// How the columns are laid out.
pub(super) struct Columns {
    /// One a figure; none = no heading.
    pub(super) headings: Vec<&'static str>,
    /// Which figures are set to the left.
    pub(super) left: Vec<usize>,
    /// Columns for a name below which [`Self::narrow`] says what happens.
    pub(super) least_name: usize,
    /// For a narrow terminal.
    pub(super) narrow: Narrow,
}

const GAP: usize = 2;

impl Columns {
    /// Prints the rows. `label` stands before the first line, in a column of `column` columns.
    pub(super) fn print(
        &self,
        printer: &mut Printer,
        indent: usize,
        column: usize,
        label: &str,
        rows: &[Row],
    ) {
        let mut label = label;
        for (role, text) in self.laid_out(rows, printer.width().saturating_sub(indent + column)) {
            let label = std::mem::take(&mut label);
            let spans = [
                Span::new(Role::Faint, format!("{label:<column$}")),
                Span::new(role, text),
            ];
            printer.line(indent, &spans);
        }
    }

    /// All lines, heading first, none wider than `room` unless a single figure is.
    fn laid_out(&self, rows: &[Row], room: usize) -> Vec<(Role, String)> {
        let widths = self.widths(rows);
        let figures: usize = widths
            .iter()
            .filter(|width| **width > 0)
            .map(|w| w + GAP)
            .sum();
        if figures.saturating_sub(GAP) > room {
            return flowing(rows, room);
        }
        let widest = |of: &dyn Fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or(0);
        let places = widest(&|row| width_of(&row.place)).min(room / 4);
        let gap = if places > 0 { GAP } else { 0 };
        let for_name = room.saturating_sub(figures + places + gap);
        let longest = widest(&|row| width_of(&sanitize(&row.name)));
        let narrow = match for_name < self.least_name.min(longest) {
            true => self.narrow,
            false => Narrow::Shorten,
        };
        let lines = self.aligned(rows, &widths, |row| match narrow {
            Narrow::Shorten => vec![
                shorten(&sanitize(&row.name), for_name),
                shorten(&row.place, places),
            ],
            Narrow::NameAbove => Vec::new(),
            Narrow::NameBelow(_) => vec![shorten(&row.place, room.saturating_sub(figures))],
        });
        let (heading, lines) = lines.split_at(lines.len() - rows.len());
        let mut all: Vec<(Role, String)> = heading
            .iter()
            .map(|line| (Role::Faint, line.clone()))
            .collect();
        for (row, line) in rows.iter().zip(lines) {
            let figures = (row.role, line.clone());
            match narrow {
                Narrow::Shorten => all.push(figures),
                Narrow::NameAbove => {
                    let place = shorten(&row.place, room / 2);
                    let left = room.saturating_sub(width_of(&place) + GAP);
                    let name = shorten(&sanitize(&row.name), left);
                    let space = " ".repeat(room.saturating_sub(width_of(&name) + width_of(&place)));
                    all.push((row.role, format!("{name}{space}{place}")));
                    all.push(figures);
                }
                Narrow::NameBelow(indent) => {
                    let name = shorten(&sanitize(&row.name), room.saturating_sub(indent));
                    all.push(figures);
                    all.push((row.role, format!("{}{name}", " ".repeat(indent))));
                }
            }
            all.extend(row.note_within(room));
        }
        all
    }

    fn widths(&self, rows: &[Row]) -> Vec<usize> {
        let heading = |column: usize| self.headings.get(column).map_or(0, |text| width_of(text));
        let columns = rows.iter().map(|row| row.figures.len()).max().unwrap_or(0);
        (0..columns)
            .map(|column| {
                let figure = |row: &Row| row.figures.get(column).map_or(0, |text| width_of(text));
                rows.iter()
                    .map(figure)
                    .max()
                    .unwrap_or(0)
                    .max(heading(column))
            })
            .collect()
    }

    /// One line a row, the heading before them: figures aligned, what follows them as it is.
    /// A column without any figure takes no room.
    fn aligned(
        &self,
        rows: &[Row],
        widths: &[usize],
        rest_of: impl Fn(&Row) -> Vec<String>,
    ) -> Vec<String> {
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled);
        let cells = |texts: &[&str]| -> Vec<Cell> {
            let with_column = texts.iter().zip(widths).enumerate();
            with_column
                .filter(|(_, (_, width))| **width > 0)
                .map(|(column, (text, _))| {
                    Cell::new(text).set_alignment(match self.left.contains(&column) {
                        true => CellAlignment::Left,
                        false => CellAlignment::Right,
                    })
                })
                .collect()
        };
        if !self.headings.is_empty() && !rows.is_empty() {
            table.set_header(cells(&self.headings));
        }
        for row in rows {
            let figures: Vec<&str> = row.figures.iter().map(String::as_str).collect();
            let rest = rest_of(row).into_iter().map(Cell::new);
            table.add_row(
                cells(&figures)
                    .into_iter()
                    .chain(rest)
                    .collect::<Vec<Cell>>(),
            );
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, GAP as u16));
        }
        table
            .lines()
            .map(|line| line.trim_end().to_owned())
            .collect()
    }
}

/// Figures as they fit, below their name: for a terminal that is too narrow for columns.
fn flowing(rows: &[Row], room: usize) -> Vec<(Role, String)> {
    let mut all = Vec::new();
    for row in rows {
        all.push((row.role, shorten(&sanitize(&row.name), room)));
        if !row.place.is_empty() {
            all.push((row.role, shorten(&row.place, room)));
        }
        all.extend(
            flow(&row.figures, room)
                .into_iter()
                .map(|line| (row.role, line)),
        );
        all.extend(row.note_within(room));
    }
    all
}
