//! What is wrong with a diagnosis, and what heapdrift is known to get wrong.

use crate::judged::{Judged, corpus};
use crate::named::misnamed;
use crate::support::Case;
use std::collections::BTreeSet;

/// What heapdrift is known to get wrong (case, kind), and why. A case stays in the corpus and keeps its
/// label; when one of these comes right, the tests say so, and it is taken off the list.
pub const KNOWN_MISSES: &[(&str, &str, &str)] = &[
    (
        "bursty-leak",
        "culprit",
        "the method that reads the table is shown; the one that keeps the connection calls it",
    ),
    (
        "bursty-leak-rate64",
        "culprit",
        "the method that reads the table is shown; the one that keeps the connection calls it",
    ),
    (
        "compressor-kept",
        "culprit",
        "the compressor is made at the first write, in a method that the culprit calls",
    ),
    (
        "event-log-per-tenant",
        "verdict",
        "the slices of events are reallocated in bumps: one third is within noise at 512 KiB",
    ),
    (
        "lock-per-key",
        "verdict",
        "most of it is the map, which grows in bumps; its entries alone are below the limit",
    ),
    (
        "lock-per-key",
        "culprit",
        "the method that makes the entry is shown; the one that everybody calls stands above it",
    ),
    (
        "lock-per-key-rate64",
        "culprit",
        "the keys, which the caller makes, grow more steadily than the map and come first",
    ),
    (
        "trie-of-words",
        "culprit",
        "the recursive method that makes the nodes is shown; the one that starts it calls it",
    ),
    (
        "trie-of-words-rate64",
        "culprit",
        "the recursive method that makes the nodes is shown; the one that starts it calls it",
    ),
    (
        "unbounded-queue",
        "verdict",
        "every job of the queue is renewed within a third: that third is within noise at 512 KiB",
    ),
    (
        "unbounded-queue-bursty",
        "verdict",
        "every job of the queue is renewed within a third: that third is within noise at 512 KiB",
    ),
];

/// The same of patterns, which were written from public reports before they saw these captures.
pub const KNOWN_MISSES_OF_PATTERNS: &[(&str, &str, &str)] = &[
    (
        "big-buffers-in-slice",
        "pattern",
        "one large buffer a report looks like a retained one; it is a list that is never cut",
    ),
    (
        "compressor-per-connection",
        "culprit",
        "the writer that first writes to the compressor is shown; the server that keeps it calls it",
    ),
    (
        "compressor-per-connection-fixed",
        "named",
        "articles are read anew in place of the loaded ones: the sample shows 5.0 MiB more and 0.5 MiB less of them, and the heap grew by 33 KiB",
    ),
    (
        "document-slices-kept-fixed",
        "named",
        "articles are read anew in place of the loaded ones: as many came as went (3.5 MiB), which seven samples do not prove; the heap grew by 73 KiB",
    ),
    (
        "grpc-connection-per-call",
        "culprit",
        "the function that opens is shown; the one that calls it for each quote stands above",
    ),
    (
        "grpc-connection-per-call-v165",
        "culprit",
        "no frame of the program is on any stack that was sampled, nor did it start a goroutine",
    ),
    (
        "hot-rewatch-loop",
        "pattern",
        "no watch that it opened has ended, and stale-watchers tells that first",
    ),
    (
        "logger-values-accumulate",
        "verdict",
        "two copies of the text are alive in two of the eight snapshots: it falls in between",
    ),
    (
        "schema-cache",
        "verdict",
        "the first third, 2 MiB, is within noise at 512 KiB",
    ),
    (
        "spans-never-ended",
        "verdict",
        "the first and the last third have two samples each, and are within noise at 512 KiB",
    ),
    (
        "tls-transport-cache-v037",
        "suspect",
        "one snapshot cannot tell that the cache lets go",
    ),
    (
        "transport-per-call",
        "culprit",
        "the function that makes the client is shown; the one that drops it calls it",
    ),
    (
        "websocket-feeds-blocked-fixed",
        "named",
        "articles are read anew in place of the loaded ones: the sample shows 4.5 MiB more and 2.5 MiB less of them, and the heap grew by 61 KiB",
    ),
    (
        "whole-object-cache",
        "verdict",
        "the last third, 2.5 MiB of copies and their strings, is within noise at 512 KiB",
    ),
    (
        "workqueue-bookkeeping",
        "verdict",
        "the map of the failures grows in bumps",
    ),
];

/// All of them.
pub fn known_misses() -> impl Iterator<Item = &'static (&'static str, &'static str, &'static str)> {
    KNOWN_MISSES.iter().chain(KNOWN_MISSES_OF_PATTERNS)
}

/// What is wrong with a diagnosis: the kind and the words.
pub type Miss = (&'static str, String);

/// Kinds of miss that are settled one by one: each is listed or fails.
pub const KINDS: &[&str] = &[
    "verdict",
    "pattern",
    "culprit",
    "false alarm",
    "exit code",
    "named",
];

/// Misses against the list, both ways.
pub struct Ledger {
    kinds: &'static [&'static str],
    unlisted: Vec<String>,
    seen: BTreeSet<(String, &'static str)>,
}

impl Ledger {
    /// For misses of these kinds; the others of the list are some other test's.
    pub fn of(kinds: &'static [&'static str]) -> Self {
        Self {
            kinds,
            unlisted: Vec::new(),
            seen: BTreeSet::new(),
        }
    }

    pub fn note(&mut self, case: &Case, (kind, words): Miss) {
        assert!(self.kinds.contains(&kind), "{kind}");
        if is_listed(case, kind) {
            self.seen.insert((case.name.clone(), kind));
        } else {
            self.unlisted
                .push(format!("{}: {kind}: {words}", case.name));
        }
    }

    /// Notes a miss unless something holds.
    pub fn expect(&mut self, case: &Case, holds: bool, kind: &'static str, words: String) {
        if !holds {
            self.note(case, (kind, words));
        }
    }

    /// Fails on a miss that is not listed, and on a listed one that was not seen.
    pub fn settle(self) {
        // Cases of a half that is left out come neither right nor wrong.
        let is_judged = |name: &str| {
            std::env::var_os("HEAPDRIFT_HALF").is_none()
                || corpus().iter().any(|judged| judged.case.name == name)
        };
        let of_ours = known_misses().filter(|m| self.kinds.contains(&m.1) && is_judged(m.0));
        let came_right: Vec<_> = of_ours
            .filter(|(name, kind, _)| !self.seen.contains(&((*name).to_owned(), kind)))
            .map(|(name, kind, _)| format!("{name}: {kind}: came right, take it off the list"))
            .collect();
        let wrong = [self.unlisted, came_right].concat();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// Whether a case is known to be missed in this way.
pub fn is_listed(case: &Case, kind: &str) -> bool {
    known_misses().any(|(name, listed, _)| *name == case.name && *listed == kind)
}

/// What is wrong with the diagnosis of a case.
pub fn misjudged(judged: &Judged) -> Vec<Miss> {
    match judged.case.is_leak() {
        true => misread_leak(judged),
        false => [false_alarms(judged), misnamed(judged)].concat(),
    }
}

fn false_alarms(judged: &Judged) -> Vec<Miss> {
    let mut wrong: Vec<Miss> = Vec::new();
    let leaks = count(judged, |finding| finding["verdict"] == "leak");
    if leaks > 0 {
        wrong.push(("false alarm", format!("{leaks} findings are called a leak")));
    }
    if judged.code != Some(0) {
        wrong.push(("exit code", format!("{:?}", judged.code)));
    }
    let patterns = count(judged, |finding| !finding["pattern"].is_null());
    if patterns > 0 {
        wrong.push(("pattern", format!("{patterns} findings have a pattern")));
    }
    wrong
}

/// Findings of which something holds.
pub fn count(judged: &Judged, holds: impl Fn(&serde_json::Value) -> bool) -> usize {
    judged.findings().iter().filter(|f| holds(f)).count()
}

fn misread_leak(judged: &Judged) -> Vec<Miss> {
    let (case, first) = (&judged.case, judged.first());
    if first.is_null() {
        return vec![("verdict", "nothing found".to_owned())];
    }
    let mut wrong: Vec<Miss> = Vec::new();
    let is_leak = judged.is_called_a_leak() && first["verdict"] == "leak" && judged.code == Some(1);
    if !is_leak {
        let said = format!(
            "{}, first finding {}, exit code {:?}",
            judged.diagnosis["verdict"], first["verdict"], judged.code
        );
        wrong.push(("verdict", said));
    }
    if first["pattern"].as_str() != case.pattern.as_deref() {
        wrong.push(("pattern", first["pattern"].to_string()));
    }
    let culprit = &first["culprit"]["function"];
    if culprit.as_str() != case.culprit.as_deref() {
        wrong.push(("culprit", culprit.to_string()));
    }
    wrong
}
