//! A diff and a top list as pages.

use super::cards::name_cell;
use super::flame::Flame;
use super::page::{Banner, Cell, Column, Page, Table, Tile};
use crate::diagnosis::{Diff, DiffRow, RowVerdict, Stacks, Top, TopRow};
use crate::report::diff::diff_facts;
use crate::report::links::SourceLinks;
use crate::report::sanitize::html::Text;
use crate::report::top::top_facts;
use crate::report::units::{
    change, count, counted, duration, from_to, percent, signed_count, size, size_with_error,
};

/// Rows of a page's table; the rest is counted.
const MAX_ROWS: usize = 500;

/// Lays a diff out as one HTML file. `command` is what was typed.
pub fn diff_html(
    diff: &Diff,
    stacks: Option<&Stacks>,
    links: &SourceLinks,
    command: &str,
) -> String {
    let total = &diff.total;
    let number = |verdict| {
        diff.rows
            .iter()
            .filter(|row| row.verdict == verdict)
            .count()
    };
    let (grew, shrank) = (number(RowVerdict::Grew), number(RowVerdict::Shrank));
    let sentence = match (grew, shrank) {
        (0, 0) => "no site changed beyond noise".to_owned(),
        _ => format!(
            "{} grew and {} shrank beyond noise",
            counted(grew, "site"),
            count(shrank as i64)
        ),
    };
    let (class, symbol, word) = match (grew, shrank) {
        (1.., _) => ("warn", "▲", "GREW"),
        (0, 1..) => ("good", "▼", "SHRANK"),
        _ => ("plain", "~", "NO CHANGE"),
    };
    let tile = |label, value: String, note: String| Tile {
        label,
        value: Text::new(value),
        note: Text::new(note),
    };
    let mut tiles = vec![
        tile(
            "Change",
            change(total.delta_bytes as f64, total.sd_bytes),
            total
                .seconds
                .map_or_else(String::new, |s| format!("over {}", duration(s))),
        ),
        tile(
            "Heap in use",
            from_to(
                diff.before.inuse_bytes as f64,
                diff.after.inuse_bytes as f64,
            ),
            String::new(),
        ),
    ];
    if let Some(limit) = total.detection_limit_bytes {
        tiles.push(tile(
            "Smaller growth can go unseen",
            size(limit),
            String::new(),
        ));
    }
    let column = |title, is_number| Column { title, is_number };
    let mut unshown = diff.unshown;
    for row in diff.rows.iter().skip(MAX_ROWS) {
        unshown.rows += 1;
        unshown.bytes += row.delta_bytes as f64;
    }
    let table = Table {
        heading: "Allocation sites",
        note: "At the frame that allocated, largest change first; ~ cannot be told from noise.",
        columns: vec![
            column("Allocation site", false),
            column("Verdict", false),
            column("Before → after", true),
            column("Change", true),
            column("Objects", true),
            column("Each", true),
        ],
        rows: diff
            .rows
            .iter()
            .take(MAX_ROWS)
            .map(|row| diff_cells(row, links))
            .collect(),
        unshown: match unshown.rows {
            0 => String::new(),
            rows => format!(
                "… {}, {}",
                counted(rows, "more site"),
                change(unshown.bytes, None)
            ),
        },
    };
    let banner = Banner {
        class,
        symbol,
        word,
        sentence: Text::new(sentence),
        tiles,
    };
    page(
        banner,
        stacks,
        table,
        diff_facts(diff),
        &diff.warnings,
        command,
    )
}

fn diff_cells(row: &DiffRow, links: &SourceLinks) -> Vec<Cell> {
    let (text, class) = match row.verdict {
        RowVerdict::Grew => ("grew", "warn"),
        RowVerdict::Shrank => ("shrank", "good"),
        RowVerdict::WithinNoise => ("~", "plain"),
        RowVerdict::Moved => ("moved", "plain"),
        RowVerdict::Unknown => ("?", "plain"),
    };
    let text = match &row.moved_from {
        Some(from) => format!("{text} (from {from})"),
        None => text.to_owned(),
    };
    let number = |shown: String, value: f64| Cell::Number { shown, value };
    let (before, after) = (row.before_bytes as f64, row.after_bytes as f64);
    let delta = row.delta_bytes as f64;
    vec![
        name_cell(&row.function, row.file.as_deref(), row.line, links),
        Cell::Word {
            text: Text::new(text),
            class,
        },
        number(from_to(before, after), after),
        number(change(delta, row.sd_bytes), delta),
        number(signed_count(row.delta_objects), row.delta_objects as f64),
        each(row.object_size),
    ]
}

fn each(object_size: Option<u64>) -> Cell {
    match object_size {
        Some(bytes) => Cell::Number {
            shown: size(bytes as f64),
            value: bytes as f64,
        },
        None => Cell::Number {
            shown: String::new(),
            value: -1.0,
        },
    }
}

/// Lays a top list out as one HTML file. `command` is what was typed.
pub fn top_html(top: &Top, stacks: Option<&Stacks>, links: &SourceLinks, command: &str) -> String {
    let column = |title, is_number| Column { title, is_number };
    let mut unshown = top.unshown;
    for row in top.rows.iter().skip(MAX_ROWS) {
        unshown.rows += 1;
        unshown.bytes += row.flat_bytes as f64;
    }
    let table = Table {
        heading: "Functions",
        note: "Flat is what a function allocates itself, cum what it and all that it calls allocate.",
        columns: vec![
            column("Function", false),
            column("Flat", true),
            column("Flat %", true),
            column("Cum", true),
            column("Cum %", true),
            column("Objects", true),
        ],
        rows: top
            .rows
            .iter()
            .take(MAX_ROWS)
            .map(|row| top_cells(row, links))
            .collect(),
        unshown: match unshown.rows {
            0 => String::new(),
            rows => format!(
                "… {}, {} flat",
                counted(rows, "more function"),
                size(unshown.bytes)
            ),
        },
    };
    let total = size_with_error(top.total_bytes as f64, top.total_se);
    let banner = Banner {
        class: "plain",
        symbol: "■",
        word: "IN USE",
        sentence: Text::new(&top.source),
        tiles: vec![Tile {
            label: "Heap in use",
            value: Text::new(total),
            note: Text::new(top.taken_at.as_deref().unwrap_or("")),
        }],
    };
    page(
        banner,
        stacks,
        table,
        top_facts(top),
        &top.warnings,
        command,
    )
}

fn top_cells(row: &TopRow, links: &SourceLinks) -> Vec<Cell> {
    let number = |shown: String, value: f64| Cell::Number { shown, value };
    let (flat, cum) = (row.flat_bytes as f64, row.cum_bytes as f64);
    vec![
        name_cell(&row.function, row.file.as_deref(), None, links),
        number(size_with_error(flat, row.flat_se), flat),
        number(percent(row.flat_share), row.flat_share),
        number(size_with_error(cum, row.cum_se), cum),
        number(percent(row.cum_share), row.cum_share),
        number(count(row.flat_objects), row.flat_objects as f64),
    ]
}

fn page(
    banner: Banner,
    stacks: Option<&Stacks>,
    table: Table,
    facts: Vec<(&'static str, String)>,
    warnings: &[String],
    command: &str,
) -> String {
    let page = Page {
        banner,
        chart: None,
        cards: Vec::new(),
        flame: stacks.and_then(Flame::new),
        sites: Some(table),
        goroutines: Vec::new(),
        memory: None,
        not_a_leak: Vec::new(),
        facts: facts
            .into_iter()
            .map(|(label, text)| (label, Text::new(text)))
            .collect(),
        warnings: warnings.iter().map(Text::new).collect(),
        next_steps: Vec::new(),
        inputs: Vec::new(),
        input_count: 0,
        command: Text::new(command),
    };
    page.html()
}
