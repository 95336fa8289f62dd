//! Each tier on heaps made by hand. Stacks are written leaf first, `name:line@start < …`; a row
//! is (stack, object size, bytes in use).

use super::*;
use crate::profile::{StackId, SymbolTable};
use crate::site::Classifier;

type Rows<'a> = &'a [(&'a str, u64, i64)];

#[derive(Default)]
struct World {
    symbols: SymbolTable,
}

impl World {
    fn stack(&mut self, text: &str, heap: &mut HeapProfile) -> StackId {
        let frames: Vec<_> = text
            .split(" < ")
            .map(|frame| {
                let (frame, start) = frame.split_once('@').unwrap_or((frame, "0"));
                let (name, line) = frame.rsplit_once(':').unwrap_or((frame, "0"));
                let (name, file) = match name.split_once('|') {
                    Some((name, file)) => (name, file),
                    None => (name, "/app/main.go"),
                };
                let (name, file) = (self.symbols.intern_str(name), self.symbols.intern_str(file));
                let function = self.symbols.intern_function(name, file);
                heap.functions.insert(function, start.parse().unwrap());
                self.symbols.intern_frame(function, line.parse().unwrap())
            })
            .collect();
        self.symbols.intern_stack(&frames)
    }

    fn heap(&mut self, rows: Rows) -> HeapProfile {
        let mut heap = HeapProfile::default();
        for (stack, size, bytes) in rows {
            let stack = self.stack(stack, &mut heap);
            let objects = bytes / (*size).max(1) as i64;
            heap.columns
                .push(stack, *size, [objects + 1, bytes + 1, objects, *bytes]);
        }
        heap.columns.normalise();
        heap
    }

    fn sites(&self) -> SiteIndex<'_> {
        SiteIndex::new(&self.symbols, &Classifier::default())
    }

    fn text(&self, bucket: Bucket) -> (String, u64) {
        let frames = self.symbols.stack(bucket.stack).map(|frame| {
            let frame = self.symbols.frame(frame);
            let name = self.symbols.function_name(frame.function);
            match frame.line {
                0 => name.to_owned(),
                line => format!("{name}:{line}"),
            }
        });
        (frames.collect::<Vec<_>>().join(" < "), bucket.size)
    }
}

/// What [`compare`] says, spelled out.
struct Told {
    tiers: Vec<(Tier, f64, f64)>,
    unmatched: [f64; 2],
    moves: Vec<(String, String, i64)>,
    /// Per side: (stack, size) → bytes, once counted by key.
    counted: [BTreeMap<(String, u64), i64>; 2],
}

fn told(before: Rows, after: Rows, is_same_code: bool) -> Told {
    let mut world = World::default();
    let heaps = [world.heap(before), world.heap(after)];
    let sites = world.sites();
    let comparison = compare(&sites, &heaps[0], &heaps[1], is_same_code);
    let tiers = comparison.tiers.iter();
    let name = |function| world.symbols.function_name(function).to_owned();
    Told {
        tiers: tiers
            .filter(|share| share.before + share.after > 0.0)
            .map(|share| (share.tier, share.before, share.after))
            .collect(),
        unmatched: comparison.unmatched,
        moves: comparison
            .moves
            .iter()
            .map(|moved| (name(moved.from), name(moved.to), moved.bytes))
            .collect(),
        counted: [0, 1].map(|side| {
            let mut counted = BTreeMap::new();
            let columns = &heaps[side].columns;
            for row in 0..columns.len() {
                let (stack, size) = columns.key(row);
                let bucket = Bucket { stack, size };
                let key = comparison.keys[side].get(&bucket).unwrap_or(&bucket);
                *counted.entry(world.text(*key)).or_default() += columns.inuse_space[row];
            }
            counted
        }),
    }
}

/// All bytes match in one tier, and count at the same places.
#[track_caller]
fn all_match(before: Rows, after: Rows, tier: Tier) -> Told {
    let told = told(before, after, false);
    assert_eq!(told.tiers, [(tier, 1.0, 1.0)], "{:?}", told.unmatched);
    let keys = |side: usize| told.counted[side].keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(0), keys(1));
    told
}

#[test]
fn equal_frames_match_by_lines() {
    let rows: Rows = &[("main.f:12@10 < main.main:5@1", 64, 640)];
    all_match(rows, rows, Tier::SameLines);
    // The file is of no account: builds are made in different directories.
    all_match(
        &[("main.f|/a/main.go:12 < main.main:5", 64, 640)],
        &[("main.f|/b/main.go:12 < main.main:5", 64, 640)],
        Tier::SameLines,
    );
    // Nor is the runtime below them, which another version of Go changes.
    all_match(
        &[("main.f:12 < runtime.main:267", 64, 640)],
        &[("main.f:12 < runtime.doInit1:7 < runtime.main:283", 64, 640)],
        Tier::SameLines,
    );
}

#[test]
fn code_that_moved_down_its_file_matches_by_offsets() {
    let told = all_match(
        &[
            ("main.f:12@10 < main.main:105@100", 64, 640),
            ("main.f:15@10 < main.main:105@100", 64, 64),
        ],
        &[
            ("main.f:15@13 < main.main:108@103", 64, 640),
            ("main.f:18@13 < main.main:108@103", 64, 64),
        ],
        Tier::SameOffsets,
    );
    // Line 15 of the first build is line 18 of the second, not line 15.
    let key = ("main.f:18 < main.main:108".to_owned(), 64);
    assert_eq!(told.counted[0][&key], 64);
}

#[test]
fn without_the_beginnings_of_functions_the_order_of_lines_counts() {
    let told = all_match(
        &[
            ("main.f:12 < main.main:105", 64, 640),
            ("main.f:15 < main.main:105", 64, 64),
        ],
        &[
            ("main.f:31 < main.main:108", 64, 640),
            ("main.f:38 < main.main:108", 64, 64),
        ],
        Tier::SameOffsets,
    );
    let key = ("main.f:38 < main.main:108".to_owned(), 64);
    assert_eq!(told.counted[0][&key], 64);
}

#[test]
fn lines_that_changed_match_by_name() {
    // Two lines became one.
    let told = all_match(
        &[
            ("main.f:12@10 < main.main:5@1", 64, 640),
            ("main.f:15@10 < main.main:5@1", 64, 64),
        ],
        &[("main.f:13@10 < main.main:5@1", 64, 704)],
        Tier::SameNames,
    );
    assert_eq!(told.counted[0], told.counted[1]);
    // A line more: what it holds counts with what was there.
    let told = super::tests::told(
        &[("main.f:12@10 < main.main:5@1", 64, 640)],
        &[
            ("main.f:12@10 < main.main:5@1", 64, 320),
            ("main.f:15@10 < main.main:5@1", 64, 320),
        ],
        false,
    );
    assert_eq!(
        told.tiers,
        [(Tier::SameLines, 1.0, 0.5), (Tier::SameNames, 0.0, 0.5)]
    );
    assert_eq!(told.counted[0], told.counted[1]);
}

#[test]
fn names_that_the_toolchain_changes_are_the_same() {
    for [old, new] in [
        ["main.run.func1", "main.run.func3"],
        ["main.run.func1", "main.serve.run.func2"],
        ["main.glob..func1", "main.init.func1"],
        ["main.Put[go.shape.int]", "main.Put[...]"],
        ["example.com/store.Put", "example.com/store/v2.Put"],
        [
            "example.com/app/vendor/example.com/store.Put",
            "example.com/store.Put",
        ],
        ["main.walk-range1", "main.walk.each.walk-range3"],
    ] {
        let stack = |leaf: &str, line: u32| format!("{leaf}:{line}@{line} < main.main:5@1");
        let (old, new) = (stack(old, 10), stack(new, 20));
        all_match(&[(&old, 64, 640)], &[(&new, 64, 640)], Tier::SameOffsets);
    }
    // A method value's wrapper, a goroutine's wrapper, recursion of another depth.
    all_match(
        &[("main.f:12@10 < main.T.run-fm:1@1 < main.walk:7@5", 64, 640)],
        &[(
            "main.f:12@10 < main.walk:8@5 < main.walk:9@5 < main.main.gowrap1:3@3",
            64,
            640,
        )],
        Tier::SameNames,
    );
}

#[test]
fn a_closures_package_is_found_by_its_file() {
    let told = told(
        &[
            ("lib.Wrap|lib/lib.go:9@1 < main.main:5@1", 32, 320),
            ("lib.Wrap.func1|lib/lib.go:4@2 < main.main:5@1", 64, 960),
        ],
        &[
            ("lib.Wrap|lib/lib.go:9@1 < main.main:5@1", 32, 320),
            // As Go 1.21 to 1.26 name it once it is inlined into `main.main`.
            (
                "main.main.Wrap.func2|lib/lib.go:4@2 < main.main:5@1",
                64,
                960,
            ),
        ],
        false,
    );
    assert_eq!(
        told.tiers,
        [
            (Tier::SameLines, 0.25, 0.25),
            (Tier::SameOffsets, 0.75, 0.75)
        ]
    );
}

#[test]
fn a_function_in_another_package_moved() {
    let told = all_match(
        &[(
            "main.(*Cache).put:12@10 < main.handle:25@20 < main.main:5@1",
            64,
            640,
        )],
        &[(
            "store.(*Cache).put|store/s.go:3@1 < main.handle:25@20 < main.main:5@1",
            64,
            704,
        )],
        Tier::Moved,
    );
    let moved = ("main.(*Cache).put".into(), "store.(*Cache).put".into(), 640);
    assert_eq!(told.moves, [moved]);
}

#[test]
fn a_function_split_off_moved_though_it_was_known() {
    let told = all_match(
        &[(
            "main.put:12@10 < main.handle:25@20 < main.main:5@1",
            64,
            640,
        )],
        &[(
            "main.grow:44@40 < main.put:12@10 < main.handle:25@20 < main.main:5@1",
            64,
            640,
        )],
        Tier::Moved,
    );
    assert_eq!(told.moves, [("main.put".into(), "main.grow".into(), 640)]);
}

#[test]
fn other_load_is_no_move() {
    // Both handlers are there in both builds: what changed is who is called.
    let both: Rows = &[
        ("main.red:1@1 < main.serve:9@9 < main.main:5@1", 8, 0),
        ("main.blue:2@2 < main.serve:9@9 < main.main:5@1", 8, 0),
    ];
    let red = (
        "main.buffer:6@6 < main.red:1@1 < main.serve:9@9 < main.main:5@1",
        64,
        640,
    );
    let blue = (
        "main.buffer:6@6 < main.blue:2@2 < main.serve:9@9 < main.main:5@1",
        64,
        640,
    );
    let with = |row| [both, &[row]].concat();
    let told = told(&with(red), &with(blue), false);
    assert_eq!(told.moves, []);
    // The site is the same, the place is not.
    assert_eq!(told.tiers, [(Tier::SameLines, 1.0, 1.0)]);
    assert_ne!(told.counted[0], told.counted[1]);
}

#[test]
fn unlike_code_is_in_one_build_only() {
    let told = told(
        &[
            ("a.f:1@1 < a.g:2@1 < a.run:3@1", 64, 640),
            ("main.f:1@1", 64, 160),
        ],
        &[
            ("b.h:1@1 < b.i:2@1 < b.run:3@1", 64, 600),
            ("main.f:1@1", 64, 200),
        ],
        false,
    );
    assert_eq!(told.tiers, [(Tier::SameLines, 0.2, 0.25)]);
    assert_eq!(told.unmatched, [0.8, 0.75]);
}

#[test]
fn objects_that_became_larger_are_the_same() {
    let told = all_match(
        &[("main.f:12@10 < main.main:5@1", 48, 480)],
        &[("main.f:12@10 < main.main:5@1", 64, 640)],
        Tier::SameLines,
    );
    assert_eq!(told.counted[0].values().collect::<Vec<_>>(), [&480]);
    // Of sizes far apart the place is the same, the bucket is not.
    let told = super::tests::told(
        &[("main.f:12@10 < main.main:5@1", 1024, 1024)],
        &[("main.f:15@13 < main.main:5@1", 8192, 8192)],
        false,
    );
    assert_eq!(told.tiers, [(Tier::SameOffsets, 1.0, 1.0)]);
    let place = "main.f:15 < main.main:5".to_owned();
    assert_eq!(
        told.counted[0],
        BTreeMap::from([((place.clone(), 1024), 1024)])
    );
    assert_eq!(told.counted[1], BTreeMap::from([((place, 8192), 8192)]));
    assert!(!line_up::is_near_size(64, 96) && line_up::is_near_size(512, 640));
}

#[test]
fn a_cut_stack_matches_from_its_leaf() {
    let stack = |depth: usize, line: usize| {
        let frames = (0..depth).map(|number| format!("main.f{number}:{}", number + line));
        frames.collect::<Vec<_>>().join(" < ")
    };
    let (cut, whole) = (stack(32, 1), stack(40, 2));
    let told = all_match(&[(&cut, 64, 640)], &[(&whole, 64, 640)], Tier::SameNames);
    assert_eq!(
        told.counted[0],
        BTreeMap::from([((whole.clone(), 64), 640)])
    );
    all_match(&[(&whole, 64, 640)], &[(&cut, 64, 640)], Tier::SameNames);
    // A short stack is whole: if the other one is longer, callers came in between.
    let short = stack(20, 1);
    let told = super::tests::told(&[(&short, 64, 640)], &[(&whole, 64, 640)], false);
    assert_eq!(told.tiers, [(Tier::Moved, 1.0, 1.0)]);
}

#[test]
fn of_the_same_code_only_lines_match() {
    let told = told(
        &[
            ("main.f:12@10 < main.main:5@1", 64, 320),
            ("main.g:22@20 < main.main:5@1", 64, 320),
        ],
        &[
            ("main.f:12@10 < main.main:5@1", 64, 320),
            ("main.g:23@20 < main.main:5@1", 64, 320),
        ],
        true,
    );
    assert_eq!(
        told.tiers,
        [(Tier::SameLines, 0.5, 0.5), (Tier::SamePackage, 0.5, 0.5)]
    );
    assert_eq!(told.counted[0].len(), 2);
    assert_ne!(told.counted[0], told.counted[1]);
}

#[test]
fn empty_heaps_have_no_shares() {
    let told = told(&[], &[("", 0, 0)], false);
    assert_eq!(told.tiers, []);
    assert_eq!(told.unmatched, [0.0; 2]);
}

#[test]
fn three_builds_count_at_the_place_in_the_last() {
    let mut world = World::default();
    let of_build = |world: &mut World, line: u32, gone: &str| {
        let start = line - 2;
        let kept = format!("main.f:{line}@{start} < main.main:5@1");
        let gone = format!("{gone}:9@1 < {gone}2:8@1 < x.y:3@1");
        world.heap(&[(&kept, 64, 640), (&gone, 32, 320)])
    };
    let first = of_build(&mut world, 12, "a.a");
    let second = of_build(&mut world, 22, "a.a");
    let third = of_build(&mut world, 32, "b.b");
    let sites = world.sites();
    let keys = keys_across_builds(&sites, &[vec![&first], vec![&second], vec![&third]]).keys;
    let count = |heap: &HeapProfile, keys: &Keys| -> Vec<(String, u64)> {
        let columns = &heap.columns;
        let keyed = (0..columns.len()).map(|row| {
            let (stack, size) = columns.key(row);
            let bucket = Bucket { stack, size };
            world.text(*keys.get(&bucket).unwrap_or(&bucket))
        });
        let mut all: Vec<_> = keyed.collect();
        all.sort();
        all
    };
    let last = count(&third, &keys[2]);
    assert_eq!(last[1].0, "main.f:32 < main.main:5");
    assert_eq!(count(&first, &keys[0])[1], last[1]);
    assert_eq!(count(&second, &keys[1]), count(&first, &keys[0]));
}

#[test]
fn a_moved_function_is_known_on_stacks_that_hold_nothing_any_more() {
    // The renewing path holds nothing yet in the second build; the starting path did not fill
    // what the first build still held.
    let told = all_match(
        &[("depot.Read:9@8 < depot.renew:5@2 < main.work:7@1", 64, 640)],
        &[
            (
                "shelves.Read|shelves.go:4@3 < depot.renew:6@2 < main.work:7@1",
                64,
                0,
            ),
            (
                "shelves.Read|shelves.go:4@3 < depot.renew:6@2 < main.work:8@1",
                64,
                640,
            ),
        ],
        Tier::Moved,
    );
    assert_eq!(
        told.moves,
        [("depot.Read".into(), "shelves.Read".into(), 640)]
    );
}

#[test]
fn a_site_called_from_elsewhere_keeps_its_place_in_the_last_build() {
    let mut world = World::default();
    let before = world.heap(&[("main.read:12@10 < main.old:5@1 < main.older:6@1", 64, 640)]);
    let after = world.heap(&[(
        "main.read:22@20 < main.new:5@1 < main.main:105@100",
        64,
        640,
    )]);
    let sites = world.sites();
    // Known by where the functions begin.
    let [translation] = &compare(&sites, &before, &after, false).translations[..] else {
        panic!("one bucket has no partner");
    };
    let lines: Vec<u32> = translation.frames.iter().map(|frame| frame.line).collect();
    assert_eq!(lines, [22, 5, 6]);
    // Learned from a stack that has a partner.
    let mut world = World::default();
    let shared = |line: u32| format!("main.read:{line} < main.kept:5 < main.main:7");
    let (old, new) = (shared(12), shared(31));
    let before = world.heap(&[
        (&old, 64, 640),
        ("main.read:12 < main.old:5 < main.x:1", 64, 64),
    ]);
    let after = world.heap(&[(&new, 64, 640)]);
    let sites = world.sites();
    let found = compare(&sites, &before, &after, false).translations;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].frames[0].line, 31);
}

#[test]
fn a_module_that_was_renamed_keeps_its_packages_apart() {
    let stacks = |module: &str| {
        [
            "red.Get",
            "blue.Get",
            "red.Put",
            "blue.Put",
            "red.Red",
            "blue.Blue",
        ]
        .map(|function| {
            let package = function.split('.').next().unwrap();
            format!("{module}/{function}:5@1 < {module}/{package}.run:9@7 < {module}.main:3@1")
        })
    };
    fn rows(stacks: &[String]) -> Vec<(&str, u64, i64)> {
        stacks
            .iter()
            .map(|stack| (stack.as_str(), 64, 640))
            .collect()
    }
    let (old, new) = (stacks("old.com/app"), stacks("new.com/app"));
    let told = all_match(&rows(&old), &rows(&new), Tier::Moved);
    // `Get` of `red` is in `red`, though `blue` has one too.
    let name = |module: &str| format!("{module}/red.Get");
    let moved = (name("old.com/app"), name("new.com/app"), 640);
    assert!(told.moves.contains(&moved), "{:?}", told.moves);
    assert_eq!(told.moves.len(), 6);
}
