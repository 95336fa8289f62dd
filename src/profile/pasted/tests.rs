//! Texts are real output of `go tool pprof` (`tests/data/pasted`), or written by its source;
//! expected values are read off the texts.

use super::*;
use crate::profile::{HeapProfile, Pasted, ProfileWarning};

const KIB: f64 = 1024.0;

fn read(text: &str) -> Result<(ProfileFile, SymbolTable), ProfileError> {
    let mut symbols = SymbolTable::new();
    let file = decode(text.as_bytes(), &mut symbols)?;
    Ok((file, symbols))
}

fn read_heap(text: &str) -> (HeapProfile, SymbolTable) {
    match read(text) {
        Ok((ProfileFile::Heap { heap, .. }, symbols)) => (*heap, symbols),
        other => panic!("{other:?}"),
    }
}

/// `bytes name:line < caller`, the largest first.
fn describe(heap: &HeapProfile, symbols: &SymbolTable) -> Vec<String> {
    let frame = |id| {
        let frame = symbols.frame(id);
        let name = symbols.function_name(frame.function);
        let name = name.rsplit('/').next().unwrap_or(name);
        match frame.line {
            0 => name.to_owned(),
            line => format!("{name}:{line}"),
        }
    };
    let columns = &heap.columns;
    let mut rows: Vec<(i64, String)> = (0..columns.len())
        .map(|row| {
            let frames: Vec<String> = symbols.stack(columns.stack[row]).map(frame).collect();
            (columns.inuse_space[row], frames.join(" < "))
        })
        .collect();
    rows.sort_by(|a, b| b.cmp(a));
    rows.into_iter()
        .map(|(bytes, stack)| format!("{bytes} {stack}"))
        .collect()
}

fn kib(figure: f64) -> i64 {
    (figure * KIB).round() as i64
}

macro_rules! data {
    ($name:literal) => {
        include_str!(concat!("../../../tests/data/pasted/", $name))
    };
}

#[test]
fn a_top_becomes_one_stack_a_row() {
    let (heap, symbols) = read_heap(data!("top.txt"));
    let rows = describe(&heap, &symbols);
    assert_eq!(rows[0], format!("{} session.(*Table).Open", kib(36904.55)));
    assert_eq!(
        rows[2],
        format!("{} shop.(*Tenant).loadPrices", kib(2580.63))
    );
    assert_eq!(
        rows.len(),
        7,
        "six functions, and what rounding leaves: {rows:?}"
    );
    assert_eq!(heap.inuse_bytes(), kib(45146.05));
    assert_eq!(
        heap.time_nanos,
        Some(1_796_036_196_000_000_000),
        "10:56:36 UTC"
    );
    assert_eq!(heap.build_id, "fbb23966382122372258d9bd8f538a7abd47cad3");
    assert_eq!(
        (heap.binary.as_str(), heap.period, heap.has_counts()),
        ("generic", 0, false)
    );
    assert_eq!(
        heap.warnings,
        [ProfileWarning::Pasted {
            pasted: Pasted::Totals
        }]
    );
    // What stands above more than its own bytes is known by name.
    let passing: Vec<(&str, i64)> = heap
        .passing
        .iter()
        .map(|p| {
            (
                symbols.function_name(symbols.frame(p.frame).function),
                p.bytes,
            )
        })
        .collect();
    assert_eq!(passing.len(), 14);
    assert!(passing.contains(&("example.com/generic/front.(*Router).drive", kib(40495.56))));
    assert!(
        !passing
            .iter()
            .any(|(name, _)| name.ends_with("readProduct"))
    );
}

#[test]
fn lines_are_kept_where_they_are_shown() {
    let (heap, symbols) = read_heap(data!("top-cum-lines.txt"));
    let rows = describe(&heap, &symbols);
    assert_eq!(
        rows[0],
        format!("{} session.(*Table).Open:38", kib(36383.5))
    );
    assert!(rows.contains(&format!("{} session.(*Table).Open:41", kib(521.05))));
    assert_eq!(heap.inuse_bytes(), kib(45146.05));
}

#[test]
fn the_old_header_is_read() {
    let (heap, symbols) = read_heap(data!("top-old.txt"));
    assert_eq!(
        describe(&heap, &symbols)[0],
        format!("{} session.(*Table).Open", kib(36904.55))
    );
    assert!(heap.warnings.contains(&ProfileWarning::AssumedInUse));
    assert_eq!(heap.time_nanos, None);
}

#[test]
fn a_tree_gives_the_callers_that_all_calls_come_from() {
    let (heap, symbols) = read_heap(data!("tree.txt"));
    let rows = describe(&heap, &symbols);
    let stack = "session.(*Table).Open < session.(*Table).visit < front.(*Router).serve \
                 < front.(*Router).accept < front.(*Router).drive";
    assert_eq!(rows[0], format!("{} {stack}", kib(36904.55)));
    let loader = "shop.(*Tenant).loadPrices < shop.Load < main.main < runtime.main";
    assert!(
        rows.contains(&format!("{} {loader}", kib(2580.63))),
        "{rows:?}"
    );
    assert_eq!(heap.inuse_bytes(), kib(45146.05));
    assert!(
        heap.passing.is_empty(),
        "all stacks are whole: {:?}",
        heap.passing
    );
    let (heap, symbols) = read_heap(data!("peek.txt"));
    let rows = describe(&heap, &symbols);
    assert_eq!(
        rows[0],
        format!(
            "{} session.(*Table).Open < session.(*Table).visit < front.(*Router).serve",
            kib(36904.55)
        )
    );
    // What the text does not show is in it all the same.
    assert_eq!(heap.inuse_bytes(), kib(45146.05));
    let cut = kib(45146.05) - kib(36904.55) - kib(3076.0);
    assert!(heap.warnings.contains(&ProfileWarning::PastedCut {
        nodes: 0,
        bytes: cut
    }));
}

#[test]
fn a_leaf_is_split_among_its_callers_and_nothing_else_is() {
    let text = "Type: inuse_space\nShowing nodes accounting for 10MB, 100% of 10MB total\n\
        ----------------------------------------------------------+-------------\n\
        \x20                                 4MB 66.67% |   main.a\n\
        \x20                                 2MB 33.33% |   main.b\n\
        6MB 60% 60%  6MB 60%                  | main.leaf\n\
        ----------------------------------------------------------+-------------\n\
        \x20                                 3MB 42.86% |   main.a\n\
        \x20                                 4MB 57.14% |   main.b\n\
        4MB 40% 100%  7MB 70%                 | main.inner\n\
        \x20                                 3MB 42.86% |   main.leaf2\n\
        ----------------------------------------------------------+-------------\n";
    let (heap, symbols) = read_heap(text);
    let mib = 1 << 20;
    let expected = [
        format!("{} main.leaf < main.a", 4 * mib),
        format!("{} main.inner", 4 * mib),
        format!("{} main.leaf < main.b", 2 * mib),
    ];
    assert_eq!(describe(&heap, &symbols), expected);
}

#[test]
fn a_listing_gives_lines_and_goes_with_a_top() {
    let (heap, symbols) = read_heap(data!("list.txt"));
    let rows = describe(&heap, &symbols);
    let open = "session.(*Table).Open";
    assert!(
        rows[0].ends_with(&format!(" {open}:38")) && rows[2].ends_with("readProduct:64"),
        "{rows:?}"
    );
    // 44.09 MB in all; the rest belongs to functions that were not asked for.
    assert_eq!(heap.inuse_bytes(), (44.09 * KIB * KIB).round() as i64);
    let both = format!(
        "{}\n(pprof) list Open\n{}",
        data!("top.txt"),
        data!("list.txt")
    );
    let (heap, symbols) = read_heap(&both);
    let rows = describe(&heap, &symbols);
    assert_eq!(
        heap.inuse_bytes(),
        kib(45146.05),
        "one profile, its total in two units"
    );
    assert!(rows[0].ends_with(&format!("{open}:38")), "{rows:?}");
    let of_open: Vec<i64> = rows
        .iter()
        .filter(|row| row.contains(open))
        .filter_map(|row| row.split(' ').next()?.parse().ok())
        .collect();
    assert_eq!(
        of_open.iter().sum::<i64>(),
        kib(36904.55),
        "not counted twice"
    );
}

#[test]
fn traces_are_whole_stacks() {
    let (heap, symbols) = read_heap(data!("traces.txt"));
    assert_eq!(heap.pasted, Some(Pasted::Stacks));
    let rows = describe(&heap, &symbols);
    let top = "session.(*Table).Open < session.(*Table).visit < front.(*Router).serve";
    assert!(rows[0].contains(top), "{}", rows[0]);
    // Stacks above 1 MB are printed to 0.01 MB.
    assert!((heap.inuse_bytes() - kib(45146.05)).abs() < 8 * 5243);
    assert!(heap.columns.size.contains(&1024), "{:?}", heap.columns.size);
}

#[test]
fn figures_of_another_kind_are_refused_by_name() {
    for (text, part) in [
        (
            "Type: cpu\nShowing nodes accounting for 1.20s, 85.71% of 1.40s total\n\
             flat  flat%   sum%        cum   cum%\n1.20s 85.71% 85.71%  1.20s 85.71%  main.spin\n",
            "a CPU profile",
        ),
        (
            "Showing nodes accounting for 120ms, 85.71% of 140ms total\n\
             flat  flat%   sum%        cum   cum%\n120ms 85.71% 85.71%  120ms 85.71%  main.spin\n",
            "a CPU (or mutex, or block) profile",
        ),
        (
            data!("top-objects.txt"),
            "report of inuse_objects, which counts",
        ),
        (
            "Type: goroutine\nShowing nodes accounting for 29, 100% of 29 total\n\
             flat  flat%   sum%        cum   cum%\n28 96.55% 96.55%  28 96.55%  runtime.gopark\n",
            "report of goroutine, which counts",
        ),
        (
            "Showing nodes accounting for 12, 80% of 15 total\n flat  flat%   sum%  cum   cum%\n",
            "no row of it can be read",
        ),
        (
            "flat  flat%   sum%        cum   cum%\nand so on\n",
            "no row of it can be read",
        ),
    ] {
        let error = read(text).err().map(|error| error.to_string());
        assert!(
            error.as_ref().is_some_and(|e| e.contains(part)),
            "{part}: {error:?}"
        );
    }
}

#[test]
fn allocations_and_differences_are_marked_for_what_they_are() {
    let (heap, _) = read_heap(data!("top-alloc.txt"));
    assert!(heap.has_type("alloc_space") && !heap.has_type("inuse_space"));
    assert_eq!(heap.inuse_bytes(), 0);
    let at_the_prompt = data!("top-old.txt").replacen(
        "(pprof) top",
        "(pprof) sample_index=alloc_space\n(pprof) top",
        1,
    );
    assert!(read_heap(&at_the_prompt).0.has_type("alloc_space"));
    let (heap, _) = read_heap(data!("top-diff.txt"));
    assert!(heap.is_saved_diff && heap.has_negative_inuse);
    // Differences that are all above zero show by their percentages.
    let grown: Vec<&str> = data!("top-diff.txt")
        .lines()
        .filter(|line| !line.contains(" -") && !line.starts_with('-'))
        .collect();
    assert!(read_heap(&grown.join("\n")).0.is_saved_diff);
    assert!(!read_heap(data!("top.txt")).0.is_saved_diff);
}

#[test]
fn what_stands_around_a_report_does_not_matter() {
    let (plain, symbols) = read_heap(data!("top.txt"));
    let expected = describe(&plain, &symbols);
    let each = |change: &dyn Fn(&str) -> String| {
        data!("top.txt")
            .lines()
            .map(change)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let texts = [
        data!("top.txt").replace('\n', "\r\n"),
        each(&|line| format!("> > {line}")),
        each(&|line| format!("\u{1b}[32m{line}\u{1b}[0m")),
        each(&|line| format!("\t    {line}")),
        each(&|line| line.split_whitespace().collect::<Vec<_>>().join(" ")),
        each(&|line| line.replace(' ', "\u{a0}")),
        // A narrow window.
        each(&|line| line.replace("%  e", "%\n  e").replace("%  n", "%\n  n")),
        format!(
            "Hi,\n\nsince 2 of 4 pods restart:\n```text\n$ go tool pprof heap.out\n{}```\nThanks!\n",
            data!("top.txt")
        ),
        data!("top.txt").replace("Showing", "(pprof) Showing"),
    ];
    for text in texts {
        let (heap, symbols) = read_heap(&text);
        assert_eq!(describe(&heap, &symbols), expected, "{text}");
    }
}

#[test]
fn several_texts_in_one_are_each_read() {
    let dump = "    goroutine 1 [select]:\n    main.main()\n        /app/main.go:12 +0x1d\n\n    \
        goroutine 7 [chan send, 9 minutes]:\n    main.f(0x1)\n        /app/main.go:7 +0x1d\n    \
        created by main.main in goroutine 1\n        /app/main.go:3 +0x9d\n";
    let text = format!(
        "The heap:\n{}\nand the goroutines:\n\n{dump}\nand grouped:\ngoroutine profile: total 3\n\
         3 @ 0x1 0x2\n#\t0x1\tmain.f+0x1\t/app/main.go:7\n\nand some CPU:\n\
         Type: cpu\nShowing nodes accounting for 1s, 50% of 2s total\n flat  flat%   sum%  cum   cum%\n\
         1s 50% 50% 1s 50% main.spin\n",
        data!("top.txt")
    );
    let Ok((ProfileFile::Several(files), symbols)) = read(&text) else {
        panic!("not several");
    };
    let [
        ProfileFile::Heap { heap, .. },
        ProfileFile::Goroutines(first),
        ProfileFile::Goroutines(second),
    ] = files.as_slice()
    else {
        panic!("{files:?}");
    };
    assert_eq!(heap.inuse_bytes(), kib(45146.05));
    assert!(
        heap.warnings
            .iter()
            .any(|w| w.to_string().contains("this is a CPU profile"))
    );
    assert_eq!((first.total(), second.total()), (2, 3));
    assert!(first.warnings.is_empty(), "{:?}", first.warnings);
    let state = first.groups[1].state.map(|state| symbols.str(state));
    assert_eq!(
        (state, first.groups[1].wait_minutes_max),
        (Some("chan send"), Some(9))
    );
    let frame = |id| symbols.frame(symbols.stack(id).next().expect("a frame"));
    assert_eq!(frame(first.groups[1].stack).line, 7);
}

#[test]
fn two_profiles_in_one_text_are_two_heaps() {
    let early = data!("top-old.txt")
        .replace("36904.55kB", "16904.55kB")
        .replace("45146.05kB", "25146.05kB");
    let text = format!("on Monday\n{early}\non Friday\n{}", data!("top-old.txt"));
    let Ok((ProfileFile::Several(files), _)) = read(&text) else {
        panic!("not several");
    };
    let totals: Vec<i64> = files.iter().filter_map(outcome::sum_of).collect();
    assert_eq!(totals, [kib(25146.05), kib(45146.05)]);
}

#[test]
fn hostile_text_never_panics() {
    let all = [
        data!("top.txt"),
        data!("tree.txt"),
        data!("list.txt"),
        data!("raw.txt"),
        data!("traces.txt"),
    ];
    for text in all {
        for cut in (0..text.len()).step_by(97) {
            let _ = decode(&text.as_bytes()[..cut], &mut SymbolTable::new());
            let _ = decode(&text.as_bytes()[cut..], &mut SymbolTable::new());
        }
    }
    let huge = "9".repeat(400);
    for text in [
        format!(
            "Showing nodes accounting for {huge}PB, 1% of {huge}PB total\n{huge}PB 1% 1% -{huge}PB 1% f\n"
        ),
        format!(
            "PeriodType: space bytes\nPeriod: {huge}\nSamples:\ninuse_space/bytes\n{huge}: {huge}\n"
        ),
        "PeriodType: a b\nSamples:\n\nLocations\nMappings\n".to_owned(),
        "-----------+-----------\n".repeat(3),
        "----------------------------------------------------------+-------------\n 1MB 1% | \n"
            .repeat(3),
        "ROUTINE ======================== \n. .\n1MB 1MB (flat, cum) 1% of Total\n".to_owned(),
        "\u{1b}[".repeat(1000),
        "(pprof) ".repeat(1000),
        "> ".repeat(1000),
    ] {
        let _ = decode(text.as_bytes(), &mut SymbolTable::new());
        let _ = has_report(text.as_bytes());
        let _ = has_runtime_text(text.as_bytes());
    }
}
