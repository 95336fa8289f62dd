//! Recognises what a file is from its content, never from its name.
//!
//! Knows what each form begins with, and the files that people hand in by mistake, so that an
//! error can say what was seen. It must not decode.

use super::legacy::text::Lines;
use super::{ProfileError, goroutine, legacy, memory, pasted};

mod binary;
mod text;

/// The forms that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `profile.proto`, heap or goroutine.
    PprofProto,
    /// `heap profile: …` (Go `debug=1`, gperftools) or jemalloc's `heap_v2/…`.
    HeapText,
    /// `goroutine profile: total N`.
    GoroutineText,
    /// `goroutine 1 [running]: …`.
    GoroutineDump,
    /// A bare `# runtime.MemStats` trailer.
    MemStatsText,
    /// A `/metrics` page in Prometheus' text format.
    MetricsText,
    /// `memory.stat`, `memory.current` and `memory.max` of a control group.
    CgroupText,
    /// The `memory.json` of a capture store.
    MemoryJson,
    /// Reports of `go tool pprof`, or texts of the runtime among other text.
    Pasted,
}

pub(super) fn recognise(bytes: &[u8]) -> Result<Form, ProfileError> {
    if bytes.trim_ascii().is_empty() {
        return Err(ProfileError::Empty);
    }
    if !is_text(bytes) {
        return binary::recognise(bytes);
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if text.trim_ascii_start().starts_with(b"<") {
        return Err(ProfileError::NotAProfile {
            what: "an HTML or XML page",
        });
    }
    if memory::is_memory_json(text) {
        return Ok(Form::MemoryJson);
    }
    if pasted::has_report(text) {
        return Ok(Form::Pasted);
    }
    if let Some(decided) = recognise_first_line(text) {
        return decided;
    }
    // A dump may come after any number of log lines.
    for line in Lines::new(text) {
        if goroutine::begins_dump(line.bytes) {
            return Ok(Form::GoroutineDump);
        }
        if memory::is_trailer(line.bytes) {
            return Ok(Form::MemStatsText);
        }
        if memory::is_metrics(line.bytes) {
            return Ok(Form::MetricsText);
        }
        if memory::is_cgroup(line.bytes) {
            return Ok(Form::CgroupText);
        }
    }
    if pasted::has_runtime_text(text) {
        return Ok(Form::Pasted);
    }
    Err(text::explain(text))
}

/// Decides by the first line that is not blank and not a comment.
fn recognise_first_line(text: &[u8]) -> Option<Result<Form, ProfileError>> {
    let line = Lines::new(text)
        .map(|line| line.bytes.trim_ascii())
        .find(|line| !line.is_empty() && line[0] != b'#')?;
    if legacy::is_header(line) {
        return Some(Ok(Form::HeapText));
    }
    if let Some(name) = goroutine::profile_name(line) {
        return Some(match name {
            b"goroutine" | b"goroutineleak" => Ok(Form::GoroutineText),
            other => Err(other_kind(&String::from_utf8_lossy(other))),
        });
    }
    let other = [
        (&b"--- mutex:"[..], "mutex"),
        (b"--- contentionz ", "contention"),
        (b"--- contention:", "block"),
        (b"--- threadz ", "thread"),
        (b"--- Thread ", "thread"),
    ];
    for (front, kind) in other {
        if line.starts_with(front) {
            return Some(Err(other_kind(kind)));
        }
    }
    if line.starts_with(b"--- heapz ") {
        return Some(Err(ProfileError::Unsupported {
            what: "a Java heapz text",
        }));
    }
    None
}

fn other_kind(kind: &str) -> ProfileError {
    ProfileError::OtherKind {
        kind: kind.to_owned(),
    }
}

/// Whether the front of the file has no control bytes that text does not use. (A protobuf shows
/// some in its first field, and the first line of a heap text none.)
fn is_text(bytes: &[u8]) -> bool {
    const FRONT: usize = 1024;
    let front = &bytes[..bytes.len().min(FRONT)];
    let is_marked_utf16 = front.starts_with(b"\xff\xfe") || front.starts_with(b"\xfe\xff");
    !is_marked_utf16
        && front
            .iter()
            .all(|byte| *byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b))
}

#[cfg(test)]
mod tests;
