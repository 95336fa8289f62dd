//! Every case with what heapdrift says of it, worked out once for all tests.

use crate::support::{Case, cases, diagnose};
use serde_json::Value;
use std::sync::LazyLock;

/// A case and its diagnosis.
pub struct Judged {
    pub case: Case,
    pub diagnosis: Value,
    pub code: Option<i32>,
}

/// What a judge says of a case.
pub struct Call {
    /// Whether it calls the case a leak.
    pub is_leak: bool,
    /// Whom it blames, first things first.
    pub culprits: Vec<String>,
}

static CORPUS: LazyLock<Vec<Judged>> = LazyLock::new(|| {
    let judge = |case: Case| {
        let (diagnosis, code) = diagnose(&[&case.dir]);
        Judged {
            case,
            diagnosis,
            code,
        }
    };
    cases().into_iter().map(judge).collect()
});

/// The whole corpus, judged.
pub fn corpus() -> &'static [Judged] {
    &CORPUS
}

impl Judged {
    pub fn findings(&self) -> &[Value] {
        self.diagnosis["findings"].as_array().unwrap()
    }

    /// The worst finding; null without one.
    pub fn first(&self) -> &Value {
        &self.diagnosis["findings"][0]
    }

    pub fn is_called_a_leak(&self) -> bool {
        self.diagnosis["verdict"] == "leak"
    }

    /// What heapdrift says: the culprit of the first finding, then the callers that it names.
    pub fn call(&self) -> Call {
        let first = self.first();
        let callers = first["callers"].as_array().into_iter().flatten();
        let blamed = [&first["culprit"]["function"]].into_iter().chain(callers);
        Call {
            is_leak: self.is_called_a_leak(),
            culprits: blamed
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        }
    }

    /// Whether it is a leak that a report of its own series claims to see: the live heap grew, by
    /// the program's own figures, by twice the detection limit that is printed.
    ///
    /// A leak of goroutines may leave less than that on the heap. Their counts are exact and have no
    /// limit, so it is one when the program's own count is higher after every third of the window
    /// and twice as high in the end, or when the verdict rests on them.
    pub fn is_above_twice_the_limit(&self) -> bool {
        let series = &self.diagnosis["series"];
        let rate = (self.case.rate[0] + self.case.rate[1]) / 2.0;
        let window = series["window_seconds"].as_f64();
        let limit = series["detection_limit_bytes"].as_f64();
        let on_heap = window
            .zip(limit)
            .is_some_and(|(seconds, limit)| rate * seconds / 3600.0 >= 2.0 * limit);
        let rests_on_goroutines = self.first()["rests_on"]
            .as_array()
            .is_some_and(|parts| parts.iter().any(|part| part == "goroutines"));
        let in_goroutines = grew_throughout(&self.case.goroutines)
            || (self.is_called_a_leak() && rests_on_goroutines);
        self.case.is_leak() && (on_heap || in_goroutines)
    }

    /// Names of the memory that the diagnosis says is harmless.
    pub fn not_a_leak(&self) -> impl Iterator<Item = &str> {
        let entries = self.diagnosis["not_a_leak"]
            .as_array()
            .into_iter()
            .flatten();
        entries.filter_map(|entry| entry["name"].as_str())
    }
}

/// Whether counts are higher after every third, and twice as high in the end.
fn grew_throughout(counts: &[u64]) -> bool {
    let Some(last) = counts.len().checked_sub(1).filter(|last| *last >= 3) else {
        return false;
    };
    let marks = [0, last / 3, 2 * last / 3, last].map(|index| counts[index]);
    marks.is_sorted_by(|a, b| a < b) && marks[3] >= 2 * marks[0]
}

#[test]
fn goroutines_that_only_jitter_did_not_grow() {
    assert!(grew_throughout(&[10, 20, 30, 40]));
    assert!(!grew_throughout(&[100, 101, 102, 103]), "not twice as many");
    assert!(!grew_throughout(&[10, 90, 90, 90]), "one step");
    assert!(!grew_throughout(&[10, 20, 40]), "too few");
}
