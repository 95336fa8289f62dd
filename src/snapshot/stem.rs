//! Which files belong to one moment: those that share a stem.

/// Words that say what a file holds or how it is packed, not when it was taken.
const KIND_WORDS: &[&str] = &[
    "heap",
    "heaps",
    "inuse",
    "allocs",
    "goroutine",
    "goroutines",
    "goroutineleak",
    "memory",
    "memstats",
    "mem",
    "metrics",
    "prom",
    "cgroup",
    "stat",
    "debug1",
    "debug2",
    "pb",
    "gz",
    "zst",
    "zip",
    "txt",
    "text",
    "out",
    "prof",
    "pprof",
    "profile",
    "json",
    "log",
    "dump",
];

/// The part of a file name that names the moment: its words without those that name a kind
/// or a packing. `20261130T093000Z.heap.pb.gz` and `20261130T093000Z.goroutine.txt.gz` share
/// one, and so do `heap-03.out` and `goroutine-03.txt`.
pub fn stem_of(file_name: &str) -> String {
    let words: Vec<&str> = file_name
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .filter(|word| !KIND_WORDS.contains(&word.to_ascii_lowercase().as_str()))
        .collect();
    words.join("-")
}

/// Compares names as people count: `heap-9` before `heap-10`.
pub(super) fn natural_order(a: &str, b: &str) -> std::cmp::Ordering {
    let by_chunk = chunks(a).zip(chunks(b)).map(|(a, b)| {
        let number = |chunk: &str| chunk.parse::<u128>().ok();
        match (number(a), number(b)) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => a.cmp(b),
        }
    });
    let first_difference = by_chunk.into_iter().find(|order| order.is_ne());
    first_difference.unwrap_or_else(|| chunks(a).count().cmp(&chunks(b).count()).then(a.cmp(b)))
}

/// Runs of digits and runs of others.
fn chunks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_digit = rest.chars().next()?.is_ascii_digit();
        let end = rest
            .find(|c: char| c.is_ascii_digit() != is_digit)
            .unwrap_or(rest.len());
        let (chunk, tail) = rest.split_at(end);
        rest = tail;
        Some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_moment_share_a_stem() {
        for (a, b) in [
            (
                "20261130T093000Z.heap.pb.gz",
                "20261130T093000Z.goroutine.txt.gz",
            ),
            ("heap-03.out", "goroutine-03.txt"),
            ("api_heap_1.prof", "api_memstats_1.txt"),
            (
                "20261130T093000Z.heap.pb.gz",
                "20261130T093000Z.metrics.txt.gz",
            ),
            (
                "20261130T093000Z.memory.txt.gz",
                "20261130T093000Z.cgroup.txt.gz",
            ),
            ("heap-03.out", "memory-03.stat"),
        ] {
            assert_eq!(stem_of(a), stem_of(b));
        }
        assert_ne!(
            stem_of("dd_heap.before.pprof"),
            stem_of("dd_heap.after.pprof")
        );
        assert_ne!(stem_of("heap_1.prof"), stem_of("heap_2.prof"));
    }

    #[test]
    fn names_are_ordered_as_people_count() {
        let mut names = ["heap-10.pb.gz", "heap-9.pb.gz", "heap-1.pb.gz", "a2", "a"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(
            names,
            ["a", "a2", "heap-1.pb.gz", "heap-9.pb.gz", "heap-10.pb.gz"]
        );
    }
}
