//! The catalogue: the patterns that are built in, and those of the user.
//!
//! A pattern is a file (`catalogue/<name>.toml`, [`Pattern`] says what is in it). The built-in
//! ones and a user's own go through the same checks. This module does no I/O: whoever reads
//! the user's files hands over their text.

mod check;
mod error;
mod locate;

pub use error::{CatalogueError, CatalogueProblem};

pub use locate::position;

use super::{Entry, NotALeakPage, Pattern, not_a_leak};

/// The files of `catalogue/`, by name.
const BUILTIN: &[(&str, &str)] = &[
    (
        "append-only-slice.toml",
        include_str!("catalogue/append-only-slice.toml"),
    ),
    (
        "backed-up-informer.toml",
        include_str!("catalogue/backed-up-informer.toml"),
    ),
    (
        "client-per-call.toml",
        include_str!("catalogue/client-per-call.toml"),
    ),
    (
        "compressor-per-request.toml",
        include_str!("catalogue/compressor-per-request.toml"),
    ),
    (
        "container-without-delete.toml",
        include_str!("catalogue/container-without-delete.toml"),
    ),
    (
        "context-children-never-cancelled.toml",
        include_str!("catalogue/context-children-never-cancelled.toml"),
    ),
    (
        "etcd-lease-kept-alive.toml",
        include_str!("catalogue/etcd-lease-kept-alive.toml"),
    ),
    (
        "event-broadcaster-per-call.toml",
        include_str!("catalogue/event-broadcaster-per-call.toml"),
    ),
    (
        "exec-stream-goroutines.toml",
        include_str!("catalogue/exec-stream-goroutines.toml"),
    ),
    (
        "file-watcher-not-closed.toml",
        include_str!("catalogue/file-watcher-not-closed.toml"),
    ),
    (
        "goroutine-blocked-on-channel.toml",
        include_str!("catalogue/goroutine-blocked-on-channel.toml"),
    ),
    (
        "grpc-connection-per-call.toml",
        include_str!("catalogue/grpc-connection-per-call.toml"),
    ),
    (
        "grpc-stream-not-finished.toml",
        include_str!("catalogue/grpc-stream-not-finished.toml"),
    ),
    (
        "handlers-never-removed.toml",
        include_str!("catalogue/handlers-never-removed.toml"),
    ),
    (
        "hot-rewatch-loop.toml",
        include_str!("catalogue/hot-rewatch-loop.toml"),
    ),
    (
        "idle-server-connections.toml",
        include_str!("catalogue/idle-server-connections.toml"),
    ),
    (
        "informers-never-stopped.toml",
        include_str!("catalogue/informers-never-stopped.toml"),
    ),
    (
        "lock-pile-up.toml",
        include_str!("catalogue/lock-pile-up.toml"),
    ),
    (
        "logger-promise-chain.toml",
        include_str!("catalogue/logger-promise-chain.toml"),
    ),
    (
        "logger-values-accumulate.toml",
        include_str!("catalogue/logger-values-accumulate.toml"),
    ),
    (
        "metric-label-cardinality.toml",
        include_str!("catalogue/metric-label-cardinality.toml"),
    ),
    (
        "old-generation-running.toml",
        include_str!("catalogue/old-generation-running.toml"),
    ),
    (
        "openapi-per-reconcile.toml",
        include_str!("catalogue/openapi-per-reconcile.toml"),
    ),
    (
        "regexp-per-call.toml",
        include_str!("catalogue/regexp-per-call.toml"),
    ),
    (
        "response-body-not-closed.toml",
        include_str!("catalogue/response-body-not-closed.toml"),
    ),
    (
        "retained-buffer.toml",
        include_str!("catalogue/retained-buffer.toml"),
    ),
    (
        "spans-never-ended.toml",
        include_str!("catalogue/spans-never-ended.toml"),
    ),
    (
        "sql-open-per-query.toml",
        include_str!("catalogue/sql-open-per-query.toml"),
    ),
    (
        "sql-rows-not-closed.toml",
        include_str!("catalogue/sql-rows-not-closed.toml"),
    ),
    (
        "sql-statements-not-closed.toml",
        include_str!("catalogue/sql-statements-not-closed.toml"),
    ),
    (
        "stale-watchers.toml",
        include_str!("catalogue/stale-watchers.toml"),
    ),
    (
        "subscriptions-never-removed.toml",
        include_str!("catalogue/subscriptions-never-removed.toml"),
    ),
    (
        "timers-not-stopped.toml",
        include_str!("catalogue/timers-not-stopped.toml"),
    ),
    (
        "tls-transport-cache.toml",
        include_str!("catalogue/tls-transport-cache.toml"),
    ),
    (
        "unbounded-work-queue.toml",
        include_str!("catalogue/unbounded-work-queue.toml"),
    ),
    (
        "websocket-hub-not-unregistered.toml",
        include_str!("catalogue/websocket-hub-not-unregistered.toml"),
    ),
    (
        "whole-object-cache.toml",
        include_str!("catalogue/whole-object-cache.toml"),
    ),
    (
        "workqueue-bookkeeping.toml",
        include_str!("catalogue/workqueue-bookkeeping.toml"),
    ),
];

/// What an error says of a name that is already taken by a built-in pattern.
const BUILTIN_ORIGIN: &str = "the built-in catalogue";

/// All patterns that growth is matched against.
#[derive(Debug, Clone)]
pub struct Catalogue {
    patterns: Vec<Pattern>,
    /// Where each pattern comes from, in the same order.
    origins: Vec<String>,
    /// What is not a leak, by name.
    not_a_leak: Vec<NotALeakPage>,
}

impl Catalogue {
    /// The patterns that are built in.
    pub fn builtin() -> Self {
        let pages = not_a_leak::BUILTIN.iter();
        let not_a_leak = pages.map(|(file, text)| check::parse_page(file, text));
        let empty = Self {
            patterns: Vec::new(),
            origins: Vec::new(),
            not_a_leak: match not_a_leak.collect() {
                Ok(pages) => pages,
                Err(error) => unreachable!("a built-in page is broken: {error}"),
            },
        };
        let files = BUILTIN
            .iter()
            .map(|(file, text)| (*file, *text, BUILTIN_ORIGIN));
        match empty.add(files) {
            Ok(catalogue) => catalogue,
            // They are compiled in and a test reads each of them.
            Err(error) => unreachable!("a built-in pattern is broken: {error}"),
        }
    }

    /// Adds the user's files, each with the path under which errors show it.
    ///
    /// # Errors
    ///
    /// The first file that is not a valid pattern, or whose name is taken.
    pub fn with_files(
        self,
        files: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, CatalogueError> {
        let files: Vec<(String, String)> = files.collect();
        self.add(
            files
                .iter()
                .map(|(path, text)| (path.as_str(), text.as_str(), path.as_str())),
        )
    }

    fn add<'f>(
        self,
        files: impl Iterator<Item = (&'f str, &'f str, &'f str)>,
    ) -> Result<Self, CatalogueError> {
        let mut entries: Vec<(Pattern, String)> =
            self.patterns.into_iter().zip(self.origins).collect();
        for (path, text, origin) in files {
            let pattern = check::parse(path, text)?;
            let name = &pattern.name;
            let taken = entries.iter().find(|(other, _)| other.name == *name);
            let is_page = || self.not_a_leak.iter().any(|page| page.answers_to(name));
            if let Some(first) = taken
                .map(|(_, first)| first.as_str())
                .or_else(|| is_page().then_some(BUILTIN_ORIGIN))
            {
                return Err(check::duplicate_name(path, text, name, first));
            }
            entries.push((pattern, origin.to_owned()));
        }
        entries.sort_by(|(a, _), (b, _)| {
            b.specificity
                .cmp(&a.specificity)
                .then_with(|| a.name.cmp(&b.name))
        });
        let (patterns, origins) = entries.into_iter().unzip();
        Ok(Self {
            patterns,
            origins,
            not_a_leak: self.not_a_leak,
        })
    }

    /// All patterns, the most specific first, then by name.
    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    /// The pattern of that name.
    pub fn get(&self, name: &str) -> Option<&Pattern> {
        self.patterns.iter().find(|pattern| pattern.name == name)
    }

    /// The page of that name, or of that other word for it, about what is not a leak.
    pub fn not_a_leak_page(&self, name: &str) -> Option<&NotALeakPage> {
        self.not_a_leak.iter().find(|page| page.answers_to(name))
    }

    /// All pages: leak patterns by name, then what is not a leak by name.
    pub fn entries(&self) -> Vec<Entry<'_>> {
        let leaks = self.patterns.iter().map(Entry::Leak);
        let others = self.not_a_leak.iter().map(Entry::NotALeak);
        let mut entries: Vec<Entry> = leaks.chain(others).collect();
        entries.sort_by_key(|entry| (!entry.is_leak(), entry.name()));
        entries
    }

    /// The page of that name.
    pub fn entry(&self, name: &str) -> Option<Entry<'_>> {
        let leak = self.get(name).map(Entry::Leak);
        leak.or_else(|| self.not_a_leak_page(name).map(Entry::NotALeak))
    }

    /// The name that was probably meant: one that contains `name`, or else the closest one
    /// that is not too far away.
    pub fn suggest(&self, name: &str) -> Option<&str> {
        let patterns = self.patterns.iter().map(|pattern| pattern.name.as_str());
        let pages = self.not_a_leak.iter();
        closest(name, patterns.chain(pages.map(|page| page.name.as_str())))
    }
}

/// The word that was probably meant: one that contains `word`, or else the closest one that
/// is not too far away.
pub fn closest<'k>(word: &str, known: impl Iterator<Item = &'k str> + Clone) -> Option<&'k str> {
    let wanted = word.trim().to_ascii_lowercase().replace(['_', ' '], "-");
    if wanted.len() >= 3
        && let Some(found) = known.clone().find(|known| known.contains(&wanted))
    {
        return Some(found);
    }
    let furthest = 1 + wanted.chars().count() / 4;
    known
        .map(|known| (edit_distance(&wanted, known), known))
        .filter(|(distance, _)| *distance <= furthest)
        .min()
        .map(|(_, known)| known)
}

/// Insertions, deletions and replacements that turn `a` into `b` (Wagner and Fischer 1974).
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod file_tests;
#[cfg(test)]
mod name_tests;
