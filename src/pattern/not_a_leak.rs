//! Pages about memory that is not a leak of the heap: what a diagnosis names besides its
//! findings. They are built in (`not_a_leak/<name>.toml`), match nothing, and are checked as
//! strictly as the patterns are.

use serde::Deserialize;

/// The files of `not_a_leak/`, by name.
pub(super) const BUILTIN: &[(&str, &str)] = &[
    (
        "alloc-not-inuse.toml",
        include_str!("not_a_leak/alloc-not-inuse.toml"),
    ),
    (
        "below-detection.toml",
        include_str!("not_a_leak/below-detection.toml"),
    ),
    (
        "child-process-growth.toml",
        include_str!("not_a_leak/child-process-growth.toml"),
    ),
    (
        "cluster-sized-cache.toml",
        include_str!("not_a_leak/cluster-sized-cache.toml"),
    ),
    (
        "constant-block.toml",
        include_str!("not_a_leak/constant-block.toml"),
    ),
    (
        "gc-headroom.toml",
        include_str!("not_a_leak/gc-headroom.toml"),
    ),
    ("idle-kept.toml", include_str!("not_a_leak/idle-kept.toml")),
    (
        "native-memory.toml",
        include_str!("not_a_leak/native-memory.toml"),
    ),
    (
        "page-cache.toml",
        include_str!("not_a_leak/page-cache.toml"),
    ),
    ("peak-kept.toml", include_str!("not_a_leak/peak-kept.toml")),
    ("peak.toml", include_str!("not_a_leak/peak.toml")),
    ("plateau.toml", include_str!("not_a_leak/plateau.toml")),
    (
        "profiler-memory.toml",
        include_str!("not_a_leak/profiler-memory.toml"),
    ),
    (
        "rate-change.toml",
        include_str!("not_a_leak/rate-change.toml"),
    ),
    ("rebuild.toml", include_str!("not_a_leak/rebuild.toml")),
    (
        "released-pages.toml",
        include_str!("not_a_leak/released-pages.toml"),
    ),
    ("replaced.toml", include_str!("not_a_leak/replaced.toml")),
    ("restart.toml", include_str!("not_a_leak/restart.toml")),
    ("sawtooth.toml", include_str!("not_a_leak/sawtooth.toml")),
    ("stacks.toml", include_str!("not_a_leak/stacks.toml")),
    (
        "start-up-spike.toml",
        include_str!("not_a_leak/start-up-spike.toml"),
    ),
    ("step.toml", include_str!("not_a_leak/step.toml")),
    (
        "unseen-growth.toml",
        include_str!("not_a_leak/unseen-growth.toml"),
    ),
];

/// A page about memory that is not a leak of the heap. Texts are as in [`super::Page`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotALeakPage {
    /// Lower-case words joined by `-`; equals the file's stem.
    pub name: String,
    /// Other words for it that lead to this page.
    #[serde(default)]
    pub also: Vec<String>,
    /// One line that says what it is.
    pub title: String,
    /// What it is, and why it is there.
    pub what: String,
    /// How to confirm that this is it.
    pub confirm: String,
    /// What to do about it, if anything.
    pub advice: String,
    /// When it is not as harmless as that.
    pub unless: String,
    /// Public reports as `owner/repo#number`.
    #[serde(default)]
    pub references: Vec<String>,
}

impl NotALeakPage {
    /// Whether it is called that.
    pub fn answers_to(&self, name: &str) -> bool {
        self.name == name || self.also.iter().any(|other| other == name)
    }
}
