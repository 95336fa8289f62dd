//! `heapdrift explain [NAME]`

use super::args::{ExplainArgs, Format, General};
use super::config::Config;
use super::exit::Exit;
use super::failure::Failure;
use super::inputs::{read_catalogue, read_pattern_text};
use super::output::{Report, print};
use crate::pattern::{Catalogue, Entry, Found};
use crate::report::{
    Layout, Pages, catalogue_markdown, entry_list, entry_markdown, entry_page, search_list,
    search_markdown, to_json,
};
use std::path::PathBuf;

pub(super) fn run(args: &ExplainArgs, general: &General) -> Result<Exit, Failure> {
    if !args.check.is_empty() {
        return check(&args.check, general);
    }
    let catalogue = read_catalogue(args.patterns.as_deref(), &Config::find()?)?;
    if let Some(word) = &args.search {
        print(Hits::of(&catalogue, word)?, None, general)?;
        return Ok(Exit::Clean);
    }
    let Some(name) = &args.name else {
        print(List(catalogue.entries()), None, general)?;
        return Ok(Exit::Clean);
    };
    let Some(entry) = catalogue.entry(name) else {
        let hint = match catalogue.suggest(name) {
            Some(known) => format!("did you mean {known}?"),
            None => {
                "`heapdrift explain` lists all pages, `--search WORD` looks into them".to_owned()
            }
        };
        return Err(Failure::new(
            Exit::Usage,
            format!("there is no pattern or verdict {name:?}"),
            hint,
        ));
    };
    print(entry, None, general)?;
    Ok(Exit::Clean)
}

/// Reads pattern files as `--patterns` would, and says what is wrong with each.
fn check(files: &[PathBuf], general: &General) -> Result<Exit, Failure> {
    if !matches!(general.format, None | Some(Format::Table)) {
        let message = "--check has one form only";
        return Err(Failure::new(
            Exit::Usage,
            message,
            "leave -f out: the exit code tells",
        ));
    }
    let mut catalogue = Catalogue::builtin();
    let mut said = String::new();
    let mut failure = Failure::none(Exit::Usage);
    let mut is_sound = true;
    for path in files {
        let shown = path.display().to_string();
        let checked = read_pattern_text(path)
            .map_err(|error| (format!("{shown}: {error}"), "check the path".to_owned()))
            .and_then(|text| {
                let more = [(shown.clone(), text)].into_iter();
                let checked = catalogue.clone().with_files(more);
                checked.map_err(|error| (error.to_string(), error.hint()))
            });
        match checked {
            Ok(more) => {
                catalogue = more;
                said += &format!("{shown}: a sound pattern file\n");
            }
            Err((message, hint)) => {
                is_sound = false;
                failure = failure.and(message, hint);
            }
        }
    }
    print(Checked(said), None, general)?;
    match is_sound {
        true => Ok(Exit::Clean),
        false => Err(failure),
    }
}

/// What a check has to say of sound files.
#[derive(Clone)]
struct Checked(String);

impl Report for Checked {
    fn table(self, _layout: &Layout, _rows: usize) -> String {
        let lines = self.0.lines().map(crate::report::sanitize);
        lines.map(|line| format!("{line}\n")).collect()
    }

    fn json(self, _rows: usize) -> serde_json::Result<String> {
        to_json(&self.0)
    }
}

/// All pages.
#[derive(Clone)]
struct List<'c>(Vec<Entry<'c>>);

impl Report for List<'_> {
    fn table(self, layout: &Layout, _rows: usize) -> String {
        entry_list(&self.0, layout)
    }

    fn json(self, _rows: usize) -> serde_json::Result<String> {
        to_json(&Pages::of(&self.0))
    }

    fn markdown(self) -> Option<String> {
        Some(catalogue_markdown(&self.0))
    }
}

/// The pages that mention a word.
#[derive(Clone)]
struct Hits<'c> {
    word: &'c str,
    pages: Vec<(Entry<'c>, Vec<Found>)>,
}

impl<'c> Hits<'c> {
    fn of(catalogue: &'c Catalogue, word: &'c str) -> Result<Self, Failure> {
        if word.trim().is_empty() {
            let message = "there is no word to search for";
            return Err(Failure::new(Exit::Usage, message, "--search WORD"));
        }
        let entries = catalogue.entries().into_iter();
        let hits = entries.map(|entry| (entry, entry.search(word)));
        Ok(Self {
            word,
            pages: hits.filter(|(_, found)| !found.is_empty()).collect(),
        })
    }
}

impl Report for Hits<'_> {
    fn table(self, layout: &Layout, _rows: usize) -> String {
        search_list(self.word, &self.pages, layout)
    }

    fn json(self, _rows: usize) -> serde_json::Result<String> {
        to_json(&Pages::found(self.word, &self.pages))
    }

    fn markdown(self) -> Option<String> {
        Some(search_markdown(&self.pages))
    }
}

impl Report for Entry<'_> {
    fn table(self, layout: &Layout, _rows: usize) -> String {
        entry_page(&self, layout)
    }

    fn json(self, _rows: usize) -> serde_json::Result<String> {
        to_json(&Pages::of(&[self]))
    }

    fn markdown(self) -> Option<String> {
        Some(entry_markdown(&self))
    }
}
