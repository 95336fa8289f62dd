//! The kernel's account of a control group (version 2): `memory.stat`, and beside it
//! `memory.current` and `memory.max`.
//!
//! Knows these files' names and lines (Linux, Documentation/admin-guide/cgroup-v2.rst,
//! "Memory Interface Files"), put into one text in any of the ways that shells do it:
//! `anon 123`, `memory.current 123`, `memory.current:123` and `memory.stat:anon 123` (`grep . memory.*`),
//! a path before the name. Must not know who counts which part as used.

use super::MemoryStats;
use crate::profile::legacy::text::{decimal, saturate};

/// Limits from here on are none: version 1 writes "no limit" as the largest number of pages.
const NO_LIMIT: u64 = 1 << 62;

/// Whether a line shows that the text is of a control group.
pub(in crate::profile) fn is_cgroup(line: &[u8]) -> bool {
    // The names alone are ordinary words: the whole line has to fit.
    MemoryStats::default()
        .read_cgroup_line(line.trim_ascii())
        .is_some()
}

impl MemoryStats {
    /// Takes the figure of a line. `None`: there is none that we know.
    pub(super) fn read_cgroup_line(&mut self, line: &[u8]) -> Option<()> {
        let (name, value) = split(line)?;
        let figure = match name {
            b"anon" => &mut self.cgroup_anon,
            b"file" => &mut self.cgroup_file,
            b"inactive_file" => &mut self.cgroup_inactive_file,
            b"memory.current" => &mut self.cgroup_current,
            b"memory.max" => {
                let limit = match value {
                    b"max" => None,
                    digits => Some(whole(digits)?).filter(|limit| *limit < NO_LIMIT),
                };
                self.cgroup_limit = self.cgroup_limit.or(limit);
                return Some(());
            }
            _ => return None,
        };
        figure.get_or_insert(whole(value)?);
        Some(())
    }
}

/// Name (without the file or path before it) and value.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let is_between = |byte: &u8| matches!(byte, b' ' | b'\t' | b':' | b'=');
    let line = match line.windows(12).position(|part| part == b"memory.stat:") {
        Some(at) => &line[at + 12..],
        None => line,
    };
    let end = line.iter().position(is_between)?;
    let name = line[..end].rsplit(|byte| *byte == b'/').next()?;
    let begin = end + line[end..].iter().position(|byte| !is_between(byte))?;
    Some((name, line[begin..].trim_ascii()))
}

/// Decimal digits and nothing else.
fn whole(text: &[u8]) -> Option<u64> {
    let (value, rest) = decimal(text)?;
    rest.is_empty().then(|| saturate(value).unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::ProfileFile;
    use crate::profile::memory::decode;
    use crate::profile::sniff::Form;

    const FILES: &str = "memory.current 104857600\nmemory.max 268435456\nanon 73400320\n\
        file 20971520\nkernel 4194304\nslab 1048576\ninactive_anon 0\nactive_anon 73400320\n\
        inactive_file 16777216\nactive_file 4194304\npgfault 12345\n";

    fn read(text: &str) -> MemoryStats {
        match decode(text.as_bytes(), Form::CgroupText) {
            Ok(ProfileFile::Memory(stats)) => *stats,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_figure_is_read_however_it_was_put_together() {
        let expected = MemoryStats {
            cgroup_anon: Some(73_400_320),
            cgroup_file: Some(20_971_520),
            cgroup_inactive_file: Some(16_777_216),
            cgroup_current: Some(104_857_600),
            cgroup_limit: Some(268_435_456),
            ..MemoryStats::default()
        };
        assert_eq!(read(FILES), expected);
        for (from, to) in [
            ("memory.current ", "/sys/fs/cgroup/memory.current:"),
            ("memory.max ", "memory.max = "),
            ("\n", "\r\n"),
            ("\nanon ", "\nmemory.stat:anon "),
        ] {
            assert_eq!(read(&FILES.replace(from, to)), expected, "{to:?}");
        }
    }

    #[test]
    fn no_limit_is_none() {
        for text in ["max", "9223372036854771712", "99999999999999999999999"] {
            let stats = read(&format!("memory.max {text}\nanon 5\n"));
            assert_eq!(
                (stats.cgroup_limit, stats.cgroup_anon),
                (None, Some(5)),
                "{text}"
            );
        }
    }

    #[test]
    fn only_whole_lines_count() {
        for line in [
            "anon",
            "anon x",
            "anon -5",
            "anon 5 apples",
            "anonymous 5",
            "file not found",
            "memory.max",
            "",
            " ",
        ] {
            assert!(!is_cgroup(line.as_bytes()), "{line}");
        }
        assert!(is_cgroup(b"anon 5\r"));
        for end in 0..FILES.len() {
            let _ = decode(&FILES.as_bytes()[..end], Form::CgroupText);
        }
    }
}
