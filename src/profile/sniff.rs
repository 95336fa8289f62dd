//! Recognises what a file is from its content, never from its name.
use super::ProfileError;

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
}

pub(super) fn recognise(_bytes: &[u8]) -> Result<Form, ProfileError> {
    todo!()
}
