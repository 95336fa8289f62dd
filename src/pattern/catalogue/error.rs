//! What can be wrong with a pattern file, where, and what to do about it.

use thiserror::Error;

/// What a share must be.
pub(super) const SHARE: &str = "from 0 to 1";

/// A pattern file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path}:{line}:{column}: {problem}")]
pub struct CatalogueError {
    /// The file, as whoever read it calls it.
    pub path: String,
    /// 1-based.
    pub line: usize,
    /// 1-based, in characters.
    pub column: usize,
    /// What is wrong.
    pub problem: CatalogueProblem,
}

impl CatalogueError {
    /// One sentence on what to do next.
    pub fn hint(&self) -> String {
        self.problem.hint()
    }
}

/// What is wrong with a pattern file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CatalogueProblem {
    /// Not TOML, a key that does not exist, one that is missing, or a value of another type.
    #[error("{0}")]
    Format(String),
    /// A regular expression that does not compile or is too large.
    #[error("{0}")]
    Expression(String),
    /// More text than a pattern can need.
    #[error("the file holds {bytes} bytes; a pattern may have {limit}")]
    TooLarge {
        /// Size of the file.
        bytes: usize,
        /// What is allowed.
        limit: usize,
    },
    /// A name with other characters than lower-case words joined by `-`.
    #[error("the name \"{name}\" is not lower-case words joined by \"-\"")]
    NameCharacters {
        /// The name.
        name: String,
    },
    /// A name that is not the file's.
    #[error("the pattern is called \"{name}\", but its file \"{stem}\"")]
    NameIsNotTheFiles {
        /// The name.
        name: String,
        /// The file's name without `.toml`.
        stem: String,
    },
    /// A name that another pattern has.
    #[error("there is a pattern \"{name}\" already, in {first}")]
    DuplicateName {
        /// The name.
        name: String,
        /// Where the other one comes from.
        first: String,
    },
    /// Two conditions of one id.
    #[error("two conditions have the id \"{id}\"")]
    DuplicateId {
        /// The id.
        id: String,
    },
    /// A variant that refers to a condition that is not there.
    #[error("no condition has the id \"{id}\"")]
    UnknownId {
        /// The id.
        id: String,
        /// The ids that there are.
        known: Vec<String>,
    },
    /// A number that is too small, too large or not a number.
    #[error("`{key}` is {value}, but must be {range}")]
    OutOfRange {
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
        /// What is allowed, in words.
        range: &'static str,
    },
    /// Neither a heap nor a goroutine condition.
    #[error("the pattern has no condition, so it would match everything")]
    NoCondition,
    /// Conditions, but none that must hold.
    #[error("none of the pattern's conditions is required, so it would match everything")]
    NoRequiredCondition,
    /// A heap condition that asks for nothing.
    #[error("the condition \"{id}\" asks for no frame and no size, so every stack meets it")]
    EmptyCondition {
        /// Its id.
        id: String,
    },
    /// A goroutine condition that asks for nothing.
    #[error("the condition \"{id}\" asks for no goroutine in particular, so all meet it")]
    EmptyGoroutineCondition {
        /// Its id.
        id: String,
    },
    /// A key that means nothing without another one.
    #[error("`{key}` says nothing without `{needs}`")]
    Alone {
        /// The key.
        key: &'static str,
        /// The one that it needs.
        needs: &'static str,
    },
    /// Two keys that exclude each other.
    #[error("`{key}` cannot stand beside `{with}`")]
    Contradiction {
        /// One of them.
        key: &'static str,
        /// The other.
        with: &'static str,
    },
    /// A placeholder that is not filled in.
    #[error("`says` has the placeholder {{{name}}}, which does not exist here")]
    UnknownPlaceholder {
        /// Its name.
        name: String,
        /// The ones that do.
        known: &'static [&'static str],
    },
    /// A brace that neither opens nor closes a placeholder.
    #[error("`says` has a brace that belongs to no placeholder")]
    LooseBrace,
    /// A text that must say something.
    #[error("`{key}` is empty")]
    EmptyText {
        /// The key.
        key: &'static str,
    },
}

impl CatalogueProblem {
    fn hint(&self) -> String {
        match self {
            Self::Format(_) => "the README's chapter on patterns of your own shows every key".into(),
            Self::Expression(_) => {
                "expressions are in RE2's syntax and match function names; write them in single quotes and escape dots, parentheses and stars: 'pkg\\.\\(\\*Type\\)\\.Method$'".into()
            }
            Self::TooLarge { .. } => "a pattern file holds one pattern; is this the right file?".into(),
            Self::NameCharacters { .. } => {
                "use a to z, 0 to 9 and single \"-\" between words, and begin with a letter, as in \"my-cache\"".into()
            }
            Self::NameIsNotTheFiles { name, .. } => {
                format!("rename the file to \"{name}.toml\", or change `name`")
            }
            Self::DuplicateName { .. } => {
                "choose another name; to hide findings of a pattern, put its name on the allow-list".into()
            }
            Self::DuplicateId { .. } => {
                "ids are shared by heap and goroutine conditions; give each its own".into()
            }
            Self::UnknownId { known, .. } => format!("the ids are: {}", known.join(", ")),
            Self::OutOfRange { range, .. } if *range == SHARE => {
                "a share is written as 0.5, not as 50".into()
            }
            Self::OutOfRange { key, range, .. } => format!("write a value for `{key}` that is {range}"),
            Self::NoCondition => "add a [[heap]] or a [[goroutines]] table".into(),
            Self::NoRequiredCondition => "take `required = false` away from one of them".into(),
            Self::EmptyCondition { .. } => "add `site`, `through` or `object_size`".into(),
            Self::EmptyGoroutineCondition { .. } => {
                "add `frame`, `created_by` or `blocked_in`".into()
            }
            Self::Alone { key, needs } => format!("add `{needs}`, or take `{key}` away"),
            Self::Contradiction { key, with } => format!("take `{key}` or `{with}` away"),
            Self::UnknownPlaceholder { known, .. } => {
                let names: Vec<String> = known.iter().map(|name| format!("{{{name}}}")).collect();
                format!("there are: {}", names.join(", "))
            }
            Self::LooseBrace => "braces are only for placeholders such as {bytes}".into(),
            Self::EmptyText { .. } => "write a sentence; it is what users read".into(),
        }
    }
}
