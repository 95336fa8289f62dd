//! What holds for any profile, and for any damage.
//!
//! `PROPTEST_CASES=100000 cargo test --release --test bad_input` looks longer.

use crate::harness::{Desk, decode, first_case, run, sound};
use crate::support::profiles::{
    HEAP_TYPES, Pprof, RATE, goroutine_dump, gunzip, gzip, heap_text, leaking_process, memory_text,
    wire, zstd,
};
use heapdrift::diagnosis::{DiagnoseOptions, Diff, diagnose, diff, top};
use heapdrift::pattern::Catalogue;
use heapdrift::profile::{ProfileFile, SymbolTable};
use heapdrift::report::{Layout, diagnosis_table, diff_table, to_json, top_table};
use heapdrift::snapshot::{LoadedFile, Series};
use heapdrift::source::{LoadOptions, Source, load_pair};
use pprof::protos::{Message, Profile, Sample};
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use serde_json::Value;
use std::collections::BTreeMap;

/// So many cases, or as many as `PROPTEST_CASES` says.
fn few(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: std::env::var_os("PROPTEST_CASES").map_or(cases, |_| default.cases),
        failure_persistence: None,
        ..default
    }
}

/// A heap of up to thirty rows over a few functions, sizes and depths.
fn any_heap() -> impl Strategy<Value = Pprof> {
    let stack = prop::collection::vec("main\\.[a-f]", 0..5);
    let size = select(vec![8_i64, 64, 1024, 65_536, 4 << 20]);
    let row = (stack, size, 0..60_i64, 0..60_i64);
    let rows = prop::collection::vec(row, 0..30);
    (rows, select(vec![1, 4096, RATE])).prop_map(|(rows, period)| {
        let empty = Pprof::heap(0).with(|p| p.period = period);
        rows.into_iter()
            .fold(empty, |heap, (stack, size, in_use, freed)| {
                heap.sampled(&stack.join(" < "), size, in_use + freed, in_use)
            })
    })
}

/// The diff of two files, as the command makes it.
fn diff_of(before: &[u8], after: &[u8], force: bool) -> Diff {
    let desk = Desk::new();
    let files = [("1.heap", before), ("2.heap", after)].map(|(name, bytes)| desk.put(name, bytes));
    let [before, after] = files.map(|file| Source::parse(file.as_os_str()).unwrap());
    let options = LoadOptions {
        force,
        ..LoadOptions::default()
    };
    let mut diff = diff(&load_pair(&before, &after, &options).unwrap()).unwrap();
    // The directory is another each time.
    (diff.before.source, diff.after.source) = ("1".into(), "2".into());
    if let Some(identity) = &mut diff.identity {
        (identity.before, identity.after) = ("1".into(), "2".into());
    }
    diff.warnings.clear();
    diff
}

/// Rows as (place, bytes of change), sorted.
fn changes(diff: &Diff, sign: i64) -> Vec<(&str, Option<u32>, i64)> {
    let rows = diff.rows.iter();
    let change = rows.map(|row| (row.function.as_str(), row.line, sign * row.delta_bytes));
    let mut all: Vec<_> = change.collect();
    all.sort_unstable();
    all
}

/// Whether two results are the same but for the rounding of sums.
fn agree(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agree(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && agree(a.1, b.1))
        }
        (Value::Number(x), Value::Number(y)) if x.is_f64() && y.is_f64() => {
            let [x, y] = [x, y].map(|number| number.as_f64().unwrap_or(f64::NAN));
            (x - y).abs() <= 1e-9 * x.abs()
        }
        _ => a == b,
    }
}

/// The profile with its samples written in one of the ways that the format allows.
fn rewritten(profile: &Profile, way: usize) -> Vec<u8> {
    let packed = |field, all: Vec<u64>| {
        let all: Vec<Vec<u8>> = all.into_iter().map(wire::varint).collect();
        wire::bytes(field, &all.concat())
    };
    let scattered = |field, all: Vec<u64>| {
        let all: Vec<Vec<u8>> = all
            .into_iter()
            .map(|value| wire::integer(field, value))
            .collect();
        all.concat()
    };
    let write = |sample: &Sample| {
        let ids = sample.location_id.clone();
        let (front, back) = ids.split_at(ids.len() / 2);
        let values: Vec<u64> = sample.value.iter().map(|value| *value as u64).collect();
        let labels = sample
            .label
            .iter()
            .map(|label| wire::bytes(3, &label.encode_to_vec()));
        let labels = labels.collect::<Vec<_>>().concat();
        let parts = match way {
            0 => [labels, packed(2, values), packed(1, ids)],
            1 => [scattered(1, ids), scattered(2, values), labels],
            2 => {
                let halves = [packed(1, front.to_vec()), packed(1, back.to_vec())];
                [packed(2, values), halves.concat(), labels]
            }
            _ => {
                let halves = [packed(1, front.to_vec()), scattered(1, back.to_vec())];
                [halves.concat(), labels, packed(2, values)]
            }
        };
        wire::bytes(2, &parts.concat())
    };
    let samples: Vec<Vec<u8>> = profile.sample.iter().map(write).collect();
    let rest = Profile {
        sample: Vec::new(),
        ..profile.clone()
    };
    // Before the tables and behind them.
    match way % 2 {
        0 => [samples.concat(), rest.encode_to_vec()].concat(),
        _ => [rest.encode_to_vec(), samples.concat()].concat(),
    }
}

/// Values by stack and size, without those that are all 0.
type Rows = BTreeMap<(Vec<String>, u64), [i64; 4]>;

fn add(rows: &mut Rows, key: (Vec<String>, u64), values: [i64; 4]) {
    if values != [0; 4] {
        let sums = rows.entry(key).or_default();
        sums.iter_mut()
            .zip(values)
            .for_each(|(sum, value)| *sum += value);
    }
}

fn rows_written(heap: &Pprof) -> Rows {
    let mut rows = Rows::new();
    for row in &heap.rows {
        let size = row.size.unwrap_or(0) as u64;
        let values = row.values.as_slice().try_into().expect("four values");
        add(&mut rows, (row.stack.clone(), size), values);
    }
    rows
}

fn rows_read(bytes: Vec<u8>) -> Rows {
    let mut symbols = SymbolTable::new();
    let Ok(ProfileFile::Heap { heap, .. }) = decode(bytes, &mut symbols) else {
        panic!("a heap profile");
    };
    let mut rows = Rows::new();
    for row in 0..heap.columns.len() {
        let (stack, size) = heap.columns.key(row);
        let names = symbols.stack(stack).map(|frame| {
            let function = symbols.frame(frame).function;
            symbols.function_name(function).to_owned()
        });
        add(&mut rows, (names.collect(), size), heap.columns.values(row));
    }
    rows
}

proptest! {
    #![proptest_config(few(200))]

    #[test]
    fn what_was_written_is_read(heap in any_heap()) {
        let expected = rows_written(&heap);
        prop_assert_eq!(&rows_read(heap.gzip()), &expected);
        for way in 0..4 {
            prop_assert_eq!(&rows_read(rewritten(&heap.message(), way)), &expected, "way {}", way);
        }
    }
}

proptest! {
    #![proptest_config(few(48))]

    #[test]
    fn nothing_changes_from_a_profile_to_itself(heap in any_heap()) {
        let diff = diff_of(&heap.gzip(), &heap.gzip(), false);
        prop_assert_eq!(diff.total.delta_bytes, 0);
        for row in &diff.rows {
            prop_assert_eq!((row.delta_bytes, row.delta_objects), (0, 0));
            prop_assert_eq!(row.before_bytes, row.after_bytes);
        }
    }

    #[test]
    fn a_diff_and_its_reverse_are_opposite(a in any_heap(), b in any_heap()) {
        // Of two builds the rows are at the second one's lines.
        let a = a.with(|a| a.build_id = "b1".into());
        let b = b.with(|b| (b.period, b.build_id) = (a.period, "b1".into()));
        let forward = diff_of(&a.gzip(), &b.gzip(), true);
        let backward = diff_of(&b.gzip(), &a.gzip(), true);
        prop_assert_eq!(forward.total.delta_bytes, -backward.total.delta_bytes);
        prop_assert_eq!(changes(&forward, 1), changes(&backward, -1));
    }

    #[test]
    fn the_order_within_a_file_does_not_matter(
        heap in any_heap(),
        later in any_heap(),
        turn in any::<Index>(),
    ) {
        let message = heap.message();
        let mut turned = message.clone();
        if !turned.sample.is_empty() {
            let by = turn.index(turned.sample.len());
            turned.sample.rotate_left(by);
            turned.sample.reverse();
        }
        turned.location.reverse();
        turned.function.reverse();
        let later = later.with(|later| later.period = heap.period).gzip();
        let diffs = [message, turned].map(|message| {
            serde_json::to_value(diff_of(&message.encode_to_vec(), &later, true)).unwrap()
        });
        prop_assert!(agree(&diffs[0], &diffs[1]), "{diffs:#?}");
    }

    #[test]
    fn the_packing_does_not_matter(heap in any_heap()) {
        let raw = heap.raw();
        let (front, back) = raw.split_at(raw.len() / 2);
        let members = [gzip(front), gzip(back)].concat();
        let diffs = [gzip(&raw), zstd(&raw), members, raw.clone()]
            .map(|bytes| to_json(&diff_of(&bytes, &raw, false)).unwrap());
        prop_assert!(diffs.iter().all(|diff| *diff == diffs[0]));
    }
}

/// A change to bytes at a place.
#[derive(Debug, Clone)]
enum Edit {
    Set(u8),
    Flip(u8),
    Cut(usize),
    Repeat(usize),
    Insert(Vec<u8>),
    /// An integer of ten bytes: as large as can be written.
    Swell,
}

type Edits = Vec<(Index, Edit)>;

fn any_edits() -> impl Strategy<Value = Edits> {
    let edit = prop_oneof![
        any::<u8>().prop_map(Edit::Set),
        (0..8_u32).prop_map(|bit| Edit::Flip(1 << bit)),
        (1..64_usize).prop_map(Edit::Cut),
        (1..64_usize).prop_map(Edit::Repeat),
        prop::collection::vec(any::<u8>(), 1..8).prop_map(Edit::Insert),
        Just(Edit::Swell),
    ];
    prop::collection::vec((any::<Index>(), edit), 1..6)
}

fn edited(bytes: &[u8], edits: &Edits) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (place, edit) in edits {
        if bytes.is_empty() {
            break;
        }
        let at = place.index(bytes.len());
        let piece = |len: usize| at..(at + len).min(bytes.len());
        match edit {
            Edit::Set(byte) => bytes[at] = *byte,
            Edit::Flip(mask) => bytes[at] ^= mask,
            Edit::Cut(len) => drop(bytes.drain(piece(*len))),
            Edit::Repeat(len) => {
                let piece = bytes[piece(*len)].to_vec();
                bytes.splice(at..at, piece);
            }
            Edit::Insert(piece) => drop(bytes.splice(at..at, piece.iter().copied())),
            Edit::Swell => drop(bytes.splice(at..=at, [0xff; 9].into_iter().chain([1]))),
        }
    }
    bytes
}

/// Small sound files of every form.
fn seeds() -> Vec<Vec<u8>> {
    let crowd = Pprof::of_types(&[("goroutine", "count")], ("goroutine", "count"), 1);
    let grouped = "goroutine profile: total 3\n2 @ 0x47dc8e 0x4158ee\n\
        #\t0x47dc8d\tmain.wait+0x17\t/m.go:17\n\n1 @ 0x47dc8e\n";
    let metrics = "# TYPE go_memstats_sys_bytes gauge\ngo_memstats_sys_bytes 9e+07\n\
        go_memstats_heap_released_bytes{job=\"a\"} 1e+06\ngo_memstats_heap_inuse_bytes 5e+07\n\
        go_memstats_heap_alloc_bytes 4e+07\ngo_memstats_heap_idle_bytes 3e+07\n\
        go_memstats_next_gc_bytes 8e+07\ngo_memstats_last_gc_time_seconds 1.79e+09\n\
        go_gc_gogc_percent 100\nprocess_resident_memory_bytes 1.2e+08\n";
    let cgroup = "memory.current 90000000\nmemory.max 200000000\nanon 60000000\nfile 20000000\n\
        inactive_file 10000000\n";
    let jemalloc = "heap_v2/524288\n  t*: 1: 2 [0: 0]\n@ 0x1 0x2\n  t*: 1: 2 [0: 0]\n";
    vec![
        sound().raw(),
        sound().gzip(),
        zstd(&sound().raw()),
        crowd.row("main.wait < main.main", None, &[7]).raw(),
        heap_text(0, 50).into_bytes(),
        memory_text(0, 1 << 20).into_bytes(),
        metrics.into(),
        cgroup.into(),
        goroutine_dump("main.wait", 3).into_bytes(),
        grouped.into(),
        jemalloc.into(),
    ]
}

/// Everything that the program does with files, for people and for programs.
fn use_all(files: Vec<Vec<u8>>, force: bool) {
    let mut symbols = SymbolTable::new();
    let load = |(index, bytes): (usize, Vec<u8>)| LoadedFile {
        source: index.to_string(),
        moment: index.to_string(),
        content: decode(bytes, &mut symbols).map_err(Into::into),
    };
    let files = files.into_iter().enumerate().map(load).collect();
    let series = Series::assemble(symbols, files, force);
    let layout = Layout::default();
    if let Ok(diagnosis) = diagnose(&series, &Catalogue::builtin(), &DiagnoseOptions::default()) {
        diagnosis_table(&diagnosis, &layout);
        to_json(&diagnosis).unwrap();
    }
    if let Ok(diff) = diff(&series) {
        diff_table(&diff, &layout);
        to_json(&diff).unwrap();
    }
    if let Ok(top) = top(&series) {
        top_table(&top, &layout);
        to_json(&top).unwrap();
    }
}

proptest! {
    #![proptest_config(few(10_000))]

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        // As they are, behind the magic of each packing, and behind the front of a profile.
        let gzip = b"\x1f\x8b\x08\0\0\0\0\0\0\xff";
        for front in [&b""[..], gzip, b"\x28\xb5\x2f\xfd", b"\x0a\x04\x08\x01\x10\x02"] {
            let _ = decode([front, &bytes].concat(), &mut SymbolTable::new());
        }
    }

    #[test]
    fn damaged_files_never_panic(seed in select(seeds()), edits in any_edits()) {
        let _ = decode(edited(&seed, &edits), &mut SymbolTable::new());
    }
}

/// Figures that no runtime writes, in a file that is whole.
fn any_odd_heap() -> impl Strategy<Value = Pprof> {
    let ends = [i64::MIN, i64::MIN + 1, -1, 0, 1, 2, i64::MAX];
    let figure = || {
        select(
            [
                &ends[..],
                &[-(1 << 40), 16, 4096, 1 << 20, 1 << 40, 1 << 60],
            ]
            .concat(),
        )
    };
    let value = select(vec![-1_i64, 0, 1, 3, 16, 4096, 1 << 30, 1 << 57]);
    let stack = prop::collection::vec("main\\.[a-c]", 0..4);
    let size = prop::option::weighted(0.8, figure());
    let row = (stack, size, prop::collection::vec(value, 0..6));
    let rows = prop::collection::vec(row, 0..8);
    let kinds = subsequence(HEAP_TYPES.to_vec(), 1..=4).prop_shuffle();
    let duration = prop_oneof![4 => Just(0), 1 => figure()];
    let odd = (rows, kinds, figure(), figure(), duration);
    odd.prop_map(|(rows, kinds, period, time, duration)| {
        let empty = Pprof::of_types(&kinds, ("space", "bytes"), period).with(|p| {
            p.time_nanos = time;
            p.duration_nanos = duration;
        });
        rows.into_iter().fold(empty, |heap, (stack, size, values)| {
            heap.row(&stack.join(" < "), size, &values)
        })
    })
}

proptest! {
    #![proptest_config(few(400))]

    #[test]
    fn damaged_files_never_panic_further_on(
        seed in select(vec![0_usize, 0, 0, 3, 4, 5, 6, 7]),
        edits in any_edits(),
        force in any::<bool>(),
    ) {
        let damaged = edited(&seeds()[seed], &edits);
        let mut series: Vec<Vec<u8>> = leaking_process(300, 4).iter().map(Pprof::raw).collect();
        series.push(damaged.clone());
        use_all(series, force);
        use_all(vec![damaged], force);
    }

    #[test]
    fn odd_figures_never_panic(
        heaps in prop::collection::vec(any_odd_heap(), 1..5),
        force in any::<bool>(),
    ) {
        let files: Vec<Vec<u8>> = heaps.iter().map(Pprof::raw).collect();
        // The same file again is surely of one process.
        use_all(vec![files[0].clone(); 2], force);
        use_all(files, force);
    }
}

proptest! {
    #![proptest_config(few(40))]

    #[test]
    fn a_real_profile_with_damage_never_panics(edits in any_edits()) {
        let real = gunzip(&crate::harness::read(&first_case().heaps()[0]));
        let desk = Desk::new();
        let file = desk.put("1.heap.pb", edited(&real, &edits));
        run("top", &[&file], &[]);
        run("diagnose", &[&file], &[]);
    }
}
