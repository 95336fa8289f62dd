//! Stacks as a flame graph in one SVG file, drawn by inferno, with its search and zoom.
//!
//! Of two heaps a frame is as wide as the larger of before and after, so that what vanished can
//! be seen as well as what came. inferno colours a frame by the change of its own bytes.

use super::folded::folded_bytes;
use super::names::place;
use super::units::{change, size};
use crate::diagnosis::Stacks;
use inferno::flamegraph::{Options, from_lines};

/// The SVG; the same stacks give the same bytes.
///
/// # Errors
/// What inferno cannot draw; it draws all that this writes.
pub fn svg(stacks: &Stacks) -> std::io::Result<String> {
    let is_pair = stacks.before.is_some();
    let lines: Vec<String> = folded_bytes(stacks)
        .into_iter()
        .filter_map(|(stack, [before, after])| {
            let (before, after) = (before.max(0), after.max(0));
            let width = before.max(after);
            // inferno draws the second figure and colours by what it is above the first: of a
            // stack that shrank, both are raised until the width is what was there before.
            (width > 0).then(|| match is_pair {
                true => format!("{stack} {} {width}", width - (after - before)),
                false => format!("{stack} {after}"),
            })
        })
        .collect();
    let mut options = Options::default();
    options.title = title(stacks);
    options.subtitle = is_pair.then(|| {
        "Width: the larger of before and after. Colour: what the frame itself allocates, red grew, blue shrank"
            .to_owned()
    });
    options.count_name = "bytes".to_owned();
    options.deterministic = true;
    options.hash = true;
    options.bgcolors = Some(inferno::flamegraph::color::BackgroundColor::Flat(
        (255, 255, 255).into(),
    ));
    if lines.is_empty() {
        return Ok(empty());
    }
    let mut svg = Vec::new();
    from_lines(&mut options, lines.iter().map(String::as_str), &mut svg)?;
    Ok(String::from_utf8_lossy(&svg).into_owned())
}

fn title(stacks: &Stacks) -> String {
    let after = place(Some(&stacks.after.source), None);
    match &stacks.before {
        Some(before) => format!(
            "{} → {after}: {}",
            place(Some(&before.source), None),
            change(stacks.after.bytes.saturating_sub(before.bytes) as f64, None),
        ),
        None => format!("{after}: {} in use", size(stacks.after.bytes as f64)),
    }
}

fn empty() -> String {
    "<svg version=\"1.1\" width=\"1200\" height=\"60\" xmlns=\"http://www.w3.org/2000/svg\">\
     <text x=\"600\" y=\"34\" text-anchor=\"middle\" font-family=\"monospace\">nothing is in use</text></svg>\n"
        .to_owned()
}
