//! Reads one pattern file and checks what its types cannot.

use super::error::{CatalogueError, CatalogueProblem, SHARE};
use super::locate::{Step, locate, position};
use crate::pattern::definition::EXPRESSION_PROBLEM;
use crate::pattern::{GoroutineCondition, HeapCondition, NotALeakPage, Pattern};
use serde::de::DeserializeOwned;
use std::path::Path;

/// No pattern needs more; an expression's compiled size is bounded in its own type.
const MAX_FILE_BYTES: usize = 256 * 1024;

/// Placeholders that a heap condition's sentence can have.
const HEAP_PLACEHOLDERS: &[&str] = &["bytes", "share", "stacks", "churn", "retention"];

/// Placeholders that a goroutine condition's sentence can have.
const GOROUTINE_PLACEHOLDERS: &[&str] = &[
    "count",
    "before",
    "after",
    "seen",
    "snapshots",
    "state",
    "wait",
    "standing",
    "inside",
];

/// A file under check: where its errors point.
struct File<'f> {
    path: &'f str,
    text: &'f str,
}

type Checked = Result<(), CatalogueError>;

/// Reads and checks one file.
pub(super) fn parse(path: &str, text: &str) -> Result<Pattern, CatalogueError> {
    let file = File { path, text };
    let pattern: Pattern = file.read()?;
    file.check_name(&pattern.name)?;
    let specificity = pattern.specificity;
    file.check_range(
        "specificity",
        specificity.into(),
        0.0,
        100.0,
        "from 0 to 100",
        &[],
    )?;
    file.check_pattern_texts(&pattern)?;
    file.check_ids(&pattern)?;
    for (index, condition) in pattern.heap.iter().enumerate() {
        file.check_heap(index, condition)?;
    }
    for (index, condition) in pattern.goroutines.iter().enumerate() {
        file.check_goroutines(index, condition)?;
    }
    file.check_is_selective(&pattern)?;
    Ok(pattern)
}

/// Reads and checks one page about memory that is not a leak.
pub(super) fn parse_page(path: &str, text: &str) -> Result<NotALeakPage, CatalogueError> {
    let file = File { path, text };
    let page: NotALeakPage = file.read()?;
    file.check_name(&page.name)?;
    file.check_texts(&[
        (&["title"], &page.title),
        (&["what"], &page.what),
        (&["confirm"], &page.confirm),
        (&["advice"], &page.advice),
        (&["unless"], &page.unless),
    ])?;
    Ok(page)
}

/// The error for a name that another file has taken.
pub(super) fn duplicate_name(path: &str, text: &str, name: &str, first: &str) -> CatalogueError {
    let (name, first) = (name.to_owned(), first.to_owned());
    File { path, text }.error(
        &[Step::Key("name")],
        CatalogueProblem::DuplicateName { name, first },
    )
}

impl File<'_> {
    fn read<T: DeserializeOwned>(&self) -> Result<T, CatalogueError> {
        if self.text.len() > MAX_FILE_BYTES {
            let (bytes, limit) = (self.text.len(), MAX_FILE_BYTES);
            return Err(self.error(&[], CatalogueProblem::TooLarge { bytes, limit }));
        }
        toml::from_str(self.text).map_err(|error| self.format_error(&error))
    }

    fn error(&self, steps: &[Step], problem: CatalogueProblem) -> CatalogueError {
        let (line, column) = locate(self.text, steps);
        CatalogueError {
            path: self.path.to_owned(),
            line,
            column,
            problem,
        }
    }

    fn format_error(&self, error: &toml::de::Error) -> CatalogueError {
        let (line, column) = position(self.text, error.span().map_or(0, |span| span.start));
        let message = error.message().trim().to_owned();
        CatalogueError {
            path: self.path.to_owned(),
            line,
            column,
            problem: match message.starts_with(EXPRESSION_PROBLEM) {
                true => CatalogueProblem::Expression(message),
                false => CatalogueProblem::Format(message),
            },
        }
    }

    fn check_name(&self, name: &str) -> Checked {
        let at_name = [Step::Key("name")];
        let name = name.to_owned();
        if !is_kebab_case(&name) {
            return Err(self.error(&at_name, CatalogueProblem::NameCharacters { name }));
        }
        let stem = Path::new(self.path)
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy();
        if stem != name {
            let stem = stem.into_owned();
            return Err(self.error(&at_name, CatalogueProblem::NameIsNotTheFiles { name, stem }));
        }
        Ok(())
    }

    fn check_pattern_texts(&self, pattern: &Pattern) -> Checked {
        let page = &pattern.page;
        self.check_texts(&[
            (&["title"], &pattern.title),
            (&["why"], &pattern.why),
            (&["fix"], &pattern.fix),
            (&["page", "what"], &page.what),
            (&["page", "why"], &page.why),
            (&["page", "confirm"], &page.confirm),
            (&["page", "fix"], &page.fix),
            (&["page", "lookalikes"], &page.lookalikes),
        ])
    }

    /// Texts by the way to them; none may be empty.
    fn check_texts(&self, texts: &[(&[&'static str], &str)]) -> Checked {
        for (keys, text) in texts {
            if text.trim().is_empty() {
                let steps: Vec<Step> = keys.iter().map(|key| Step::Key(key)).collect();
                let key = keys[keys.len() - 1];
                return Err(self.error(&steps, CatalogueProblem::EmptyText { key }));
            }
        }
        Ok(())
    }

    fn check_ids(&self, pattern: &Pattern) -> Checked {
        let heap = pattern.heap.iter().map(|condition| &condition.id);
        let goroutines = pattern.goroutines.iter().map(|condition| &condition.id);
        let tables = (0..)
            .map(|index| ("heap", index))
            .zip(heap)
            .chain((0..).map(|index| ("goroutines", index)).zip(goroutines));
        let mut known: Vec<String> = Vec::new();
        for ((table, index), id) in tables {
            let steps = [Step::Key(table), Step::Index(index), Step::Key("id")];
            if id.trim().is_empty() {
                return Err(self.error(&steps, CatalogueProblem::EmptyText { key: "id" }));
            }
            if known.contains(id) {
                let id = id.clone();
                return Err(self.error(&steps, CatalogueProblem::DuplicateId { id }));
            }
            known.push(id.clone());
        }
        for (index, variant) in pattern.variant.iter().enumerate() {
            for (key, ids) in [("when", &variant.when), ("when_not", &variant.when_not)] {
                if let Some(at) = ids.iter().position(|id| !known.contains(id)) {
                    let id = ids[at].clone();
                    let table = [Step::Key("variant"), Step::Index(index)];
                    let steps = [table[0], table[1], Step::Key(key), Step::Index(at)];
                    return Err(self.error(&steps, CatalogueProblem::UnknownId { id, known }));
                }
            }
        }
        Ok(())
    }

    fn check_heap(&self, index: usize, condition: &HeapCondition) -> Checked {
        let table = [Step::Key("heap"), Step::Index(index)];
        let max = f64::MAX;
        self.check_range("min_share", condition.min_share, 0.0, 1.0, SHARE, &table)?;
        self.check_range(
            "suspect_share",
            condition.suspect_share,
            0.0,
            1.0,
            SHARE,
            &table,
        )?;
        if let Some(churn) = condition.min_churn {
            self.check_range("min_churn", churn, 0.0, max, "0 or more", &table)?;
        }
        if let Some(churn) = condition.max_churn {
            let least = condition.min_churn.unwrap_or(0.0);
            self.check_range(
                "max_churn",
                churn,
                least,
                max,
                "`min_churn` or more",
                &table,
            )?;
        }
        if let Some(kept) = condition.min_retention {
            self.check_range("min_retention", kept, 0.0, 1.0, SHARE, &table)?;
        }
        if let Some(kept) = condition.max_retention {
            let least = condition.min_retention.unwrap_or(0.0);
            let range = "`min_retention` or more, and at most 1";
            self.check_range("max_retention", kept, least, 1.0, range, &table)?;
        }
        if condition.absent && condition.gathers {
            let (key, with) = ("gathers", "absent");
            let steps = [table[0], table[1], Step::Key(key)];
            return Err(self.error(&steps, CatalogueProblem::Contradiction { key, with }));
        }
        if let Some([least, most]) = condition.object_size
            && least > most
        {
            let value = format!("[{least}, {most}]");
            let (key, range) = ("object_size", "[smallest, largest]");
            let steps = [table[0], table[1], Step::Key(key)];
            return Err(self.error(&steps, CatalogueProblem::OutOfRange { key, value, range }));
        }
        if condition.site.is_none()
            && condition.through.is_empty()
            && condition.object_size.is_none()
        {
            let id = condition.id.clone();
            return Err(self.error(&table, CatalogueProblem::EmptyCondition { id }));
        }
        self.check_says(&condition.says, HEAP_PLACEHOLDERS, &table)
    }

    fn check_goroutines(&self, index: usize, condition: &GoroutineCondition) -> Checked {
        let table = [Step::Key("goroutines"), Step::Index(index)];
        self.check_range(
            "in_snapshots",
            condition.in_snapshots,
            0.0,
            1.0,
            SHARE,
            &table,
        )?;
        if condition.in_step != 0 {
            let least = condition.in_step as f64;
            self.check_range("in_step", least, 2.0, f64::MAX, "2 or more", &table)?;
        }
        if condition.frame.is_none()
            && condition.created_by.is_none()
            && condition.blocked_in.is_empty()
        {
            let id = condition.id.clone();
            return Err(self.error(&table, CatalogueProblem::EmptyGoroutineCondition { id }));
        }
        let is_given = [
            ("directly", condition.directly, "blocked_in"),
            ("below", condition.below.is_some(), "frame"),
            ("inside_application", condition.inside_application, "frame"),
        ];
        let is_there = |key| match key {
            "frame" => condition.frame.is_some(),
            _ => !condition.blocked_in.is_empty(),
        };
        for (key, is_given, needs) in is_given {
            if is_given && !is_there(needs) {
                let steps = [table[0], table[1], Step::Key(key)];
                return Err(self.error(&steps, CatalogueProblem::Alone { key, needs }));
            }
        }
        self.check_says(&condition.says, GOROUTINE_PLACEHOLDERS, &table)
    }

    fn check_range(
        &self,
        key: &'static str,
        value: f64,
        least: f64,
        most: f64,
        range: &'static str,
        table: &[Step],
    ) -> Checked {
        if (least..=most).contains(&value) {
            return Ok(());
        }
        let steps: Vec<Step> = table.iter().copied().chain([Step::Key(key)]).collect();
        let value = value.to_string();
        Err(self.error(&steps, CatalogueProblem::OutOfRange { key, value, range }))
    }

    fn check_says(&self, says: &str, known: &'static [&'static str], table: &[Step]) -> Checked {
        let steps: Vec<Step> = table.iter().copied().chain([Step::Key("says")]).collect();
        if says.trim().is_empty() {
            return Err(self.error(&steps, CatalogueProblem::EmptyText { key: "says" }));
        }
        let mut rest = says;
        while let Some(at) = rest.find(['{', '}']) {
            let inner = rest[at..]
                .strip_prefix('{')
                .and_then(|tail| tail.split_once('}'));
            let Some((name, tail)) = inner.filter(|(name, _)| !name.contains('{')) else {
                return Err(self.error(&steps, CatalogueProblem::LooseBrace));
            };
            if !known.contains(&name) {
                let name = name.to_owned();
                let problem = CatalogueProblem::UnknownPlaceholder { name, known };
                return Err(self.error(&steps, problem));
            }
            rest = tail;
        }
        Ok(())
    }

    fn check_is_selective(&self, pattern: &Pattern) -> Checked {
        if pattern.heap.is_empty() && pattern.goroutines.is_empty() {
            return Err(self.error(&[], CatalogueProblem::NoCondition));
        }
        let is_required = pattern.heap.iter().any(|condition| condition.required)
            || pattern
                .goroutines
                .iter()
                .any(|condition| condition.required);
        if !is_required {
            let table = if pattern.heap.is_empty() {
                "goroutines"
            } else {
                "heap"
            };
            let steps = [Step::Key(table), Step::Index(0), Step::Key("required")];
            return Err(self.error(&steps, CatalogueProblem::NoRequiredCondition));
        }
        Ok(())
    }
}

/// Whether a name is lower-case words joined by single `-`.
fn is_kebab_case(name: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.split('-').all(is_word)
}
