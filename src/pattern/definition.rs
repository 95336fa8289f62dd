//! What a pattern file holds.
//!
//! A file has three parts: the page that `explain` prints, the short texts of a finding, and
//! the conditions that the evidence must meet. All expressions match *canonical* function
//! names ([`crate::site::canonical_name`]), anywhere in the name unless anchored.

use crate::growth::Shape;
use crate::site::FrameClass;
use regex::Regex;
use serde::{Deserialize, Deserializer};

/// One pattern of the catalogue.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pattern {
    /// Lower-case words joined by `-`; equals the file's stem; reads as "allow `<name>`".
    pub name: String,
    /// One line that says what is wrong; the title of a finding.
    pub title: String,
    /// 0 to 100: of two patterns that match, the one with the higher figure wins.
    pub specificity: u8,
    /// Why memory grows, as a finding says it: a clause without a full stop.
    pub why: String,
    /// What to do, as a finding says it: a clause without a full stop.
    pub fix: String,
    /// Whether only growth can show it: then a single snapshot is never suspected of it.
    #[serde(default)]
    pub needs_growth: bool,
    /// The page.
    pub page: Page,
    /// Conditions on the heap; those that are required must all hold.
    #[serde(default)]
    pub heap: Vec<HeapCondition>,
    /// Conditions on the goroutines; those that are required must all hold.
    #[serde(default)]
    pub goroutines: Vec<GoroutineCondition>,
    /// Where the culprit comes from: the first rule that finds a frame wins; when none does,
    /// it is the frame that explains the growth best.
    #[serde(default)]
    pub culprit: Vec<CulpritRule>,
    /// Forms of the pattern that need another fix; the first whose conditions hold wins.
    #[serde(default)]
    pub variant: Vec<Variant>,
}

/// What `explain` prints. Paragraphs are separated by blank lines; lines indented by four
/// spaces are code.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// What happens in the program.
    pub what: String,
    /// Why memory grows.
    pub why: String,
    /// How to confirm it.
    pub confirm: String,
    /// How to fix it, with code before and after.
    pub fix: String,
    /// How it differs from what looks alike.
    pub lookalikes: String,
    /// Library versions in which it exists or was fixed, as sentences.
    #[serde(default)]
    pub versions: Vec<String>,
    /// Public reports as `owner/repo#number`, or titles of documents.
    #[serde(default)]
    pub references: Vec<String>,
    /// What the matchers were checked on.
    pub proof: Proof,
}

/// What a pattern's matchers were checked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// Captures of a real program on the real library, in `fixtures/corpus`.
    Captures,
    /// Frames quoted in public reports and the library's source.
    Reports,
}

/// A condition on the growth (or, in a single snapshot, on the bytes in use) of a finding.
///
/// It holds when the stacks that meet every frame and size rule make up at least
/// `min_share` of it, and the figures of the finding as a whole meet the rest.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeapCondition {
    /// For variants to refer to.
    pub id: String,
    /// Whether the pattern needs it; otherwise it only adds evidence.
    #[serde(default = "yes")]
    pub required: bool,
    /// Whether a single snapshot needs it; as `required` when not given.
    #[serde(default)]
    pub required_in_snapshot: Option<bool>,
    /// Of the pattern's conditions on the heap with this word one is enough, and one is needed.
    #[serde(default)]
    pub one_of: Option<String>,
    /// The allocation site: the leaf-most frame outside the runtime.
    #[serde(default)]
    pub site: Option<Expression>,
    /// Frames that stand on the stack in this order, leaf to root, with any others between.
    #[serde(default)]
    pub through: Vec<Expression>,
    /// A frame that must not stand on the stack.
    #[serde(default)]
    pub without: Option<Expression>,
    /// A frame of the program's own must stand on the stack.
    #[serde(default)]
    pub under_application: bool,
    /// Smallest and largest object size in bytes.
    #[serde(default)]
    pub object_size: Option<[u64; 2]>,
    /// Least share of the finding's growth that these stacks hold, 0 to 1.
    #[serde(default = "default_min_share")]
    pub min_share: f64,
    /// In a single snapshot: least share of the whole heap, 0 to 1.
    #[serde(default = "default_suspect_share")]
    pub suspect_share: f64,
    /// Least bytes allocated per byte of growth over the window.
    #[serde(default)]
    pub min_churn: Option<f64>,
    /// Largest bytes allocated per byte of growth over the window.
    #[serde(default)]
    pub max_churn: Option<f64>,
    /// Least share of what was allocated that stayed, 0 to 1: near 1, nothing is freed. Not
    /// checked in a single snapshot.
    #[serde(default)]
    pub min_retention: Option<f64>,
    /// Largest share of what was allocated that stayed. Not checked in a single snapshot.
    #[serde(default)]
    pub max_retention: Option<f64>,
    /// The kinds of growth that it can be; any when not given. Not checked in a single snapshot.
    #[serde(default)]
    pub shape: Vec<GrowthShape>,
    /// The condition holds when the stacks that meet the rules make up *less* than `min_share`
    /// (in a single snapshot: `suspect_share`).
    #[serde(default)]
    pub absent: bool,
    /// Whether stacks that meet the rules belong to the finding even where they did not grow
    /// significantly by themselves (their bytes are then part of its growth).
    #[serde(default)]
    pub gathers: bool,
    /// The evidence as a sentence; `{bytes}`, `{share}`, `{stacks}`, `{churn}` and `{retention}` are filled in.
    pub says: String,
}

impl HeapCondition {
    /// Whether the pattern needs this very one, in a series or in a single snapshot.
    pub fn is_required(&self, is_single: bool) -> bool {
        self.one_of.is_none() && is_required(self.required, self.required_in_snapshot, is_single)
    }
}

/// A kind of growth of the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GrowthShape {
    /// In every third of the window, or one container that is reallocated ever larger.
    Sustained,
    /// Too few points, or no steady slope: not decided.
    Open,
    /// It levels off.
    Plateauing,
    /// Nearly all within one interval.
    Step,
    /// Memory comes and goes.
    Sawtooth,
}

impl GrowthShape {
    /// Whether it is that shape.
    pub(super) fn is(self, shape: Shape) -> bool {
        let named = match shape {
            Shape::Sustained => Self::Sustained,
            Shape::Open => Self::Open,
            Shape::Plateauing => Self::Plateauing,
            Shape::Step => Self::Step,
            Shape::Sawtooth => Self::Sawtooth,
        };
        self == named
    }
}

/// A condition on the goroutines of the whole series.
///
/// It asks for a `frame`, a creator (`created_by`) or for whose code they are blocked in
/// (`blocked_in`), or for several of these at once.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoroutineCondition {
    /// For variants to refer to.
    pub id: String,
    /// Whether the pattern needs it; otherwise it only adds evidence.
    #[serde(default = "yes")]
    pub required: bool,
    /// Whether a single snapshot needs it, where growth cannot be asked for; as `required`
    /// when not given.
    #[serde(default)]
    pub required_in_snapshot: Option<bool>,
    /// Of the pattern's conditions on the goroutines with this word one is enough, and one is
    /// needed.
    #[serde(default)]
    pub one_of: Option<String>,
    /// A frame on the stack, or the frame that created the goroutine.
    #[serde(default)]
    pub frame: Option<Expression>,
    /// The frame that created the goroutine; not checked in forms that do not tell.
    #[serde(default)]
    pub created_by: Option<Expression>,
    /// Whose code they are blocked in: the class of the leaf-most frame that is neither of the
    /// runtime nor of the standard library.
    #[serde(default)]
    pub blocked_in: Vec<Owner>,
    /// No frame of the standard library stands leafward of that one: the code itself waits, and
    /// not a lock, a read or a sleep that it called.
    #[serde(default)]
    pub directly: bool,
    /// A frame leafward of `frame`.
    #[serde(default)]
    pub below: Option<Expression>,
    /// An application frame must stand leafward of `frame`: the goroutine is inside the
    /// program's own code that a library calls.
    #[serde(default)]
    pub inside_application: bool,
    /// A frame that must not stand on the stack.
    #[serde(default)]
    pub without: Option<Expression>,
    /// The state (`chan send`, `select`, …); not checked in forms that have none.
    #[serde(default)]
    pub state: Option<Expression>,
    /// Least minutes that the longest of them has waited, in the last snapshot; not checked in
    /// forms that have no waits.
    #[serde(default)]
    pub min_wait_minutes: Option<u32>,
    /// Only a dump (`debug=2`) can settle it, because the other forms have no states, waits and
    /// creators; without one it is unknown.
    #[serde(default)]
    pub needs_dump: bool,
    /// Goroutines of one stack and creator are judged by themselves: those that do not meet
    /// `min_count`, `min_wait_minutes` and `trend` alone do not count.
    #[serde(default)]
    pub one_stack: bool,
    /// Least number of different stacks that grow in step: in each snapshot as many goroutines of
    /// each, or the same whole multiple, within a tenth. That is how parts grow of one whole that
    /// is started again and again. Goroutines out of step do not count. One snapshot cannot show
    /// it.
    #[serde(default)]
    pub in_step: usize,
    /// How the number of these goroutines develops; not checked in a single snapshot.
    #[serde(default)]
    pub trend: Trend,
    /// Least number in the last snapshot.
    #[serde(default = "one")]
    pub min_count: u64,
    /// Least share of the snapshots in which there is one, 0 to 1.
    #[serde(default)]
    pub in_snapshots: f64,
    /// Groups (one expression each, as `frame`) that must have grown by as many as `frame`'s,
    /// within a tenth; in a single snapshot there must be as many.
    #[serde(default)]
    pub equal_growth: Vec<Expression>,
    /// Groups (one expression each, as `frame`) of which there must be as many as of `frame`'s in
    /// the last snapshot, within a tenth.
    #[serde(default)]
    pub equal_count: Vec<Expression>,
    /// The condition holds when no goroutine meets it.
    #[serde(default)]
    pub absent: bool,
    /// The evidence as a sentence; `{count}` (first and last), `{before}`, `{after}`, `{seen}`, `{snapshots}`, `{state}`, `{wait}` (minutes, the longest), `{standing}` (where most are blocked) and `{inside}` are filled in.
    pub says: String,
}

impl GoroutineCondition {
    /// Whether the pattern needs this very one, in a series or in a single snapshot.
    pub fn is_required(&self, is_single: bool) -> bool {
        self.one_of.is_none() && is_required(self.required, self.required_in_snapshot, is_single)
    }
}

fn is_required(in_series: bool, in_snapshot: Option<bool>, is_single: bool) -> bool {
    match in_snapshot {
        Some(required) if is_single => required,
        _ => in_series,
    }
}

/// Whose code goroutines are blocked in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// The program's own.
    Application,
    /// A library's that is not the standard one.
    Dependency,
}

impl Owner {
    /// Whether it is that class.
    pub(super) fn is(self, class: FrameClass) -> bool {
        match self {
            Self::Application => class == FrameClass::Application,
            Self::Dependency => class == FrameClass::Dependency,
        }
    }
}

/// How the number of goroutines develops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trend {
    /// Not asked.
    #[default]
    Any,
    /// It grew over the window and did not level off, jump just once or come back.
    Growing,
    /// It did not grow in every part of the window: the opposite of `growing`.
    Steady,
}

/// Where a culprit comes from.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "from", rename_all = "kebab-case", deny_unknown_fields)]
pub enum CulpritRule {
    /// The leaf-most frame of that name on the growing stacks.
    Frame {
        /// The frame.
        frame: Expression,
    },
    /// The first application frame rootward of that frame, on the finding's heap stacks, those
    /// that grew most first.
    HeapCaller {
        /// The library's frame.
        of: Expression,
        /// Only on stacks that grew: where several callers are to be expected, and one that holds
        /// what it held before has nothing to do with it.
        #[serde(default)]
        only_grown: bool,
    },
    /// The first application frame leafward of that frame, on goroutines' stacks.
    GoroutineInside {
        /// The library's frame.
        of: Expression,
    },
    /// The frame that created the goroutines that have that frame.
    GoroutineCreator {
        /// A frame of theirs.
        of: Expression,
    },
    /// Of the goroutines that meet the pattern's conditions: the application frame nearest to
    /// where they stand, their creator included.
    GoroutineStanding,
}

/// A form of a pattern that needs another fix.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Ids of conditions that hold.
    #[serde(default)]
    pub when: Vec<String>,
    /// Ids of conditions that do not hold.
    #[serde(default)]
    pub when_not: Vec<String>,
    /// Instead of the pattern's title.
    pub title: Option<String>,
    /// Instead of the pattern's why.
    pub why: Option<String>,
    /// Instead of the pattern's fix.
    pub fix: Option<String>,
}

/// A regular expression, compiled when the file is read, of bounded size.
#[derive(Debug, Clone)]
pub struct Expression(Regex);

/// Bounds a compiled expression, so that a pattern file cannot exhaust memory.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// How the message begins that says why an expression cannot be used.
pub(super) const EXPRESSION_PROBLEM: &str = "not a usable regular expression: ";

impl Expression {
    /// Whether it matches anywhere in `name`.
    pub fn is_match(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}

impl<'de> Deserialize<'de> for Expression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        regex::RegexBuilder::new(&text)
            .size_limit(MAX_COMPILED_BYTES)
            .build()
            .map(Self)
            .map_err(|error| serde::de::Error::custom(describe(&error)))
    }
}

/// Why an expression cannot be used, in one line.
fn describe(error: &regex::Error) -> String {
    let reason = match error {
        regex::Error::CompiledTooBig(limit) => {
            format!("compiled it takes more than {limit} bytes; use smaller repetitions")
        }
        // Several lines: the expression, a mark below the place, and `error: …`.
        _ => {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.trim_start_matches("error: ").to_owned()
        }
    };
    format!("{EXPRESSION_PROBLEM}{reason}")
}

fn yes() -> bool {
    true
}

fn one() -> u64 {
    1
}

fn default_min_share() -> f64 {
    0.5
}

fn default_suspect_share() -> f64 {
    0.1
}
