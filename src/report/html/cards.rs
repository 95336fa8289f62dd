//! Findings and groups of goroutines as a page shows them.

use super::chart::spark;
use super::page::Cell;
use crate::diagnosis::{Finding, FindingGoroutines, FindingSite, FindingVerdict};
use crate::pattern::reference_url;
use crate::report::finding::{basis, finding_name, finding_word, growth_facts, headline_figure};
use crate::report::links::SourceLinks;
use crate::report::names::brief;
use crate::report::sanitize::html::Text;
use crate::report::units::{change, count_of, counted, duration, from_to, size, size_with_error};

/// A finding.
pub(super) struct Card {
    pub(super) class: &'static str,
    pub(super) symbol: &'static str,
    pub(super) word: &'static str,
    pub(super) name: Text,
    pub(super) figure: Text,
    pub(super) title: Text,
    pub(super) culprit: Option<Culprit>,
    pub(super) growth: Text,
    pub(super) callers: Vec<Text>,
    pub(super) callers_label: &'static str,
    pub(super) path: Vec<Text>,
    pub(super) sites: Vec<Vec<Cell>>,
    pub(super) is_single: bool,
    pub(super) unshown: String,
    pub(super) goroutines: Vec<Group>,
    pub(super) evidence: Vec<Text>,
    pub(super) but: Vec<Text>,
    pub(super) why: Text,
    pub(super) fix: Text,
    pub(super) also: Text,
    pub(super) explain: Text,
    pub(super) references: Vec<(Text, Option<Text>)>,
}

pub(super) struct Culprit {
    pub(super) function: Text,
    pub(super) place: Text,
    pub(super) address: Option<Text>,
    pub(super) basis: Text,
}

/// A group of goroutines.
#[derive(Clone)]
pub(super) struct Group {
    pub(super) function: Text,
    pub(super) created_by: Text,
    pub(super) state: Text,
    pub(super) before: u64,
    pub(super) after: u64,
    pub(super) figures: String,
    pub(super) note: Text,
    pub(super) spark: String,
}

/// Sites that a card shows; the table below has more.
const MAX_SITES: usize = 12;

impl Card {
    pub(super) fn new(finding: &Finding, links: &SourceLinks) -> Self {
        let (class, symbol) = match finding.verdict {
            FindingVerdict::Leak => ("bad", "▲"),
            FindingVerdict::Growing => ("warn", "◆"),
            FindingVerdict::Suspect => ("warn", "?"),
            FindingVerdict::Plateauing => ("plain", "◠"),
            FindingVerdict::Step => ("plain", "⌐"),
            FindingVerdict::Sawtooth => ("plain", "⩘"),
        };
        let is_single = finding.sites.iter().all(|site| site.before.is_none());
        let texts = |texts: &[String]| texts.iter().map(Text::new).collect();
        let names = |names: &[String]| names.iter().map(|name| Text::new(brief(name))).collect();
        let seen_in = finding.culprit.as_ref().map(|culprit| culprit.seen_in);
        Self {
            class,
            symbol,
            word: finding_word(finding.verdict),
            name: Text::new(finding_name(finding)),
            figure: Text::new(headline_figure(finding)),
            title: Text::new(&finding.title),
            culprit: finding.culprit.as_ref().map(|culprit| Culprit {
                function: Text::new(&culprit.function),
                place: Text::new(links.place(culprit.file.as_deref(), culprit.line)),
                address: links
                    .address(culprit.file.as_deref(), culprit.line)
                    .map(Text::new),
                basis: Text::new(basis(culprit)),
            }),
            growth: Text::new(match &finding.growth {
                Some(growth) => growth_facts(growth, finding),
                None => String::new(),
            }),
            callers: names(&finding.callers),
            callers_label: match seen_in {
                Some("goroutine") => "Started by",
                _ => "Called by",
            },
            path: match finding.path.len() {
                0 | 1 => Vec::new(),
                _ => names(&finding.path),
            },
            sites: finding
                .sites
                .iter()
                .take(MAX_SITES)
                .map(|site| site_cells(site, is_single, links))
                .collect(),
            is_single,
            unshown: unshown(finding),
            goroutines: finding.goroutines.iter().map(Group::new).collect(),
            evidence: texts(&finding.evidence),
            but: texts(&finding.would_change),
            why: Text::new(&finding.why),
            fix: Text::new(&finding.fix),
            also: Text::new(finding.also_matches.as_deref().unwrap_or("")),
            explain: Text::new(finding.pattern.as_deref().unwrap_or("")),
            references: finding
                .references
                .iter()
                .map(|name| (Text::new(name), reference_url(name).map(Text::new)))
                .collect(),
        }
    }
}

fn unshown(finding: &Finding) -> String {
    let more = finding.sites.iter().skip(MAX_SITES);
    let bytes: f64 = more
        .clone()
        .map(|site| site.delta.unwrap_or(site.after))
        .sum();
    let rows = more.count() + finding.sites_unshown.rows;
    match rows {
        0 => String::new(),
        rows => format!(
            "… {}, {}",
            counted(rows, "more site"),
            size(bytes + finding.sites_unshown.bytes)
        ),
    }
}

/// Name, then sizes or a size, change, course and object size.
pub(super) fn site_cells(site: &FindingSite, is_single: bool, links: &SourceLinks) -> Vec<Cell> {
    let mut cells = vec![name_cell(
        &site.function,
        site.file.as_deref(),
        site.line,
        links,
    )];
    let number = |shown: String, value: f64| Cell::Number { shown, value };
    match is_single {
        true => cells.push(number(size_with_error(site.after, site.sd), site.after)),
        false => {
            let before = site.before.unwrap_or(0.0);
            let delta = site.delta.unwrap_or(site.after);
            cells.push(number(from_to(before, site.after), site.after));
            cells.push(number(change(delta, site.sd), delta));
            cells.push(Cell::Spark {
                svg: spark(&site.series),
            });
        }
    }
    cells.push(match site.object_size {
        Some(bytes) => number(size(bytes as f64), bytes as f64),
        None => number(String::new(), -1.0),
    });
    cells
}

pub(super) fn name_cell(
    function: &str,
    file: Option<&str>,
    line: Option<u32>,
    links: &SourceLinks,
) -> Cell {
    Cell::Name {
        function: Text::new(function),
        place: Text::new(links.place(file, line)),
        address: links.address(file, line).map(Text::new),
    }
}

impl Group {
    pub(super) fn new(group: &FindingGoroutines) -> Self {
        let mut notes = Vec::new();
        if group.leaked > 0 {
            notes.push(format!("{} leaked for certain", count_of(group.leaked)));
        }
        if let Some(minutes @ 1..) = group.wait_minutes {
            let wait = duration(f64::from(minutes) * 60.0);
            notes.push(format!("waiting up to {wait}"));
        }
        let values: Vec<f64> = group.series.iter().map(|number| *number as f64).collect();
        Self {
            function: Text::new(&group.function),
            created_by: Text::new(group.created_by.as_deref().unwrap_or("")),
            state: Text::new(group.state.as_deref().unwrap_or("")),
            before: group.before,
            after: group.after,
            figures: match group.series.len() {
                0 | 1 => count_of(group.after),
                _ => format!("{} → {}", count_of(group.before), count_of(group.after)),
            },
            note: Text::new(notes.join(", ")),
            spark: spark(&values),
        }
    }
}
