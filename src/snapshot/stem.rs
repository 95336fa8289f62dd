//! Which files belong to one moment: those that share a stem.

/// Words that say what a file holds or how it is packed, not when it was taken.
const KIND_WORDS: &[&str] = &[
    "heap", "heaps", "inuse", "allocs", "goroutine", "goroutines", "memory", "memstats", "mem",
    "debug1", "debug2", "pb", "gz", "zst", "zip", "txt", "text", "out", "prof", "pprof", "profile",
    "json", "log", "dump",
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
    let parts = |text: &str| -> Vec<(u128, String)> {
        let mut parts = Vec::new();
        let mut word = String::new();
        let mut digits = String::new();
        for c in text.chars().chain(std::iter::once('\0')) {
            if c.is_ascii_digit() {
                digits.push(c);
                continue;
            }
            if !digits.is_empty() {
                let number = digits.parse().unwrap_or(u128::MAX);
                parts.push((number, std::mem::take(&mut word)));
                digits.clear();
            }
            word.push(c);
        }
        parts.push((0, word));
        parts
    };
    let (a_parts, b_parts) = (parts(a), parts(b));
    for ((a_number, a_word), (b_number, b_word)) in a_parts.iter().zip(&b_parts) {
        let order = a_word.cmp(b_word).then(a_number.cmp(b_number));
        if order.is_ne() {
            return order;
        }
    }
    a_parts.len().cmp(&b_parts.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_moment_share_a_stem() {
        for (a, b) in [
            ("20261130T093000Z.heap.pb.gz", "20261130T093000Z.goroutine.txt.gz"),
            ("heap-03.out", "goroutine-03.txt"),
            ("api_heap_1.prof", "api_memstats_1.txt"),
        ] {
            assert_eq!(stem_of(a), stem_of(b));
        }
        assert_ne!(stem_of("dd_heap.before.pprof"), stem_of("dd_heap.after.pprof"));
        assert_ne!(stem_of("heap_1.prof"), stem_of("heap_2.prof"));
    }

    #[test]
    fn names_are_ordered_as_people_count() {
        let mut names = ["heap-10.pb.gz", "heap-9.pb.gz", "heap-1.pb.gz", "a2", "a"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(names, ["a", "a2", "heap-1.pb.gz", "heap-9.pb.gz", "heap-10.pb.gz"]);
    }
}
