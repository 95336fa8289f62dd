//! A page of metrics in Prometheus' text format, as client_golang serves it at `/metrics`.
//!
//! Knows the names of the Go and process collectors' memory figures, and a line's grammar:
//! `name{labels} value [timestamp]` (Prometheus, "Exposition formats"). Must not know other metrics.

use super::MemoryStats;

/// Values from here on are no size: `GOMEMLIMIT` and `GOGC` read 2⁶³ and more when they are off.
const NO_SIZE: f64 = 9_223_372_036_854_775_808.0;
/// Beginnings of the lines by which a page is recognised. A page may begin with any metric.
const MARKS: [&[u8]; 5] = [
    b"# HELP ",
    b"# TYPE ",
    b"go_memstats_",
    b"go_gc_",
    b"process_resident_memory_bytes",
];

/// Whether a line shows that the text is a page of metrics.
pub(in crate::profile) fn is_metrics(line: &[u8]) -> bool {
    MARKS.iter().any(|mark| line.starts_with(mark))
}

impl MemoryStats {
    /// Takes the figure of a line. `None`: there is none that we know, or its value is no size
    /// (NaN, infinite, negative). The first of several series of one name counts.
    pub(super) fn read_metric(&mut self, line: &[u8]) -> Option<()> {
        let (name, value) = split(std::str::from_utf8(line).ok()?)?;
        let bytes = match name {
            "go_memstats_heap_alloc_bytes" => &mut self.heap_alloc,
            "go_memstats_alloc_bytes_total" => &mut self.total_alloc,
            "go_memstats_sys_bytes" => &mut self.sys,
            "go_memstats_heap_sys_bytes" => &mut self.heap_sys,
            "go_memstats_heap_idle_bytes" => &mut self.heap_idle,
            "go_memstats_heap_inuse_bytes" => &mut self.heap_inuse,
            "go_memstats_heap_released_bytes" => &mut self.heap_released,
            "go_memstats_heap_objects" => &mut self.heap_objects,
            "go_memstats_stack_inuse_bytes" => &mut self.stack_inuse,
            "go_memstats_stack_sys_bytes" => &mut self.stack_sys,
            "go_memstats_mspan_sys_bytes" => &mut self.mspan_sys,
            "go_memstats_mcache_sys_bytes" => &mut self.mcache_sys,
            "go_memstats_buck_hash_sys_bytes" => &mut self.buck_hash_sys,
            "go_memstats_gc_sys_bytes" => &mut self.gc_sys,
            "go_memstats_other_sys_bytes" => &mut self.other_sys,
            "go_memstats_next_gc_bytes" => &mut self.next_gc,
            // A summary of pauses: one a cycle.
            "go_gc_duration_seconds_count" => &mut self.num_gc,
            "go_gc_cycles_forced_gc_cycles_total" => &mut self.num_forced_gc,
            "process_resident_memory_bytes" => &mut self.rss,
            "go_gc_gogc_percent" => &mut self.gogc_percent,
            "go_gc_gomemlimit_bytes" => &mut self.go_memory_limit,
            "go_memstats_last_gc_time_seconds" => {
                return take(&mut self.last_gc_nanos, nanos_of(value)?);
            }
            "process_start_time_seconds" => {
                return take(&mut self.start_time_nanos, nanos_of(value)?);
            }
            _ => return None,
        };
        take(bytes, whole(value)?)
    }
}

fn take<T>(figure: &mut Option<T>, value: T) -> Option<()> {
    figure.get_or_insert(value);
    Some(())
}

/// Name and value of a line; comments have none.
fn split(line: &str) -> Option<(&str, f64)> {
    if line.starts_with('#') {
        return None;
    }
    let end = line.find(|c: char| c == '{' || c.is_ascii_whitespace())?;
    let (name, rest) = line.split_at(end);
    // A label's value may hold anything, a brace too; no value or timestamp does.
    let rest = match rest.starts_with('{') {
        true => rest.rsplit_once('}')?.1,
        false => rest,
    };
    let value = rest.split_ascii_whitespace().next()?;
    Some((name, value.parse().ok()?))
}

/// A size or a count. `1.2345e+07` and the like are whole by nature.
fn whole(value: f64) -> Option<u64> {
    (0.0..NO_SIZE).contains(&value).then_some(value as u64)
}

/// Seconds since the epoch as nanoseconds; 0 means that it has not happened yet.
fn nanos_of(seconds: f64) -> Option<i64> {
    let nanos = seconds * 1e9;
    (nanos > 0.0 && nanos < NO_SIZE).then_some(nanos as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::memory::decode;
    use crate::profile::sniff::Form;
    use crate::profile::{ProfileError, ProfileFile};

    const PAGE: &str = "# HELP go_gc_duration_seconds A summary of the wall-time pause.\n\
        # TYPE go_gc_duration_seconds summary\n\
        go_gc_duration_seconds{quantile=\"0\"} 2.3e-05\n\
        go_gc_duration_seconds_sum 0.0123\n\
        go_gc_duration_seconds_count 184\n\
        go_gc_gogc_percent 400\n\
        go_gc_gomemlimit_bytes 9.223372036854776e+18\n\
        go_goroutines 7\n\
        go_info{version=\"go1.26.8\"} 1\n\
        go_memstats_alloc_bytes 1.2956416e+07\n\
        go_memstats_alloc_bytes_total 2.535173248e+09\n\
        go_memstats_buck_hash_sys_bytes 1.463116e+06\n\
        go_memstats_gc_sys_bytes 3.592448e+06\n\
        go_memstats_heap_alloc_bytes 1.2956416e+07\n\
        go_memstats_heap_idle_bytes 4.36224e+07\n\
        go_memstats_heap_inuse_bytes 1.8833408e+07\n\
        go_memstats_heap_objects 58428\n\
        go_memstats_heap_released_bytes 1.86368e+07\n\
        go_memstats_heap_sys_bytes 6.2455808e+07\n\
        go_memstats_last_gc_time_seconds 1.7960367221225543e+09\n\
        go_memstats_mcache_sys_bytes 16072\n\
        go_memstats_mspan_sys_bytes 734400\n\
        go_memstats_next_gc_bytes 5.866588e+07\n\
        go_memstats_other_sys_bytes 856388\n\
        go_memstats_stack_inuse_bytes 458752\n\
        go_memstats_stack_sys_bytes 458752\n\
        go_memstats_sys_bytes 6.9576984e+07\n\
        process_resident_memory_bytes 6.4897024e+07\n\
        process_start_time_seconds 1.79603659901e+09\n\
        process_virtual_memory_bytes 1.277636608e+09\n\
        promhttp_metric_handler_requests_total{code=\"200\"} 0\n";

    fn read(text: &str) -> MemoryStats {
        match decode(text.as_bytes(), Form::MetricsText) {
            Ok(ProfileFile::Memory(stats)) => *stats,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_figure_of_a_page_is_read() {
        let expected = MemoryStats {
            heap_alloc: Some(12_956_416),
            total_alloc: Some(2_535_173_248),
            sys: Some(69_576_984),
            heap_sys: Some(62_455_808),
            heap_idle: Some(43_622_400),
            heap_inuse: Some(18_833_408),
            heap_released: Some(18_636_800),
            heap_objects: Some(58_428),
            stack_inuse: Some(458_752),
            stack_sys: Some(458_752),
            mspan_sys: Some(734_400),
            mcache_sys: Some(16_072),
            buck_hash_sys: Some(1_463_116),
            gc_sys: Some(3_592_448),
            other_sys: Some(856_388),
            next_gc: Some(58_665_880),
            num_gc: Some(184),
            rss: Some(64_897_024),
            // 64,897,024 − (69,576,984 − 18,636,800)
            native: Some(13_956_840),
            gogc_percent: Some(400),
            ..MemoryStats::default()
        };
        let mut stats = read(PAGE);
        // Seconds in floating point are good to a microsecond.
        for (nanos, seconds) in [
            (stats.last_gc_nanos.take(), 1_796_036_722.122_554),
            (stats.start_time_nanos.take(), 1_796_036_599.01),
        ] {
            assert!(nanos.is_some_and(|nanos| (nanos as f64 / 1e9 - seconds).abs() < 1e-5));
        }
        assert_eq!(stats, expected);
    }

    #[test]
    fn labels_and_timestamps_are_passed_over() {
        let stats = read(
            "process_resident_memory_bytes{job=\"a } b\",instance=\"x:1\"} 1.5e+07 1790000000000\n\
             process_resident_memory_bytes{job=\"other\"} 7\n\
             go_memstats_sys_bytes\t2048\n",
        );
        let expected = MemoryStats {
            rss: Some(15_000_000),
            sys: Some(2048),
            ..MemoryStats::default()
        };
        assert_eq!(stats, expected);
    }

    #[test]
    fn what_is_no_size_is_left_out() {
        for value in [
            "NaN",
            "+Inf",
            "-Inf",
            "1e400",
            "-1",
            "-1e-9",
            "x",
            "",
            "1.8446744073709552e+19",
        ] {
            let text = format!("go_memstats_sys_bytes {value}\ngo_memstats_heap_objects 1\n");
            assert_eq!(read(&text).sys, None, "{value}");
            let text = format!("process_start_time_seconds {value}\ngo_memstats_heap_objects 1\n");
            assert_eq!(read(&text).start_time_nanos, None, "{value}");
        }
        assert_eq!(read("go_memstats_sys_bytes 0.0\n").sys, Some(0));
        assert_eq!(
            read("go_gc_duration_seconds_count 3\ngo_memstats_last_gc_time_seconds 0\n")
                .last_gc_nanos,
            None
        );
    }

    #[test]
    fn a_page_cut_anywhere_never_panics() {
        for end in 0..PAGE.len() {
            let _ = decode(&PAGE.as_bytes()[..end], Form::MetricsText);
        }
        assert!(matches!(
            decode(b"# HELP x y\nx 1\n\xff{ 1\n", Form::MetricsText),
            Err(ProfileError::Text { .. })
        ));
    }
}
