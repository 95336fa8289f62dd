//! What a file's name promises: whether to speak of it when it turns out to be no profile.

use std::path::Path;

/// Endings of documents and code that lie beside captures.
const DOCUMENT_ENDINGS: &[&str] = &[
    "md", "json", "jsonl", "toml", "yaml", "yml", "html", "svg", "png", "pdf", "csv", "go", "mod",
    "sum", "sh", "rs", "py", "exe", "so", "zip", "tar", "tgz",
];

/// Words in the names that people and tools give to profiles.
const PROFILE_WORDS: &[&str] = &[
    "heap",
    "heaps",
    "inuse",
    "alloc",
    "allocs",
    "goroutine",
    "goroutines",
    "goroutineleak",
    "memstats",
    "memory",
    "metrics",
    "cgroup",
    "pprof",
    "prof",
    "profile",
    "pb",
];

/// Whether the name looks like a profile's: such a file is reported when it cannot be read,
/// any other is passed over.
pub(super) fn looks_like_profile(path: &Path) -> bool {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .to_ascii_lowercase();
    let mut words = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|w| !w.is_empty());
    let is_document = words
        .clone()
        .next_back()
        .is_some_and(|word| DOCUMENT_ENDINGS.contains(&word));
    !is_document
        && words.any(|word| {
            let word = word.trim_matches(|c: char| c.is_ascii_digit());
            PROFILE_WORDS.contains(&word)
        })
}

/// Whether the file is hidden (or half-written, as many tools name it).
pub(super) fn is_hidden(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_profiles_are_known() {
        for name in [
            "20261130T093000Z.heap.pb.gz",
            "heap1",
            "heap-03.out",
            "goroutine.txt",
            "x.pprof",
            "pprof.api.alloc_objects.001.pb.gz",
            "mem.prof",
            "HEAP.TXT",
            "1.memory.txt.gz",
            "1.metrics.txt.gz",
            "1.cgroup.txt.gz",
        ] {
            assert!(looks_like_profile(Path::new(name)), "{name}");
        }
        for name in [
            "case.toml",
            "README.md",
            "heap.md",
            "target.json",
            "run.log",
            "notes.txt",
            "main.go",
            "heapdrift",
            "core.1234",
            "profiles.tar",
        ] {
            assert!(!looks_like_profile(Path::new(name)), "{name}");
        }
        assert!(is_hidden(Path::new("a/.heap.pb.gz.tmp")) && !is_hidden(Path::new("./a")));
    }
}
