//! Rows of figures with a function's name: one line a row where the width allows it, else the
//! name on a line of its own. Figures are never wrapped or cut.

use super::names::shorten;
use super::printer::{Printer, Role, Span};
use super::sanitize::sanitize;
use super::wrap::width_of;
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
}

/// How the columns are laid out.
pub(super) struct Columns {
    /// One a figure; all empty = no heading.
    pub(super) headings: Vec<&'static str>,
    /// Which figures are set to the left.
    pub(super) left: Vec<usize>,
    /// Least columns for a name before it gets a line of its own.
    pub(super) least_name: usize,
    /// Whether a name may get a line of its own.
    pub(super) may_split: bool,
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
        if rows.is_empty() {
            return;
        }
        let room = printer.width().saturating_sub(indent + column);
        let figures = self.widths(rows).iter().map(|width| width + GAP).sum::<usize>();
        let places = rows.iter().map(|row| width_of(&row.place)).max().unwrap_or(0);
        let places = places.min(room / 4);
        let gap = if places > 0 { GAP } else { 0 };
        let for_name = room.saturating_sub(figures + places + gap);
        let longest = rows.iter().map(|row| width_of(&sanitize(&row.name))).max().unwrap_or(0);
        let is_split = self.may_split && for_name < self.least_name.min(longest);
        let lines = match is_split {
            true => self.lines(rows, |row| vec![shorten(&row.place, room.saturating_sub(figures))]),
            false => self.lines(rows, |row| {
                vec![
                    shorten(&sanitize(&row.name), for_name),
                    shorten(&row.place, places),
                ]
            }),
        };
        let mut label = label;
        let has_heading = self.headings.iter().any(|heading| !heading.is_empty());
        let roles = has_heading.then_some(None).into_iter().chain(rows.iter().map(Some));
        for (line, row) in lines.iter().zip(roles) {
            let mut print = |role: Role, text: &str| {
                let label = std::mem::take(&mut label);
                let spans = [
                    Span::new(Role::Faint, format!("{label:<column$}")),
                    Span::new(role, text),
                ];
                printer.line(indent, &spans);
            };
            match row {
                None => print(Role::Faint, line),
                Some(row) if is_split => {
                    print(row.role, &shorten(&sanitize(&row.name), room));
                    print(row.role, line);
                }
                Some(row) => print(row.role, line),
            }
        }
    }

    fn widths(&self, rows: &[Row]) -> Vec<usize> {
        let heading = |column: usize| self.headings.get(column).map_or(0, |text| width_of(text));
        let columns = rows.iter().map(|row| row.figures.len()).max().unwrap_or(0);
        (0..columns)
            .map(|column| {
                let figure = |row: &Row| row.figures.get(column).map_or(0, |text| width_of(text));
                rows.iter().map(figure).max().unwrap_or(0).max(heading(column))
            })
            .collect()
    }

    fn lines(&self, rows: &[Row], rest_of: impl Fn(&Row) -> Vec<String>) -> Vec<String> {
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled);
        let figure = |column: usize, text: &str| {
            let alignment = match self.left.contains(&column) {
                true => CellAlignment::Left,
                false => CellAlignment::Right,
            };
            Cell::new(text).set_alignment(alignment)
        };
        if self.headings.iter().any(|heading| !heading.is_empty()) {
            let cells = self.headings.iter().enumerate().map(|(column, text)| figure(column, text));
            table.set_header(cells.collect::<Vec<Cell>>());
        }
        for row in rows {
            let figures = row.figures.iter().enumerate().map(|(column, text)| figure(column, text));
            table.add_row(figures.chain(rest_of(row).into_iter().map(Cell::new)).collect::<Vec<Cell>>());
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, GAP as u16));
        }
        table.lines().map(|line| line.trim_end().to_owned()).collect()
    }
}
