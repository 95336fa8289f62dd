//! What can be wrong with a profile's bytes, and what to do about it.

use super::Pasted;
use thiserror::Error;

/// A file that cannot be used. Each says what was seen; [`ProfileError::hint`] says what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProfileError {
    /// No bytes at all.
    #[error("the file is empty")]
    Empty,
    /// The compressed stream ends early or is damaged.
    #[error(
        "the {format} stream is damaged or cut short after {expanded} expanded bytes: {reason}"
    )]
    Compression {
        /// `gzip` or `zstd`.
        format: &'static str,
        /// How many bytes came out before the damage.
        expanded: usize,
        /// The library's words.
        reason: String,
    },
    /// More data than the limit allows.
    #[error("the file expands to more than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// A protobuf that is cut or contradicts itself.
    #[error("the pprof data is damaged or cut short: {0}")]
    Protobuf(String),
    /// Sums that no process can have: damaged, or made up.
    #[error("its {what} add up to more than any process can have")]
    Impossible {
        /// `bytes or objects`, `goroutines`.
        what: &'static str,
    },
    /// A text profile with a line that does not fit its grammar.
    #[error("line {line}: {reason}")]
    Text {
        /// 1-based.
        line: usize,
        /// What does not fit.
        reason: String,
    },
    /// A profile, but not of memory or goroutines.
    #[error("this is a {kind} profile, not a heap or goroutine profile")]
    OtherKind {
        /// `CPU`, `mutex`, `block`, `threadcreate`, or the sample types seen.
        kind: String,
    },
    /// Not a profile at all.
    #[error("this is {what}, not a profile")]
    NotAProfile {
        /// `an HTML page`, `a text file`, …
        what: &'static str,
    },
    /// The words of a server that had no profile to give.
    #[error("this is an error message, not a profile: {message}")]
    ErrorMessage {
        /// Its first line, shortened; untrusted text.
        message: String,
    },
    /// Text that looks like a report of `go tool pprof`, without a row.
    #[error(
        "this looks like a pasted `pprof top` (or `list`, `peek`, `tree`, `traces`, `raw`), but no row of it can be read"
    )]
    PastedEmpty,
    /// A report of `go tool pprof` that counts pieces.
    #[error("this is a pasted pprof report of {kind}, which counts and holds no bytes")]
    PastedCounts {
        /// `inuse_objects`, `goroutine`, …; untrusted text.
        kind: String,
    },
    /// A form that exists but is not supported.
    #[error("{what} is not supported")]
    Unsupported {
        /// The form.
        what: &'static str,
    },
}

impl ProfileError {
    /// One sentence on what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Empty => {
                "fetch it again; an empty body often means that the endpoint returned an error status"
            }
            Self::Compression { .. } | Self::Protobuf(_) | Self::Impossible { .. } => {
                "fetch the profile again and compare its size; a copy through a terminal or a cut connection damages it"
            }
            Self::TooLarge { .. } => "raise --max-size if you trust the file",
            Self::Text { .. } => "fetch the profile again; `curl -o FILE URL` keeps it as it is",
            Self::OtherKind { .. } => "fetch /debug/pprof/heap?gc=1 instead",
            Self::NotAProfile { .. } => {
                "heapdrift reads pprof heap profiles (/debug/pprof/heap?gc=1) and goroutine dumps (/debug/pprof/goroutine?debug=2)"
            }
            Self::ErrorMessage { .. } => {
                "check the URL and what answers there; `curl -f` makes such answers fail"
            }
            Self::PastedEmpty => {
                "paste it as text, with its header and all of its rows, or give the profile itself"
            }
            Self::PastedCounts { .. } => {
                "make it with `go tool pprof -sample_index=inuse_space`; of goroutines, paste /debug/pprof/goroutine?debug=2"
            }
            Self::Unsupported { .. } => "convert it to pprof's protobuf format first",
        }
    }
}

/// Something about a readable file that its user should know.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProfileWarning {
    /// The goroutine dump ends in the middle of a block.
    #[error(
        "the goroutine dump ends in the middle of a goroutine (the runtime cuts it at 64 MiB); counts are a lower limit"
    )]
    DumpCut,
    /// A text profile ends before its end.
    #[error("the text is cut short; its last sample may be incomplete and others missing")]
    TextCut,
    /// A grouped goroutine profile lists fewer goroutines than it announces.
    #[error("the text announces {told} goroutines and lists {listed}; it was cut short")]
    GoroutinesMissing {
        /// From its first line.
        told: u64,
        /// Sum over its groups.
        listed: u64,
    },
    /// The main goroutine appears more than once.
    #[error("the text holds {count} goroutine dumps; goroutines are counted once for each")]
    SeveralDumps {
        /// How often it appears.
        count: u64,
    },
    /// Samples refer to locations that the file does not define.
    #[error(
        "{count} samples refer to locations that the file does not define; their stacks are incomplete"
    )]
    DanglingLocations {
        /// Samples affected.
        count: u64,
    },
    /// A report in place of a profile.
    #[error("it is a pasted pprof report, not a profile: it shows {}", .pasted.shows())]
    Pasted {
        /// Which kind.
        pasted: Pasted,
    },
    /// What a pasted report leaves out.
    #[error("{}", left_out(*.nodes, *.bytes))]
    PastedCut {
        /// Functions dropped for being small, or beyond the number asked for.
        nodes: u64,
        /// Bytes allocated in them.
        bytes: i64,
    },
    /// No `Type:` line.
    #[error(
        "no `Type:` line says what the pasted figures are: they are taken as memory in use (inuse_space), which pprof shows by default; if they are alloc_space, they are of what was ever allocated and say nothing about a leak"
    )]
    AssumedInUse,
    /// A part of a paste that cannot be used, beside others that can.
    #[error("another part of the text is not used: {reason}")]
    PastedPart {
        /// Why.
        reason: String,
    },
    /// Lines of a text profile that were skipped.
    #[error("{count} lines were not understood and were skipped, the first is line {first}")]
    SkippedLines {
        /// How many.
        count: u64,
        /// 1-based number of the first.
        first: usize,
    },
}

impl Pasted {
    /// What such a report shows, and what it cannot.
    fn shows(self) -> &'static str {
        match self {
            Self::Totals => {
                "what functions hold, but not who calls them, object counts or sizes, nor how anything grows; figures have no error estimate"
            }
            Self::Callers => {
                "functions and their nearest callers, but not whole stacks, object counts or sizes, nor how anything grows; figures have no error estimate"
            }
            Self::Stacks => {
                "stacks with rounded bytes, but not object counts, nor how anything grows; figures have no error estimate"
            }
        }
    }
}

fn left_out(nodes: u64, bytes: i64) -> String {
    let cut = match nodes {
        0 => "the pasted report is a part of the heap".to_owned(),
        nodes => format!("the pasted report leaves {nodes} functions out"),
    };
    match bytes {
        0 => format!("{cut}, which hold nothing themselves"),
        bytes => {
            let mebibytes = bytes as f64 / 1_048_576.0;
            format!("{cut}: {mebibytes:.1} MiB belong to no function that is shown")
        }
    }
}
