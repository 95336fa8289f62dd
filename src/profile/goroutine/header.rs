//! The line that begins a goroutine of a dump.
//!
//! Grammar of Go 1.26 (`runtime/traceback.go`, `goroutineheader`), older ones being subsets:
//! `goroutine ID[ gp=… m=…] [status[ (leaked)][ (scan)][ (durable)][, N minutes][, locked to thread][, synctest bubble N][ labels:{…}]]:`

use crate::profile::legacy::text::{decimal, find};

const PREFIX: &[u8] = b"goroutine ";

/// What the line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header<'a> {
    /// The runtime's number; 0 is a thread's scheduler, not a goroutine.
    pub id: u64,
    /// `chan send`, `select (no cases)`, …
    pub state: &'a [u8],
    /// Whether the collector proved that it can never go on.
    pub is_leaked: bool,
    /// Whole minutes; 0 when the runtime says none.
    pub wait_minutes: u32,
}

/// Whether a line begins a dump, though it may be cut.
pub(in crate::profile) fn begins_dump(line: &[u8]) -> bool {
    split_id(line).is_some_and(|(_, rest)| find(rest, b" [").is_some())
}

/// Whether a last line without end may be the front of a header.
pub(super) fn is_front(line: &[u8]) -> bool {
    !line.is_empty() && (PREFIX.starts_with(line) || line.starts_with(PREFIX))
}

#[inline]
pub(super) fn parse(line: &[u8]) -> Option<Header<'_>> {
    let (id, rest) = split_id(line)?;
    let bracket = find(rest, b" [")?;
    let inner = rest[bracket + 2..].trim_ascii_end().strip_suffix(b"]:")?;
    // Labels are quoted text of the program; nothing behind them is the runtime's.
    let inner = match find(inner, b" labels:{") {
        Some(labels) => &inner[..labels],
        None => inner,
    };
    let (mut state, mut details) = split_detail(inner);
    let mut is_leaked = false;
    loop {
        if let Some(rest) = state.strip_suffix(b" (leaked)") {
            is_leaked = true;
            state = rest;
        } else if let Some(rest) = state
            .strip_suffix(b" (scan)")
            .or_else(|| state.strip_suffix(b" (durable)"))
        {
            state = rest;
        } else {
            break;
        }
    }
    let mut wait_minutes = 0;
    while let Some(rest) = details {
        let (detail, next) = split_detail(rest);
        if let Some((minutes, b" minutes")) = decimal(detail) {
            wait_minutes = u32::try_from(minutes).unwrap_or(u32::MAX);
        }
        details = next;
    }
    Some(Header {
        id,
        state,
        is_leaked,
        wait_minutes,
    })
}

fn split_id(line: &[u8]) -> Option<(u64, &[u8])> {
    decimal(line.strip_prefix(PREFIX)?)
}

fn split_detail(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    match find(text, b", ") {
        Some(comma) => (&text[..comma], Some(&text[comma + 2..])),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_the_header_is_read() {
        // id, state, leaked, minutes
        for (line, expected) in [
            ("goroutine 1 [running]:", Some((1, "running", false, 0))),
            (
                "goroutine 12 [chan receive, 5 minutes, locked to thread]:",
                Some((12, "chan receive", false, 5)),
            ),
            (
                "goroutine 30 [select (no cases), locked to thread]:",
                Some((30, "select (no cases)", false, 0)),
            ),
            (
                "goroutine 31 [chan receive (nil chan) (leaked)]:",
                Some((31, "chan receive (nil chan)", true, 0)),
            ),
            (
                "goroutine 3 [chan send (leaked) (scan), 7 minutes]:",
                Some((3, "chan send", true, 7)),
            ),
            (
                "goroutine 3 [select (durable), synctest bubble 9]:",
                Some((3, "select", false, 0)),
            ),
            (
                "goroutine 33 [sleep labels:{\"k\": \"v]:, 9 minutes\"}]:",
                Some((33, "sleep", false, 0)),
            ),
            (
                "goroutine 5 gp=0xc000007 m=0 mp=0x5a [IO wait, 4294967296 minutes]:",
                Some((5, "IO wait", false, u32::MAX)),
            ),
            (
                "goroutine 0 gp=0x5a m=0 mp=0x5a [idle]:",
                Some((0, "idle", false, 0)),
            ),
            (
                "goroutine 9 gp=0xc0000061c0 m=nil [force gc (idle), 5 minutes]:",
                Some((9, "force gc (idle)", false, 5)),
            ),
            (
                "goroutine 8 gp=0xc01 m=3 mp=0x5a [chan receive (leaked) (scan) (durable), 6 minutes, locked to thread, synctest bubble 3 labels:{\"a [b]:\": \"c (leaked), 9 minutes\", \"q\": \"\\\"\"}]:",
                Some((8, "chan receive", true, 6)),
            ),
            (
                "goroutine 8 [sync.WaitGroup.Wait labels:{\"handler\": \"/x [y]\"}]:",
                Some((8, "sync.WaitGroup.Wait", false, 0)),
            ),
            ("goroutine 7 []:", Some((7, "", false, 0))),
            ("goroutine 7 [running]: ", Some((7, "running", false, 0))),
            ("goroutine 7 [running]", None),
            ("goroutine 7 [runn", None),
            ("goroutine 7", None),
            ("goroutine x [running]:", None),
            ("goroutine running on other thread; stack unavailable", None),
        ] {
            let seen = parse(line.as_bytes()).map(|h| {
                let state = std::str::from_utf8(h.state).unwrap_or_default();
                (h.id, state, h.is_leaked, h.wait_minutes)
            });
            assert_eq!(seen, expected, "{line}");
        }
    }

    #[test]
    fn a_cut_header_still_begins_a_dump() {
        assert!(begins_dump(b"goroutine 7 [runn"));
        assert!(!begins_dump(b"goroutine profile: total 7"));
        assert!(is_front(b"gorou") && is_front(b"goroutine 7"));
        assert!(!is_front(b"") && !is_front(b"exit status 2"));
    }
}
