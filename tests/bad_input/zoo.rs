//! Files that cannot be used, one of each kind.

use crate::harness::{HOSTILE, sound};
use crate::support::profiles::{HEAP_TYPES, Pprof, RATE, gzip, wire, zstd};
use pprof::protos::Message;

/// A file that cannot be used, and what must be said of it.
pub struct Bad {
    pub what: &'static str,
    pub bytes: Vec<u8>,
    pub code: i32,
    pub says: &'static str,
}

/// A table of such files: `CODE "what it is" (bytes) "what is said"`.
macro_rules! bad {
    ($($code:literal $what:literal ($bytes:expr) $says:literal)*) => {
        vec![$(Bad { what: $what, bytes: $bytes.to_vec(), code: $code, says: $says }),*]
    };
}

/// Exit code 2 (unreadable) and 3 (not comparable), when alone.
pub fn bad_files() -> Vec<Bad> {
    let of_claims = |(what, bytes)| Bad {
        what,
        bytes,
        code: 2,
        says: "",
    };
    let mut all = damaged();
    all.extend(others());
    all.extend(claims().into_iter().map(of_claims));
    all.extend(unsuitable());
    all
}

/// Heap profiles that are not whole.
fn damaged() -> Vec<Bad> {
    let raw = sound().raw();
    let packed = gzip(&raw);
    let cut = |bytes: &[u8], part: f64| bytes[..(bytes.len() as f64 * part) as usize].to_vec();
    let mut flipped = packed.clone();
    flipped[packed.len() / 2] ^= 0x55;
    let mut nameless = sound().message();
    nameless.string_table.truncate(6);
    let huge = sound().row("main.f", Some(16), &[i64::MAX; 4]);
    let crowd = "goroutine profile: total 1\n18446744073709551615 @ 0x1\n2 @ 0x2\n";
    bad! {
        2 "no bytes" (b"") "the file is empty"
        2 "a gzip of nothing" (gzip(b"")) "the file is empty"
        2 "blanks" (b" \r\n\n") "the file is empty"
        2 "the header of a gzip" (packed[..10]) "gzip stream is damaged or cut short"
        2 "half a gzip" (cut(&packed, 0.5)) "gzip stream is damaged or cut short"
        2 "a gzip less a byte" (packed[..packed.len() - 1]) "gzip stream is damaged or cut short"
        2 "a gzip with a wrong byte" (flipped) "gzip stream is damaged"
        2 "a gzip with a tail" ([&packed[..], b"tail"].concat()) "gzip stream is damaged"
        2 "half a zstd" (cut(&zstd(&raw), 0.5)) "zstd stream is damaged or cut short"
        2 "half a protobuf" (cut(&raw, 0.5)) "pprof data is damaged or cut short"
        2 "half a protobuf, packed" (gzip(&cut(&raw, 0.5))) "pprof data is damaged or cut short"
        2 "a protobuf cut between names" (nameless.encode_to_vec()) "string table ends after 6"
        2 "bytes beyond any memory" (huge.gzip()) "more than any process can have"
        2 "goroutines beyond any memory" (crowd.as_bytes()) "more than any process can have"
    }
}

/// Files of another kind.
fn others() -> Vec<Bad> {
    let of = |types: &[(&str, &str)], clock: &str| {
        Pprof::of_types(types, (clock, types[0].1), 1)
            .with(|p| p.duration_nanos = 30_000_000_000)
            .row("main.spin < main.main", None, &vec![7; types.len()])
            .gzip()
    };
    let cpu = of(&[("samples", "count"), ("cpu", "nanoseconds")], "cpu");
    let contentions = [("contentions", "count"), ("delay", "nanoseconds")];
    let contentions = of(&contentions, "contentions");
    let threads = of(&[("threadcreate", "count")], "threadcreate");
    let kindless = of(&[("", "")], "");
    let hostile_kind = of(&[(HOSTILE, HOSTILE)], HOSTILE);
    let thread_text = b"threadcreate profile: total 6\n6 @ 0x1\n";
    let page = b"<!DOCTYPE html>\n<html><body><h1>502 Bad Gateway</h1></body></html>\n";
    let pasted = b"Showing nodes accounting for 1MB, 9% of 2MB total\n flat  flat%   sum%\n";
    let top = |kind: &str, value: &str| {
        format!(
            "Type: {kind}\nShowing nodes accounting for {value}, 90% of {value} total\n\
             flat  flat%   sum%        cum   cum%\n{value} 90% 90% {value} 90%  main.f\n"
        )
        .into_bytes()
    };
    let cpu_top = top("cpu", "1.20s");
    let objects_top = top("inuse_objects", "120");
    let hostile_top = top(&HOSTILE.replace(['\r', '\n', '\x07'], " "), "1MB");
    let hostile_text = "error: \x1b[2J\x1b]52;c;cm0\u{202e}gnp\u{9b}31m".as_bytes();
    bad! {
        2 "a CPU profile" (cpu) "this is a CPU profile"
        2 "a mutex profile" (contentions) "this is a mutex or block profile"
        2 "a threadcreate profile" (threads) "this is a threadcreate profile"
        2 "a profile of no kind" (kindless) "not a heap or goroutine profile"
        2 "a profile of a hostile kind" (hostile_kind) "not a heap or goroutine profile"
        2 "a mutex text" (b"--- mutex:\ncycles/second=1\n") "this is a mutex profile"
        2 "a block text" (b"--- contention:\ncycles/second=1\n") "this is a block profile"
        2 "a threadcreate text" (thread_text) "this is a threadcreate profile"
        2 "an execution trace" (b"go 1.26 trace\0\0\0") "execution trace"
        2 "an HTML page" (page) "an HTML or XML page"
        2 "a packed HTML page" (gzip(page)) "an HTML or XML page"
        2 "a 404" (b"404 page not found\n") "error message, not a profile: 404 page"
        2 "a hostile error message" (hostile_text) "error message, not a profile: error"
        2 "a text" (b"Dear diary, memory grew again.\n") "a text file"
        2 "a JSON text" (b"{\"memstats\": 1}") "a JSON text"
        2 "a pasted top without rows" (pasted) "`pprof top`"
        2 "a pasted top of CPU" (cpu_top) "this is a CPU profile"
        2 "a pasted top of objects" (objects_top) "report of inuse_objects"
        2 "a pasted top of a hostile kind" (hostile_top) "not a heap or goroutine profile"
        2 "a program" (b"\x7fELF\x02\x01\x01\0\0\0") "an ELF program"
        2 "any bytes" (b"\x00\x01\x02\x03\xff".repeat(40)) "a binary file"
        2 "a gzip in a gzip" (gzip(&sound().gzip())) "gzip file inside"
    }
}

/// Heap profiles that are no snapshot of a heap.
pub fn unsuitable() -> Vec<Bad> {
    let delta = sound().with(|p| p.duration_nanos = 30_000_000_000);
    let negative = sound().row("main.freed", Some(16), &[0, 0, -1, -16]);
    let saved = sound().label("pprof::base", "true");
    let merged = Pprof::of_types(&HEAP_TYPES[3..], ("space", "bytes"), RATE)
        .with(|p| p.duration_nanos = 600_000_000_000)
        .row("main.f", None, &[1 << 20]);
    let off = Pprof::heap(0).with(|p| p.period = 0);
    let allocated = Pprof::of_types(&HEAP_TYPES[..2], ("space", "bytes"), RATE);
    let allocated = allocated.row("main.f", Some(16), &[100, 1600]);
    let pasted = |front: &str, value: &str| {
        format!("{front}\nShowing nodes accounting for 4MB, 90% of 5MB total\nflat  flat%   sum%        cum   cum%\n{value} 90% 90% {value} 90%  main.f\n").into_bytes()
    };
    let pasted_alloc = pasted("Type: alloc_space", "4MB");
    let pasted_diff = pasted("Type: inuse_space", "-4MB");
    bad! {
        3 "a pasted top of allocations" (pasted_alloc) "ever allocated (alloc_space)"
        3 "a pasted top of a diff" (pasted_diff) "a saved diff"
        3 "a delta" (delta.gzip()) "a delta profile over 30 s"
        3 "a delta without duration" (negative.gzip()) "a delta profile"
        3 "a saved diff" (saved.gzip()) "a saved diff"
        3 "a merged window" (merged.gzip()) "a window of 600 s merged"
        3 "profiling off" (off.gzip()) "profiling is switched off"
        3 "allocations only" (allocated.gzip()) "ever allocated (alloc_objects, alloc_space)"
    }
}

/// Protobufs that claim far more than they hold, or whose integers do not end.
pub fn claims() -> Vec<(&'static str, Vec<u8>)> {
    macro_rules! claims {
        ($($what:literal ($bytes:expr))*) => { vec![$(($what, $bytes)),*] };
    }
    let claim = |field, content: &[u8]| wire::claim(field, 1_000_000_000, content);
    // The rest of a sound profile goes before and after, as a careful liar would have it.
    let around = |lie: &[u8]| [&sound().raw(), lie, &sound().raw()].concat();
    let sample = |lie: &[u8]| around(&wire::bytes(2, &[&wire::bytes(2, &[1; 4]), lie].concat()));
    let endless = |tag: &[u8]| [tag, &[0xff; 11]].concat();
    claims! {
        "a sample of a billion bytes" (around(&claim(2, b"\x08\x01")))
        "a billion packed locations" (sample(&claim(1, &[1; 64])))
        "a billion packed values" (around(&wire::bytes(2, &claim(2, &[1; 64]))))
        "a label of a billion bytes" (sample(&claim(3, b"\x08\x01")))
        "a name of a billion bytes" (around(&claim(6, b"main.f")))
        "a name of 2^64 bytes" (around(&wire::claim(6, u64::MAX, b"main.f")))
        "a location of a billion bytes" (around(&claim(4, b"\x08\x01")))
        "a line of a billion bytes" (around(&wire::bytes(4, &claim(4, b"\x08\x01"))))
        "a mapping of a billion bytes" (around(&claim(3, b"\x08\x01")))
        "a function of a billion bytes" (around(&claim(5, b"\x08\x01")))
        "an unknown field of a billion bytes" (around(&claim(100, b"\x08\x01")))
        "a billion names at once" (claim(6, b"x"))
        "an endless tag" (around(&endless(b"")))
        "an endless length" (around(&endless(b"\x12")))
        "an endless time" (around(&endless(b"\x48")))
        "an endless location id" (sample(&wire::bytes(1, &endless(b""))))
        "an endless value" (around(&wire::bytes(2, &wire::bytes(2, &endless(b"")))))
        "an endless label" (sample(&wire::bytes(3, &endless(b"\x18"))))
        "a group" (around(&[2 << 3 | 3, 2 << 3 | 4]))
        "a cut fixed field" ([&sound().raw()[..], &wire::varint(100 << 3 | 1), b"\0"].concat())
        "field number 0" (around(&[0, 0]))
        "stacks without end" (frame_bomb())
    }
}

/// Two kilobytes, packed, whose stacks would take ten gigabytes.
fn frame_bomb() -> Vec<u8> {
    let mut profile = sound().message();
    let location = &mut profile.location[0];
    location.line = vec![location.line[0].clone(); 100_000];
    profile.sample[0].location_id = vec![location.id; 100_000];
    gzip(&profile.encode_to_vec())
}
