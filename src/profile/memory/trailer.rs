//! The runtime's own memory figures (`# runtime.MemStats` of `heap?debug=1`).
//!
//! Knows the trailer's lines; must not know the profile above them. A line that is not
//! understood is left alone: the runtime adds figures with every few releases.

use super::MemoryStats;
use crate::profile::legacy::text::{Cursor, saturate};

/// Whether a line belongs to a MemStats trailer that has lost its heap profile.
pub(in crate::profile) fn is_trailer(line: &[u8]) -> bool {
    line.starts_with(b"# runtime.MemStats")
        || line.starts_with(b"# HeapAlloc = ")
        || line.starts_with(b"# Alloc = ")
}

impl MemoryStats {
    /// Takes the figure of a line `# Name = 123`. `None`: there is none that we know.
    pub(in crate::profile) fn read_line(&mut self, line: &[u8]) -> Option<()> {
        let line = line.strip_prefix(b"#").unwrap_or(line).trim_ascii();
        let equals = line.iter().position(|byte| *byte == b'=')?;
        let mut value = Cursor::new(&line[equals + 1..]);
        let figure = match line[..equals].trim_ascii() {
            b"TotalAlloc" => &mut self.total_alloc,
            b"Sys" => &mut self.sys,
            b"HeapAlloc" => &mut self.heap_alloc,
            b"HeapSys" => &mut self.heap_sys,
            b"HeapIdle" => &mut self.heap_idle,
            b"HeapInuse" => &mut self.heap_inuse,
            b"HeapReleased" => &mut self.heap_released,
            b"HeapObjects" => &mut self.heap_objects,
            b"BuckHashSys" => &mut self.buck_hash_sys,
            b"GCSys" => &mut self.gc_sys,
            b"OtherSys" => &mut self.other_sys,
            b"NextGC" => &mut self.next_gc,
            b"NumGC" => &mut self.num_gc,
            b"NumForcedGC" => &mut self.num_forced_gc,
            b"MaxRSS" => &mut self.max_rss,
            // The same figure as HeapAlloc, in case that line is missing.
            b"Alloc" => {
                let alloc = figure_of(&mut value)?;
                self.heap_alloc.get_or_insert(alloc);
                return Some(());
            }
            // 0 = no cycle has ended yet.
            b"LastGC" => {
                let nanos = saturate(value.unsigned()?);
                self.last_gc_nanos = (nanos != 0).then_some(nanos);
                return Some(());
            }
            b"Stack" => {
                let (in_use, from_system) = pair(&mut value)?;
                self.stack_inuse = Some(in_use);
                self.stack_sys = Some(from_system);
                return Some(());
            }
            b"MSpan" => {
                self.mspan_sys = Some(pair(&mut value)?.1);
                return Some(());
            }
            b"MCache" => {
                self.mcache_sys = Some(pair(&mut value)?.1);
                return Some(());
            }
            _ => return None,
        };
        *figure = Some(figure_of(&mut value)?);
        Some(())
    }
}

/// A number, not so large that a sum of a few could overflow.
fn figure_of(value: &mut Cursor) -> Option<u64> {
    Some(saturate(value.unsigned()?).unsigned_abs())
}

/// `in use / obtained from the system`
fn pair(value: &mut Cursor) -> Option<(u64, u64)> {
    let in_use = figure_of(value)?;
    value.eat(b"/")?;
    Some((in_use, figure_of(value)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::memory::decode;
    use crate::profile::sniff::Form;
    use crate::profile::{ProfileError, ProfileFile};

    const TRAILER: &str = "\n# runtime.MemStats\n# Alloc = 10\n# TotalAlloc = 11\n# Sys = 12\n\
        # Lookups = 0\n# Mallocs = 13\n# Frees = 14\n# HeapAlloc = 15\n# HeapSys = 16\n\
        # HeapIdle = 17\n# HeapInuse = 18\n# HeapReleased = 19\n# HeapObjects = 20\n\
        # Stack = 21 / 22\n# MSpan = 23 / 24\n# MCache = 25 / 26\n# BuckHashSys = 27\n\
        # GCSys = 28\n# OtherSys = 29\n# NextGC = 30\n# LastGC = 1790000000000000000\n\
        # PauseNs = [1 2 3]\n# PauseEnd = [4 5 6]\n# NumGC = 31\n# NumForcedGC = 32\n\
        # GCCPUFraction = 0.25\n# DebugGC = false\n# MaxRSS = 33\n";

    fn read(text: &str) -> MemoryStats {
        match decode(text.as_bytes(), Form::MemStatsText) {
            Ok(ProfileFile::Memory(stats)) => *stats,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_figure_of_the_trailer_is_read() {
        let expected = MemoryStats {
            heap_alloc: Some(15),
            total_alloc: Some(11),
            sys: Some(12),
            heap_sys: Some(16),
            heap_idle: Some(17),
            heap_inuse: Some(18),
            heap_released: Some(19),
            heap_objects: Some(20),
            stack_inuse: Some(21),
            stack_sys: Some(22),
            mspan_sys: Some(24),
            mcache_sys: Some(26),
            buck_hash_sys: Some(27),
            gc_sys: Some(28),
            other_sys: Some(29),
            next_gc: Some(30),
            last_gc_nanos: Some(1_790_000_000_000_000_000),
            num_gc: Some(31),
            num_forced_gc: Some(32),
            max_rss: Some(33),
            ..MemoryStats::default()
        };
        assert_eq!(read(TRAILER), expected);
        assert_eq!(read(&TRAILER.replace('\n', "\r\n")), expected);
        assert_eq!(
            read(&TRAILER.replace("# ", "")),
            expected,
            "pasted without its marks"
        );
    }

    #[test]
    fn odd_figures_are_left_out_or_saturate() {
        let stats = read(
            "# Alloc = 99999999999999999999999\n# LastGC = 0\n# Stack = 7\n# Sys = x\n# =\n\
             # MaxRSS = -3\n# NumGC = 1e9",
        );
        let expected = MemoryStats {
            heap_alloc: Some(i64::MAX.unsigned_abs()),
            num_gc: Some(1),
            ..MemoryStats::default()
        };
        assert_eq!(stats, expected);
    }

    #[test]
    fn a_trailer_cut_anywhere_never_panics() {
        for end in 0..TRAILER.len() {
            let _ = decode(&TRAILER.as_bytes()[..end], Form::MemStatsText);
        }
        assert!(matches!(
            decode(b"# runtime.MemStats\n", Form::MemStatsText),
            Err(ProfileError::Text { .. })
        ));
    }
}
