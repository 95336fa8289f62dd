//! A look-alike is to be told for what it is, not only left alone.

use crate::judged::Judged;
use crate::misses::Miss;

/// Whether a look-alike that is not named fails, or is counted and printed only.
pub const LOOK_ALIKES_MUST_BE_NAMED: bool = true;

/// One way in which a diagnosis names a look-alike.
#[derive(Debug)]
enum Name {
    /// The verdict of the whole.
    Verdict(&'static str),
    /// The verdict of a finding.
    Finding(&'static str),
    /// Memory that is said to be no leak.
    NotALeak(&'static str),
}
use Name::{Finding, NotALeak, Verdict};

/// What the diagnosis of each shape must hold: one of these.
const NAMES: &[(&str, &[Name])] = &[
    ("steady", &[Verdict("steady")]),
    ("plateau", &[Finding("plateauing")]),
    ("step", &[Finding("step")]),
    // Ten snapshots can happen to show one swing only.
    (
        "sawtooth",
        &[Finding("sawtooth"), NotALeak("sawtooth"), NotALeak("peak")],
    ),
    (
        "peak",
        &[
            Finding("sawtooth"),
            NotALeak("peak"),
            NotALeak("sawtooth"),
            NotALeak("peak-kept"),
        ],
    ),
    ("constant", &[NotALeak("constant-block")]),
    ("restart", &[NotALeak("restart")]),
    ("rebuild", &[NotALeak("rebuild")]),
    ("rate-change", &[NotALeak("rate-change")]),
    ("native", &[NotALeak("native-memory")]),
    ("released", &[NotALeak("released-pages")]),
    ("start-up-spike", &[NotALeak("start-up-spike")]),
    ("profiler", &[NotALeak("profiler-memory")]),
];

impl Name {
    fn is_given_by(&self, judged: &Judged) -> bool {
        match self {
            Verdict(word) => judged.diagnosis["verdict"] == *word,
            Finding(word) => judged.findings().iter().any(|f| f["verdict"] == *word),
            NotALeak(name) => judged.not_a_leak().any(|given| given == *name),
        }
    }
}

/// What is missing of the names that a look-alike must be given.
pub fn misnamed(judged: &Judged) -> Vec<Miss> {
    let case = &judged.case;
    let mut missing = Vec::new();
    if let Some(shape) = &case.shape {
        let known = NAMES.iter().find(|(known, _)| known == shape);
        let (_, names) = known.unwrap_or_else(|| panic!("{}: no name for {shape}", case.name));
        if !names.iter().any(|name| name.is_given_by(judged)) {
            missing.push(format!("{shape}: none of {names:?}"));
        }
    }
    for also in &case.also {
        if !judged.not_a_leak().any(|given| given == also) {
            missing.push(format!("{also} is not said besides"));
        }
    }
    match missing.is_empty() {
        true => Vec::new(),
        false => vec![("named", missing.join("; "))],
    }
}

/// All that a diagnosis calls what it found, for the table.
pub fn names_given(judged: &Judged) -> String {
    let verdicts = judged
        .findings()
        .iter()
        .filter_map(|f| f["verdict"].as_str());
    let mut names: Vec<&str> = verdicts.chain(judged.not_a_leak()).collect();
    names.sort_unstable();
    names.dedup();
    match names.is_empty() {
        true => "-".to_owned(),
        false => names.join(", "),
    }
}
