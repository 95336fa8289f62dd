//! `heapdrift explain [PATTERN]`

use super::args::{ExplainArgs, General};
use super::exit::Exit;
use super::failure::Failure;
use super::inputs::read_catalogue;
use super::output::{Report, print};
use crate::pattern::{Pattern, render_page};
use crate::report::{Layout, pattern_list, pattern_page, to_json};
use serde_json::{Value, json};

pub(super) fn run(args: &ExplainArgs, general: &General) -> Result<Exit, Failure> {
    let catalogue = read_catalogue(args.patterns.as_deref())?;
    match &args.pattern {
        None => print(catalogue.patterns(), None, general)?,
        Some(name) => match catalogue.get(name) {
            Some(pattern) => print(pattern, None, general)?,
            None => {
                let hint = match catalogue.suggest(name) {
                    Some(known) => format!("did you mean {known}?"),
                    None => "`heapdrift explain` lists all patterns".to_owned(),
                };
                return Err(Failure::new(
                    Exit::Usage,
                    format!("there is no pattern {name:?}"),
                    hint,
                ));
            }
        },
    }
    Ok(Exit::Clean)
}

impl Report for &[Pattern] {
    fn table(self, layout: &Layout, _rows: usize) -> String {
        pattern_list(self, layout)
    }

    fn json(self, _rows: usize) -> serde_json::Result<String> {
        to_json(&self.iter().map(page_as_json).collect::<Vec<Value>>())
    }
}

impl Report for &Pattern {
    fn table(self, layout: &Layout, _rows: usize) -> String {
        pattern_page(self, layout)
    }

    fn json(self, _rows: usize) -> serde_json::Result<String> {
        to_json(&page_as_json(self))
    }
}

fn page_as_json(pattern: &Pattern) -> Value {
    json!({
        "name": pattern.name,
        "title": pattern.title,
        "why": pattern.why,
        "fix": pattern.fix,
        "page": render_page(pattern),
    })
}
