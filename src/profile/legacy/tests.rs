//! Expected values: google/pprof's golden `.string` files (`go tool pprof -raw`), or by hand.

use super::stack::tests::describe;
use super::*;

fn decode_heap(text: &[u8]) -> (HeapProfile, Option<Box<MemoryStats>>, SymbolTable) {
    let mut symbols = SymbolTable::new();
    match decode(text, &mut symbols) {
        Ok(ProfileFile::Heap { heap, memory }) => (*heap, memory, symbols),
        other => panic!("{other:?}"),
    }
}

/// Each row as `values size leaf-frame … `.
fn rows(text: &str) -> Vec<String> {
    let (heap, _, symbols) = decode_heap(text.as_bytes());
    let columns = &heap.columns;
    (0..columns.len())
        .map(|row| {
            let (stack, size) = columns.key(row);
            let stack = describe(stack, &symbols).join(" < ");
            format!("{:?} {size} {stack}", columns.values(row))
        })
        .collect()
}

/// Shaped as Go 1.26 writes it; period 512 so that the 2048-byte object scales by
/// 1/(1-exp(-4)) = 1.018657…, and 512-byte ones by 1/(1-exp(-1)) = 1.581976….
const GO: &str = "heap profile: 3: 3072 [104: 54784] @ heap/1024\n\
    1: 2048 [2: 4096] @ 0x47c3cc 0x4dc4a6 0x4841a1\n\
    #\t0x4dc4a5\tmain.leak+0xc5\t\t/tmp/main.go:30\n\
    #\t0x44cd14\truntime.main+0x2d4\t/usr/local/go/src/runtime/proc.go:290\n\
    \n\
    0: 0 [0: 0] @ 0x47c3ec\n\
    #\t0x47c3eb\truntime.mallocgc+0xcb\t/usr/local/go/src/runtime/malloc.go:1143\n\
    \n\
    2: 1024 [100: 51200] @ 0x47c3cc 0x4dc4a6 0x4841a1\n\
    #\t0x4dc4a5\tmain.leak+0xc5\t\t/tmp/main.go:30\n\
    #\t0x44cd14\truntime.main+0x2d4\t/usr/local/go/src/runtime/proc.go:290\n\
    \n\
    \n\
    # runtime.MemStats\n\
    # HeapAlloc = 2207520\n\
    # LastGC = 1790000000000000000\n\
    # MaxRSS = 9\n";

#[test]
fn a_go_text_is_decoded_with_its_symbols_and_its_trailer() {
    let (heap, memory, symbols) = decode_heap(GO.as_bytes());
    let columns = &heap.columns;
    assert_eq!(columns.len(), 2);
    // 100 * 1.581976… = 158.2, 51200 * 1.581976… = 80997.2, 1024 * 1.581976… = 1619.9
    assert_eq!(
        (columns.size[0], columns.values(0)),
        (512, [158, 80_997, 3, 1_619])
    );
    // 4096 * 1.018657… = 4172.4, 2048 * 1.018657… = 2086.2
    assert_eq!(
        (columns.size[1], columns.values(1)),
        (2048, [2, 4_172, 1, 2_086])
    );
    assert_eq!(columns.stack[0], columns.stack[1]);
    assert_eq!(
        describe(columns.stack[0], &symbols),
        [
            "main.leak /tmp/main.go:30",
            "runtime.main /usr/local/go/src/runtime/proc.go:290"
        ]
    );
    let types: Vec<_> = heap
        .sample_types
        .iter()
        .map(|t| format!("{}/{}", t.kind, t.unit))
        .collect();
    assert_eq!(
        types,
        [
            "alloc_objects/count",
            "alloc_space/bytes",
            "inuse_objects/count",
            "inuse_space/bytes"
        ]
    );
    assert_eq!(
        (heap.period, heap.samples_in_file, heap.duration_nanos),
        (512, 3, 0)
    );
    assert_eq!(heap.time_nanos, Some(1_790_000_000_000_000_000));
    assert!(heap.has_object_sizes && !heap.has_negative_inuse && !heap.is_saved_diff);
    assert_eq!(
        (heap.drop_frames.as_str(), heap.warnings.as_slice()),
        ("", &[][..])
    );
    let memory = memory.expect("trailer");
    assert_eq!(
        (memory.heap_alloc, memory.max_rss),
        (Some(2_207_520), Some(9))
    );
    assert_eq!(rows(&GO.replace('\n', "\r\n")), rows(GO));
}

#[test]
fn tails_decide_how_rows_are_read() {
    for (header, row, expected) in [
        // pprof's golden values for this row at this period.
        (
            "1: 2 [3: 4] @ heap_v2/524288",
            "1: 524288 [3: 1572864] @ 0x10",
            "[4, 2488234, 1, 829411] 524288 0xf :0",
        ),
        // Unsampled, or alloc columns that only repeat.
        (
            "1: 2 [3: 4] @ heapprofile",
            "1: 64 [3: 192] @ 0x10",
            "[3, 192, 1, 64] 64 0xf :0",
        ),
        (
            "1: 2 [1: 2] @ heapprofile",
            "1: 64 [1: 64] @ 0x10",
            "[0, 0, 1, 64] 64 0xf :0",
        ),
        (
            "1: 2 [3: 4] @ growthz",
            "1: 64 [1: 64] @ 0x10",
            "[0, 0, 1, 64] 64 0xf :0",
        ),
        (
            "1: 2 [3: 4] @ fragmentationz",
            "  1:  64 [  1:  64] @ 0x10 0x20",
            "[0, 0, 1, 64] 64 0xf :0 < 0x1f :0",
        ),
        // Lenient where the runtime counts are odd.
        (
            "1: 2 [3: 4] @ heap/0",
            "-1: -64 [0: 0] @ 0x10",
            "[0, 0, -1, -64] 64 0xf :0",
        ),
        (
            "1: 2 [3: 4] @ heap/1048576",
            "0: 96 [1: 96] @",
            "[5461, 524336, 0, 96] 96 ",
        ),
        (
            "1: 2 [3: 4] @ heap/1048576",
            "0: 0 [0: 96] @",
            "[0, 96, 0, 0] 0 ",
        ),
        (
            "1: 2 [3: 4] @ heapprofile",
            "99999999999999999999: 1 [-99999999999999999999: 5] @ 0x10",
            "[-9223372036854775808, 5, 9223372036854775807, 1] 0 0xf :0",
        ),
    ] {
        let text = format!("heap profile: {header}\n{row}\n");
        assert_eq!(rows(&text), [expected], "{text}");
    }
}

#[test]
fn a_jemalloc_dump_is_decoded() {
    let text = "heap_v2/524288\n  t*: 3: 300 [0: 0]\n  t0: 3: 300 [0: 0]\n\
        @ 0x400010 0x400020\n  t*: 1: 524288 [0: 0]\n  t0: 1: 524288 [0: 0]\n\
        @ 0x400030\n  t*: 2: 96 [0: 0]\n  t7: 2: 96 [0: 0]\n\n\
        MAPPED_LIBRARIES:\n400000-401000 r-xp 00000000 00:11 489   /usr/bin/server\n";
    // 1: 524288 as pprof's golden; 2: 96 is 2 / (1 - exp(-48/524288)) = twice 10923.2 (golden row 1: 48).
    assert_eq!(
        rows(text),
        [
            "[0, 0, 1, 829411] 524288 0x40000f /usr/bin/server:0 < 0x40001f /usr/bin/server:0",
            "[0, 0, 21846, 1048624] 48 0x40002f /usr/bin/server:0",
        ]
    );
    let (heap, _, _) = decode_heap(text.as_bytes());
    assert_eq!(
        (heap.binary.as_str(), heap.period, heap.samples_in_file),
        ("server", 524_288, 2)
    );
    assert!(!heap.has_type("alloc_space") && heap.has_type("inuse_space"));
    assert!(heap.drop_frames.starts_with("calloc|") && heap.keep_frames.starts_with("runtime"));
    let with_alloc = text
        .replace("t*: 3: 300 [0: 0]", "t*: 3: 300 [9: 900]")
        .replacen("[0: 0]\n  t0: 1:", "[1: 524288]\n  t0: 1:", 1);
    assert!(rows(&with_alloc)[0].starts_with("[1, 829411, 1, 829411]"));
}

#[test]
fn damage_is_told() {
    let warnings = |text: &str| decode_heap(text.as_bytes()).0.warnings;
    let skipped = |count, first| ProfileWarning::SkippedLines { count, first };
    let header = "heap profile: 1: 2 [3: 4] @ heap/2\n";
    assert_eq!(
        warnings(&format!(
            "{header}1: 2 [3: 4] @ 0x1\nxx\n1: 2 [3: 4\n1: 2 [3: 4] @ zz\n"
        )),
        [skipped(3, 3)]
    );
    assert_eq!(warnings(header), []);
    let row_cut = format!("{header}1: 2 [3: 4] @ 0x1\n1: 2 [3: 4] @ 0x1 0x");
    assert_eq!(warnings(&row_cut), [ProfileWarning::TextCut, skipped(1, 3)]);
    for (text, line) in [
        ("heap profile: 1: 2\n", 1),
        ("\n\nheap profile: x\n", 3),
        ("", 1),
        ("heap profile: 1: 2 [3: 4] @ heap/2\nnonsense\n", 2),
        (
            "heap profile: 1: 2 [3: 4] @ heap/2\n1: 2 [3: 4] @ 0x1\nheap profile: 1: 2 [3: 4] @ heap/2\n",
            3,
        ),
    ] {
        match decode(text.as_bytes(), &mut SymbolTable::new()) {
            Err(ProfileError::Text { line: seen, .. }) => assert_eq!(seen, line, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    // Cut before the trailer that Go always writes.
    let cut = GO.find("# runtime").unwrap_or(0);
    assert_eq!(warnings(&GO[..cut]), [ProfileWarning::TextCut]);
    assert_eq!(
        warnings(&format!("{header}1: 2 [3: 4] @ 0x1 0x12")),
        [ProfileWarning::TextCut]
    );
}

#[test]
fn hostile_text_never_panics() {
    for end in 0..GO.len() {
        let _ = decode(&GO.as_bytes()[..end], &mut SymbolTable::new());
        let _ = decode(
            &[b"heap_v2/1\n", &GO.as_bytes()[end..]].concat(),
            &mut SymbolTable::new(),
        );
    }
    let long = format!(
        "heap profile: 1: 2 [3: 4] @ heap/2\n1: 2 [3: 4] @{}\n#\t0x1\t{}+0x1\n",
        " 0x10".repeat(200_000),
        "x".repeat(1 << 20)
    );
    assert_eq!(rows(&long).len(), 1);
    let extremes = "heap profile: 1: 2 [3: 4] @ heap/99999999999999999999\n\
        9223372036854775807: 9223372036854775807 [-9223372036854775808: -1] @ 0x10\n\
        -9223372036854775808: 9223372036854775807 [1: 1] @ 0x10\n\
        -1: -9223372036854775808 [1: 1] @ 0xffffffffffffffff\n";
    assert_eq!(decode_heap(extremes.as_bytes()).0.samples_in_file, 3);
}
