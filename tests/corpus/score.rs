//! The score of a judge on a part of the corpus, as counts, as a row, and against the floors.

use crate::judged::{Call, Judged};

/// One judge's calls, counted.
#[derive(Default)]
pub struct Score {
    pub cases: usize,
    pub leaks: usize,
    /// Cases called a leak.
    pub called: usize,
    /// Of those, leaks.
    pub rightly: usize,
    /// Leaks above twice the detection limit, and how many of them are called one.
    pub above: usize,
    pub above_found: usize,
    /// Leaks whose labelled culprit is the first that is blamed, or among the first three.
    pub at_1: usize,
    pub at_3: usize,
}

impl Score {
    pub fn count(&mut self, judged: &Judged, call: &Call) {
        let case = &judged.case;
        self.cases += 1;
        self.leaks += usize::from(case.is_leak());
        self.called += usize::from(call.is_leak);
        self.rightly += usize::from(call.is_leak && case.is_leak());
        let is_above = judged.is_above_twice_the_limit();
        self.above += usize::from(is_above);
        self.above_found += usize::from(is_above && call.is_leak);
        let rank = call
            .culprits
            .iter()
            .position(|name| Some(name) == case.culprit.as_ref());
        if case.is_leak() {
            self.at_1 += usize::from(rank == Some(0));
            self.at_3 += usize::from(rank.is_some_and(|rank| rank < 3));
        }
    }

    pub fn look_alikes(&self) -> usize {
        self.cases - self.leaks
    }

    /// Look-alikes called a leak.
    pub fn false_alarms(&self) -> usize {
        self.called - self.rightly
    }

    pub fn header() -> String {
        format!(
            "{:23}{:>6}{:>6}{:>7}{:>8}{:>10}{:>7}{:>14}{:>9}{:>6}{:>13}",
            "",
            "cases",
            "leaks",
            "called",
            "rightly",
            "precision",
            "recall",
            "above limit",
            "culprit",
            "top 3",
            "false alarms"
        )
    }

    pub fn row(&self, judge: &str) -> String {
        let of = |part: usize, all: usize| format!("{part}/{all} {}", ratio(part, all));
        let above = of(self.above_found, self.above);
        let alarms = of(self.false_alarms(), self.look_alikes());
        format!(
            "{judge:23}{:>6}{:>6}{:>7}{:>8}{:>10}{:>7}{above:>14}{:>9}{:>6}{alarms:>13}",
            self.cases,
            self.leaks,
            self.called,
            self.rightly,
            ratio(self.rightly, self.called),
            ratio(self.rightly, self.leaks),
            ratio(self.at_1, self.leaks),
            ratio(self.at_3, self.leaks),
        )
    }

    /// The floors that this score is below (corpus.md). A share of nothing is below none.
    pub fn below_floors(&self) -> Vec<String> {
        let floors = [
            ("precision", self.rightly, self.called, 0.95),
            (
                "recall above twice the limit",
                self.above_found,
                self.above,
                0.92,
            ),
            ("culprit@1", self.at_1, self.leaks, 0.80),
            ("culprit@3", self.at_3, self.leaks, 0.95),
        ];
        floors
            .into_iter()
            .filter_map(|(what, part, of, floor)| below(what, part, of, floor))
            .collect()
    }
}

/// What to say of a share that is below its floor.
pub fn below(what: &str, part: usize, of: usize, floor: f64) -> Option<String> {
    let is_below = (part as f64) < floor * of as f64;
    is_below.then(|| format!("{what} is {part} of {of}, below {floor}"))
}

fn ratio(part: usize, of: usize) -> String {
    match of {
        0 => "-".to_owned(),
        of => format!("{:.2}", part as f64 / of as f64),
    }
}

/// Most 95 % intervals of `cases` that may miss the truth: more have a chance below 1 %, by the
/// binomial law with one miss in twenty.
pub fn most_interval_misses(cases: usize) -> usize {
    let (mut misses, mut chance) = (0, 0.95_f64.powi(cases as i32));
    let mut so_far = chance;
    while so_far < 0.99 && misses < cases {
        chance *= (cases - misses) as f64 / (misses + 1) as f64 * (0.05 / 0.95);
        misses += 1;
        so_far += chance;
    }
    misses
}

/// By hand: with 17, none to three miss with 0.418 + 0.374 + 0.158 + 0.041 = 0.991; with one, it
/// does one time in twenty, which is not below 1 %.
#[test]
fn interval_misses_are_bounded_by_the_binomial_law() {
    assert_eq!(most_interval_misses(17), 3);
    assert_eq!(most_interval_misses(1), 1);
    assert_eq!(most_interval_misses(0), 0);
}

#[test]
fn a_share_is_held_to_its_floor() {
    assert!(below("x", 19, 20, 0.95).is_none());
    assert!(below("x", 18, 20, 0.95).is_some());
    assert!(below("x", 0, 0, 0.95).is_none());
}
