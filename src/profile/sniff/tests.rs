use super::*;

fn check(bytes: &[u8], expected: Result<Form, &str>) {
    let seen = recognise(bytes).map_err(|error| error.to_string());
    let front = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
    match (&seen, expected) {
        (Ok(form), Ok(expected)) => assert_eq!(*form, expected, "{front:?}"),
        (Err(message), Err(part)) => assert!(message.contains(part), "{front:?}: {message}"),
        _ => panic!("{front:?}: {seen:?} instead of {expected:?}"),
    }
}

#[test]
fn text_forms_are_recognised() {
    for (text, form) in [
        ("heap profile: 1: 2 [3: 4] @ heap/1048576\n", Form::HeapText),
        (
            "\u{feff}\r\n\n# comment\nheap profile:    1:  2 [ 3: 4] @ growthz\r\n",
            Form::HeapText,
        ),
        ("heap_v2/524288\n  t*: 1: 2 [0: 0]\n", Form::HeapText),
        ("goroutine profile: total 14\n", Form::GoroutineText),
        ("goroutineleak profile: total 0\n", Form::GoroutineText),
        ("goroutine 1 [running]:\n", Form::GoroutineDump),
        ("goroutine 1 [runn", Form::GoroutineDump),
        (
            "\n\nSIGQUIT: quit\nPC=0x1 m=0 sigcode=0\n\ngoroutine 0 gp=0x1 m=0 mp=0x2 [idle]:\n",
            Form::GoroutineDump,
        ),
        (
            "{\"level\":\"error\"}\npanic: boom\n\ngoroutine 7 [running]:\nmain.f()\n",
            Form::GoroutineDump,
        ),
        ("# runtime.MemStats\n# Alloc = 1\n", Form::MemStatsText),
        ("\n# HeapAlloc = 1\r\n", Form::MemStatsText),
        ("# HELP go_goroutines x\n", Form::MetricsText),
        ("# TYPE up gauge\nup 1\n", Form::MetricsText),
        ("up 1\ngo_memstats_sys_bytes 2\n", Form::MetricsText),
        ("anon 1\nfile 2\n", Form::CgroupText),
        (
            "File: x\nType: inuse_space\nShowing nodes accounting for 1MB, 9% of 2MB total\n      flat  flat%   sum%        cum   cum%\n",
            Form::Pasted,
        ),
        (
            "Total: 1MB\nROUTINE ======================== main.f in /f.go\n",
            Form::Pasted,
        ),
        (
            "PeriodType: space bytes\nPeriod: 1\nSamples:\n",
            Form::Pasted,
        ),
        ("see:\n> 1MB of 2MB total (50%)\n", Form::Pasted),
        ("see:\n> goroutine 1 [running]:\n> main.f()\n", Form::Pasted),
        ("see:\n  goroutine profile: total 7\n", Form::Pasted),
        (
            "goroutine 1 [running]:\nmain.f()\n\n(pprof) Total: 1MB\nROUTINE ==== main.f in /f.go\n",
            Form::Pasted,
        ),
        ("memory.current 1\r\nanon 1\r\n", Form::CgroupText),
    ] {
        check(text.as_bytes(), Ok(form));
    }
}

#[test]
fn what_is_no_profile_is_named() {
    for (text, part) in [
        ("", "empty"),
        (" \r\n\t", "empty"),
        ("<!doctype html><p>", "HTML"),
        ("  <html>goroutine 1 [running]:\n", "HTML"),
        ("{\"memstats\": {}}", "JSON"),
        (
            "404 page not found\n",
            "an error message, not a profile: 404 page not found",
        ),
        ("Unknown profile\r\n", "not a profile: Unknown profile"),
        (
            "{\"kind\":\"Status\",\"message\":\"pods is forbidden\"}",
            "forbidden",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Type: x\r\n", "curl -i"),
        ("Dear diary", "a text file"),
        ("anonymous 7\nfile not here\n", "a text file"),
        ("goroutine leaks are bad", "a text file"),
        ("threadcreate profile: total 6\n", "a threadcreate profile"),
        ("--- mutex:\ncycles/second=1\n", "a mutex profile"),
        ("--- contention:\n", "a block profile"),
        ("--- contentionz 1 ---\n", "a contention profile"),
        ("--- threadz 1 ---\n", "a thread profile"),
        (
            "--- heapz 1 ---\nformat = java\n",
            "Java heapz text is not supported",
        ),
        (
            "Showing off: nodes accounting for half of the heap\n",
            "a text file",
        ),
        ("{\"top\": \"Showing nodes accounting for 1MB\"}", "JSON"),
        ("<pre>Showing nodes accounting for 1MB", "HTML"),
        ("a | b\n--- | ---\n+---+---+\n", "a text file"),
    ] {
        check(text.as_bytes(), Err(part));
    }
    let long = format!("error {}", "x".repeat(1 << 20));
    check(long.as_bytes(), Err("a text file"));
    let quoted = format!("\u{1b}[31merror {}", "x".repeat(500));
    let shown = recognise(quoted.as_bytes()).map_err(|error| error.to_string());
    assert!(shown.is_err_and(|m| m.len() < 130 && !m.contains('\u{1b}')));
}

#[test]
fn binary_files_are_named() {
    let little_32: Vec<u8> = [0u32, 3, 0, 10_000, 0, 1]
        .iter()
        .flat_map(|w| w.to_le_bytes())
        .collect();
    let big_64: Vec<u8> = [0u64, 3, 1, 10_000, 0]
        .iter()
        .flat_map(|w| w.to_be_bytes())
        .collect();
    for (bytes, part) in [
        (&little_32[..], "a CPU profile"),
        (&big_64, "a CPU profile"),
        (b"\x7fELF\x02\x01\x01\0", "an ELF program"),
        (b"PK\x03\x04\0\0", "zip"),
        (b"go 1.26 trace\0\0\0", "Go execution trace"),
        (b"go1.7 heap dump\n\x06\x01", "WriteHeapDump"),
        (b"JAVA PROFILE 1.0.2\0", "hprof"),
        (b"\xff\xfeh\0e\0a\0p\0", "UTF-16"),
        (b"\x1f\xef\xbf\xbd\x08\0", "text conversion"),
        (b"\0\0\0\0", "unknown kind"),
        (b"\x12\xff\xff\xff\xff\x7f", "unknown kind"),
        (b"\x0b\x01\x02", "unknown kind"),
    ] {
        check(bytes, Err(part));
    }
}

#[test]
fn protobufs_are_recognised_even_when_cut() {
    // sample_type { type: 1 unit: 2 }, sample { value: [1] }, mapping {}, time_nanos: 300,
    // comment: 5, an unknown field 100, period: 9.
    let profile = b"\x0a\x04\x08\x01\x10\x02\x12\x03\x12\x01\x01\x1a\x00\x48\xac\x02\x68\x05\xa0\x06\x01\x60\x09";
    for end in 2..=profile.len() {
        check(&profile[..end], Ok(Form::PprofProto));
    }
    check(&profile[..1], Err("empty"));
    // The string table first, as some writers do.
    check(
        b"\x32\x00\x32\x05space\x0a\x04\x08\x01\x10\x02",
        Ok(Form::PprofProto),
    );
}
