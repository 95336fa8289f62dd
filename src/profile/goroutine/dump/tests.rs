//! Expected values were read off the texts by hand; the texts are Go 1.26 output or follow
//! `runtime/traceback.go`.

use super::*;
use crate::profile::legacy::stack::tests::{describe, describe_frame};

/// Real output, shortened: every kind of line in one dump.
const DUMP: &str = "goroutine 1 [running]:\n\
    runtime/pprof.writeGoroutineStacks({0x519738, 0x29c2fed88058})\n\
    \t/usr/local/go/src/runtime/pprof/pprof.go:819 +0x6b\n\
    main.main()\n\
    \t/tmp/textgen/main.go:51 +0x57a\n\
    \n\
    goroutine 21 [chan receive]:\n\
    main.(*T).wait(0x0?, 0x0?, 0x0?)\n\
    \t/tmp/textgen/main.go:17 +0x18\n\
    created by main.main in goroutine 1\n\
    \t/tmp/textgen/main.go:33 +0x1b4\n\
    \n\
    goroutine 22 [chan receive, 7 minutes]:\n\
    main.(*T).wait(0x1?, 0x0?, 0x2?)\n\
    \t/tmp/textgen/main.go:17 +0x18\n\
    created by main.main in goroutine 9\n\
    \t/tmp/textgen/main.go:33 +0x1b4\n\
    \n\
    goroutine 23 [chan receive (leaked), 3 minutes, locked to thread]:\n\
    main.(*T).wait(0x0?, {0x0?, 0x0?})\n\
    \t/tmp/textgen/main.go:17 +0x18 fp=0xc00007 sp=0xc00008 pc=0x47\n\
    created by main.main\n\
    \t/tmp/textgen/main.go:33 +0x1b4\n\
    \n\
    goroutine 26 [chan send]:\n\
    main.generic[...](...)\n\
    \t/tmp/textgen/main.go:19\n\
    ...201 frames elided...\n\
    panic({0x4e9f40?, 0x518bd0?})\n\
    \t/usr/local/go/src/runtime/panic.go:860 +0x13a\n\
    ...additional frames elided...\n\
    created by main.main.func5 in goroutine 1\n\
    \t/tmp/textgen/main.go:34 +0x265\n";

fn decode_text(text: &str) -> (Vec<String>, Vec<ProfileWarning>) {
    let mut symbols = SymbolTable::new();
    match decode(text.as_bytes(), &mut symbols) {
        Ok(ProfileFile::Goroutines(profile)) => {
            let groups = profile.groups.iter().map(|g| {
                format!(
                    "{} leaked {} wait {}..{} [{}] {} by {}",
                    g.count,
                    g.leaked,
                    g.wait_minutes_min.unwrap_or(u32::MAX),
                    g.wait_minutes_max.unwrap_or(u32::MAX),
                    g.state.map_or("none", |state| symbols.str(state)),
                    describe(g.stack, &symbols).join(" < "),
                    g.created_by
                        .map_or("nobody".to_owned(), |frame| describe_frame(frame, &symbols)),
                )
            });
            (groups.collect(), profile.warnings)
        }
        other => panic!("{other:?}"),
    }
}

const MAIN: &str = "1 leaked 0 wait 0..0 [running] \
    runtime/pprof.writeGoroutineStacks /usr/local/go/src/runtime/pprof/pprof.go:819 < \
    main.main /tmp/textgen/main.go:51 by nobody";
const WAITING: &str = "3 leaked 1 wait 0..7 [chan receive] main.(*T).wait /tmp/textgen/main.go:17 \
    by main.main /tmp/textgen/main.go:33";
const SENDING: &str = "1 leaked 0 wait 0..0 [chan send] main.generic[...] /tmp/textgen/main.go:19 < \
    runtime.gopanic /usr/local/go/src/runtime/panic.go:860 by main.main.func5 /tmp/textgen/main.go:34";

fn groups(expected: &[&str]) -> Vec<String> {
    expected.iter().map(|group| (*group).to_owned()).collect()
}

#[test]
fn blocks_become_groups() {
    let whole = (groups(&[MAIN, WAITING, SENDING]), vec![]);
    assert_eq!(decode_text(DUMP), whole);
    assert_eq!(decode_text(&DUMP.replace('\n', "\r\n")), whole);
    assert_eq!(
        decode_text(DUMP.trim_end()),
        whole,
        "pasted without its last line end"
    );
    assert_eq!(
        decode_text(&DUMP.replace("\n\n", "\n")),
        whole,
        "blank lines lost"
    );
    let preceded =
        format!("2026/01/02 GET /x (1ms)\npanic: oh\n\nSIGQUIT: quit\nPC=0x1 m=0\n\n{DUMP}");
    assert_eq!(decode_text(&preceded), whole);
    let followed = format!("{DUMP}\nrax    0x0\nexit status 2\n");
    assert_eq!(decode_text(&followed), whole);
}

#[test]
fn odd_lines_are_passed_over_or_counted() {
    let block = |inner: &str| format!("goroutine 1 [running]:\n{inner}");
    let one = |stack: &str| format!("1 leaked 0 wait 0..0 [running] {stack} by nobody");
    let skipped = |count, first| ProfileWarning::SkippedLines { count, first };
    for (inner, stack, warnings) in [
        (
            "\tgoroutine running on other thread; stack unavailable\n",
            "",
            vec![],
        ),
        (
            "non-Go function at pc=0x7f\nnon-Go function\n\tpc=0x80\n",
            "non-Go function :0 < non-Go function :0",
            vec![],
        ),
        ("cfunc\n\t/src/c.c:7 pc=0x80\n", "cfunc /src/c.c:7", vec![]),
        (
            "main.f(...)\n\tC:/a b/f.go:7 +0x1\n",
            "main.f C:/a b/f.go:7",
            vec![],
        ),
        ("main.f(...)\n\t?\n", "main.f ?:0", vec![]),
        (
            "a log line\nmain.f(0x1)\n\t/f.go:7 +0x1\n",
            "main.f /f.go:7",
            vec![skipped(1, 2)],
        ),
        (
            "main.lost()\nmain.f(0x1)\n\t/f.go:7 +0x1\n",
            "main.f /f.go:7",
            vec![skipped(1, 2)],
        ),
        (
            "main.f()\n\t/f.go:7 +0x1\n[originating from goroutine 3]:\nmain.g(...)\n\t/g.go:8 +0x1\ncreated by main.h\n\t/h.go:9 +0x1\n",
            "main.f /f.go:7",
            vec![],
        ),
    ] {
        assert_eq!(
            decode_text(&block(inner)),
            (vec![one(stack)], warnings),
            "{inner}"
        );
    }
    // The scheduler of a thread is no goroutine.
    let scheduler = format!("goroutine 0 [idle]:\nruntime.futex(0x1)\n\t/rt.s:1 +0x1\n\n{DUMP}");
    assert_eq!(decode_text(&scheduler).0, groups(&[MAIN, WAITING, SENDING]));
}

#[test]
fn labels_do_not_tell_goroutines_apart() {
    let labelled = DUMP
        .replace(
            "[chan receive]",
            "[chan receive labels:{\"user\": \"a, 9 minutes\"}]",
        )
        .replace("7 minutes]", "7 minutes labels:{\"user\": \"b]:\"}]");
    assert_eq!(decode_text(&labelled).0, groups(&[MAIN, WAITING, SENDING]));
    // Cut within a label.
    let at = labelled.find("b]:").map_or(0, |at| at + 1);
    let (seen, warnings) = decode_text(&labelled[..at]);
    assert_eq!(warnings, vec![ProfileWarning::DumpCut]);
    assert_eq!(seen.len(), 2);
}

#[test]
fn a_cut_dump_keeps_whole_blocks() {
    let at = |needle: &str, after: usize| DUMP.find(needle).map_or(0, |at| at + after);
    for (end, whole) in [
        (at("goroutine 26", 4), 4),
        (at("goroutine 26", 14), 4),
        (at("[chan send]", 5), 4),
        (at("main.generic", 0), 4),
        (at("main.generic", 7), 4),
        (at(":19\n", 2), 4),
        (at("created by main.main.func5", 30), 4),
        (at(":34 +0x265", 3), 4),
        (at("main.main()", 4), 0),
        (at("main.go:51", 9), 0),
    ] {
        let (groups, warnings) = decode_text(&DUMP[..end]);
        let total: u64 = groups
            .iter()
            .filter_map(|g| g.split(' ').next()?.parse::<u64>().ok())
            .sum();
        assert_eq!(
            (total, warnings),
            (whole, vec![ProfileWarning::DumpCut]),
            "{:?}",
            &DUMP[..end]
        );
    }
    let twice = format!("{DUMP}\n{DUMP}");
    assert_eq!(
        decode_text(&twice).1,
        vec![ProfileWarning::SeveralDumps { count: 2 }]
    );
}

#[test]
fn a_dump_as_long_as_the_runtime_writes_is_cut() {
    let block = "goroutine 5 [select]:\nmain.f()\n\t/f.go:1 +0x1\ncreated by main.g in goroutine 1\n\t/f.go:2 +0x1\n\n";
    let mut text = block.repeat(RUNTIME_LIMIT / block.len());
    let whole = (text.len() / block.len()) as u64;
    text.push_str(&"\n".repeat(RUNTIME_LIMIT - text.len()));
    let (groups, warnings) = decode_text(&text);
    assert_eq!(groups.len(), 1);
    assert!(groups[0].starts_with(&format!("{whole} leaked 0")));
    assert_eq!(warnings, vec![ProfileWarning::DumpCut]);
}

#[test]
fn hostile_text_never_panics() {
    for end in 0..DUMP.len() {
        let _ = decode(&DUMP.as_bytes()[..end], &mut SymbolTable::new());
        let _ = decode(&DUMP.as_bytes()[end..], &mut SymbolTable::new());
    }
    let long = "(".repeat(1 << 20);
    let text =
        format!("goroutine 1 [{long}, 99999999999999999999 minutes]:\n{long})\n\t{long}:1\n");
    let (groups, _) = decode_text(&text);
    assert!(groups[0].contains("wait 4294967295..4294967295"));
    for text in [
        "",
        "\n",
        "goroutine",
        "goroutine profile: total 3\n",
        "goroutine 1 []:\n\n\t\n\t:\n)\n()\n",
    ] {
        let _ = decode(text.as_bytes(), &mut SymbolTable::new());
    }
}
