//! The first line of a heap text: which producer, which sampling.

use super::text::Cursor;

/// How the rows of a text are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Mean bytes between samples; 1 = every allocation is in the text, 0 = unknown.
    pub period: i64,
    /// Whether rows hold sampled counts that must be scaled up.
    pub is_sampled: bool,
    /// Whether the bracketed columns are allocations since the start, or repeat what is in use.
    pub has_alloc: bool,
    /// Go's own `heap/N`, which ends in the runtime's memory figures.
    pub is_go: bool,
    /// jemalloc's own form: addresses first, then one line per thread.
    pub is_jemalloc: bool,
}

/// Whether a line begins a heap text. It may still be damaged.
pub(in crate::profile) fn is_header(line: &[u8]) -> bool {
    line.starts_with(b"heap profile:") || line.starts_with(b"heap_v2/")
}

/// `heap profile: N: B [N: B] @ tail` or jemalloc's `heap_v2/N`.
pub(super) fn parse(line: &[u8]) -> Option<Header> {
    let mut cursor = Cursor::new(line);
    if cursor.eat(b"heap_v2/").is_some() {
        return Some(Header {
            period: positive(cursor.unsigned()?),
            is_sampled: true,
            // Known only from the totals in the next line.
            has_alloc: false,
            is_go: false,
            is_jemalloc: true,
        });
    }
    cursor.eat(b"heap profile:")?;
    let [objects, bytes, alloc_objects, alloc_bytes] = parse_values(&mut cursor)?;
    // The rule of pprof: equal (or zero) totals mean that the columns say nothing new.
    // Go's runtime counts one byte more where they would be equal by chance.
    let has_alloc = (alloc_objects != objects && alloc_objects != 0)
        || (alloc_bytes != bytes && alloc_bytes != 0);
    cursor.eat(b"@")?;
    let tail = cursor.rest.trim_ascii();
    let (name, period) = match tail.iter().position(|byte| *byte == b'/') {
        Some(slash) => (&tail[..slash], Cursor::new(&tail[slash + 1..]).unsigned()),
        None => (tail, None),
    };
    let period = positive(period.unwrap_or(0));
    let mut header = Header {
        period: 1,
        is_sampled: false,
        has_alloc,
        is_go: false,
        is_jemalloc: false,
    };
    match name {
        // Go writes twice its rate, because early C++ profilers did.
        b"heap" => {
            header.period = period / 2;
            header.is_sampled = true;
            header.is_go = true;
        }
        b"heap_v2" | b"heapz_v2" => {
            header.period = period;
            header.is_sampled = true;
        }
        b"heapprofile" => {}
        b"growthz" | b"fragmentationz" => header.has_alloc = false,
        _ => return None,
    }
    Some(header)
}

/// `n: b [n: b]` in the order of the text: in use, then allocated.
pub(super) fn parse_values(cursor: &mut Cursor) -> Option<[i64; 4]> {
    let objects = cursor.signed()?;
    cursor.eat(b":")?;
    let bytes = cursor.signed()?;
    cursor.eat(b"[")?;
    let alloc_objects = cursor.signed()?;
    cursor.eat(b":")?;
    let alloc_bytes = cursor.signed()?;
    cursor.eat(b"]")?;
    Some([objects, bytes, alloc_objects, alloc_bytes])
}

fn positive(period: u64) -> i64 {
    super::text::saturate(period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_decides_sampling_and_period() {
        // (period, is_sampled, has_alloc), from go-profiles' table and pprof's `parseHeapHeader`.
        for (line, expected) in [
            (
                "heap profile: 13: 1595680 [47130736: 2584596557304] @ heap/1048576",
                Some((524_288, true, true)),
            ),
            (
                "heap profile:    144:  8498176 [   144:  8498176] @ heapz_v2/524288",
                Some((524_288, true, false)),
            ),
            (
                "heap profile: 1: 2 [3: 4] @ heap_v2/524288",
                Some((524_288, true, true)),
            ),
            (
                "heap profile: 1: 2 [0: 0] @ heapprofile",
                Some((1, false, false)),
            ),
            (
                "heap profile: 1: 2 [1: 3] @ heapprofile",
                Some((1, false, true)),
            ),
            (
                "heap profile: 85: 178257920 [ 85: 178257921] @ growthz",
                Some((1, false, false)),
            ),
            (
                "heap profile: 1: 2 [3: 4] @ fragmentationz",
                Some((1, false, false)),
            ),
            (
                "heap profile: -1: -2 [3: 4] @ heap/0",
                Some((0, true, true)),
            ),
            (
                "heap profile: 1: 2 [3: 4] @ heap/99999999999999999999999",
                Some((i64::MAX / 2, true, true)),
            ),
            ("heap profile:1:2[3:4]@heap/2", Some((1, true, true))),
            ("heap_v2/524288", Some((524_288, true, false))),
            ("heap_v2/", None),
            ("heap profile: 1: 2 [3: 4] @ heapx/2", None),
            ("heap profile: 1: 2 [3: 4] @", None),
            ("heap profile: 1: 2 [3: 4", None),
            ("heap profile:", None),
        ] {
            let seen = parse(line.as_bytes()).map(|h| (h.period, h.is_sampled, h.has_alloc));
            assert_eq!(seen, expected, "{line}");
        }
    }
}
