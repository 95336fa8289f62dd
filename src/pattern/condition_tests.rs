//! Single conditions held against made-up goroutines and stacks.

use super::goroutines::read_goroutines;
use super::matcher::{Standing, read_heap};
use super::{EvidenceView, GoroutineCondition, HeapCondition, HeapView, WeighedStack};
use crate::growth::{Crowds, Shape};
use crate::profile::{FrameId, GoroutineForm, GoroutineGroup, GoroutineProfile, SymbolTable};
use crate::site::{Classifier, SiteIndex};

/// One group of a snapshot: stack (leaf first), creator, state, longest wait, how many.
type Row<'r> = (&'r str, &'r str, &'r str, u32, u64);

/// A dump tells states, waits and creators; the other forms do not.
const DUMP: bool = true;
const PLAIN: bool = false;

fn frame(symbols: &mut SymbolTable, name: &str) -> FrameId {
    let (name, file) = (symbols.intern_str(name), symbols.intern_str(""));
    let function = symbols.intern_function(name, file);
    symbols.intern_frame(function, 1)
}

fn stack(symbols: &mut SymbolTable, names: &str) -> crate::profile::StackId {
    let frames: Vec<FrameId> = names
        .split(" < ")
        .map(|name| frame(symbols, name))
        .collect();
    symbols.intern_stack(&frames)
}

/// How a condition stands over these snapshots, and what it says.
fn goroutines(condition: &str, form: bool, snapshots: &[&[Row]]) -> (Standing, String) {
    let says = match condition.contains("says") {
        true => "",
        false => "says = '{count}'",
    };
    let condition: GoroutineCondition =
        toml::from_str(&format!("id = 'x'\n{says}\n{condition}")).expect("a condition");
    let mut symbols = SymbolTable::new();
    let profiles: Vec<GoroutineProfile> = snapshots
        .iter()
        .map(|rows| GoroutineProfile {
            form: match form {
                DUMP => GoroutineForm::Dump,
                PLAIN => GoroutineForm::Grouped,
            },
            lists_only_leaked: false,
            groups: rows
                .iter()
                .map(|(names, creator, state, wait, count)| GoroutineGroup {
                    stack: stack(&mut symbols, names),
                    created_by: (form == DUMP && !creator.is_empty())
                        .then(|| frame(&mut symbols, creator)),
                    state: (form == DUMP).then(|| symbols.intern_str(state)),
                    count: *count,
                    leaked: 0,
                    wait_minutes_min: (form == DUMP).then_some(0),
                    wait_minutes_max: (form == DUMP).then_some(*wait),
                })
                .collect(),
            time_nanos: None,
            warnings: Vec::new(),
        })
        .collect();
    let classifier = Classifier::new(vec!["example.com/app".to_owned()]);
    let sites = SiteIndex::new(&symbols, &classifier);
    let timed: Vec<(&GoroutineProfile, Option<i64>)> =
        profiles.iter().map(|profile| (profile, None)).collect();
    let crowds = Crowds::gather(&timed, &sites);
    let view = EvidenceView::new(&sites, &crowds, snapshots.len() == 1);
    let reading = read_goroutines(&condition, &view);
    (reading.standing, reading.sentence)
}

fn standing(condition: &str, form: bool, snapshots: &[&[Row]]) -> Standing {
    goroutines(condition, form, snapshots).0
}

/// Whether a condition holds of a heap of these stacks and weights.
fn heap(condition: &str, view: &HeapView, is_single: bool, stacks: &[(&str, u64, f64)]) -> bool {
    let condition: HeapCondition =
        toml::from_str(&format!("id = 'x'\nsays = '{{bytes}}'\n{condition}")).expect("a condition");
    let mut symbols = SymbolTable::new();
    let weighed: Vec<WeighedStack> = stacks
        .iter()
        .zip(0..)
        .map(|((names, size, weight), bucket)| WeighedStack {
            bucket,
            stack: stack(&mut symbols, names),
            size: *size,
            weight: *weight,
        })
        .collect();
    let sites = SiteIndex::new(&symbols, &Classifier::default());
    let crowds = Crowds::default();
    let whole = HeapView {
        total: weighed.iter().map(|stack| stack.weight).sum(),
        stacks: weighed,
        ..view.clone()
    };
    read_heap(
        &condition,
        &EvidenceView::new(&sites, &crowds, is_single),
        &whole,
    )
    .holds
}

use Standing::{Fails, Holds, Unknown};

#[test]
fn a_wait_is_asked_of_the_longest_where_waits_are_told() {
    let ask = "frame = 'main.send$'\nmin_wait_minutes = 10";
    let rows: &[Row] = &[
        ("main.send", "main.main", "chan send", 0, 5),
        ("main.send < main.retry", "main.main", "chan send", 12, 1),
        ("main.idle", "main.main", "chan receive", 90, 1),
    ];
    assert_eq!(standing(ask, DUMP, &[rows]), Holds);
    assert_eq!(
        standing(ask, DUMP, &[&rows[..1]]),
        Fails,
        "a minute at most"
    );
    assert_eq!(standing(ask, PLAIN, &[&rows[..1]]), Holds, "not told");
    // What they waited in an earlier snapshot is over.
    assert_eq!(standing(ask, DUMP, &[rows, &rows[..1]]), Fails);
    let says = format!("{ask}\nsays = '{{wait}} minutes, {{standing}}'");
    let (_, sentence) = goroutines(&says, DUMP, &[rows]);
    assert_eq!(sentence, "12 minutes, main.send");
}

#[test]
fn goroutines_are_blocked_in_the_programs_code_or_in_a_librarys() {
    let own = "blocked_in = ['application']";
    let direct = "blocked_in = ['application']\ndirectly = true";
    let library = "blocked_in = ['dependency']";
    let check = |names: &str, expect: [Standing; 3]| {
        let rows: &[Row] = &[(names, "main.main", "chan send", 0, 3)];
        let found = [own, direct, library].map(|ask| standing(ask, DUMP, &[rows]));
        assert_eq!(found, expect, "{names}");
    };
    check("example.com/app.send < main.main", [Holds, Holds, Fails]);
    check(
        "runtime.gopark < runtime.chansend < main.send",
        [Holds, Holds, Fails],
    );
    check("sync.(*Mutex).Lock < main.send", [Holds, Fails, Fails]);
    check("example.org/lib.push < main.send", [Fails, Fails, Holds]);
    // All of it is the standard library's, though the program started it.
    check("net/http.(*conn).serve", [Fails, Fails, Fails]);
    check("runtime.goexit", [Fails, Fails, Fails]);
}

#[test]
fn a_creator_is_asked_for_where_creators_are_told() {
    let ask = "created_by = 'main.start$'";
    let rows = |creator: &'static str| [("main.work", creator, "select", 0, 3)];
    assert_eq!(standing(ask, DUMP, &[&rows("main.start")]), Holds);
    assert_eq!(standing(ask, DUMP, &[&rows("main.other")]), Fails);
    assert_eq!(standing(ask, DUMP, &[&rows("")]), Fails, "nobody's");
    assert_eq!(standing(ask, PLAIN, &[&rows("main.other")]), Holds);
    // A frame of that name on the stack is not the creator.
    let on_stack: &[Row] = &[("main.work < main.start", "main.main", "select", 0, 3)];
    assert_eq!(standing(ask, DUMP, &[on_stack]), Fails);
}

#[test]
fn groups_are_as_many_within_a_tenth() {
    let ask = "frame = 'main.read$'\nequal_count = ['main.write$', 'main.watch$']";
    let rows = |read: u64, write: u64, watch: u64| {
        [
            ("main.read", "main.main", "IO wait", 0, read),
            ("main.write", "main.main", "select", 0, write),
            ("main.watch", "main.main", "select", 0, watch),
        ]
    };
    assert_eq!(standing(ask, DUMP, &[&rows(100, 95, 105)]), Holds);
    assert_eq!(standing(ask, DUMP, &[&rows(100, 95, 80)]), Fails);
    assert_eq!(standing(ask, DUMP, &[&rows(100, 95, 0)]), Fails);
    // The last snapshot counts, not the growth.
    let [before, after] = [rows(10, 70, 40), rows(100, 100, 100)];
    assert_eq!(standing(ask, DUMP, &[&before, &after]), Holds);
    assert_eq!(standing(ask, DUMP, &[&after, &before]), Fails);
    let growth = ask.replace("equal_count", "equal_growth");
    assert_eq!(standing(&growth, DUMP, &[&before, &after]), Fails);
    assert_eq!(standing(&growth, DUMP, &[&before]), Fails, "as many, alone");
    assert_eq!(standing(&growth, DUMP, &[&after]), Holds, "as many, alone");
}

#[test]
fn stacks_can_be_judged_one_by_one() {
    // Twenty that wait for their turn, each elsewhere, are no crowd.
    let names: Vec<String> = (0..20).map(|n| format!("main.worker{n}x")).collect();
    let many: Vec<Row> = names
        .iter()
        .map(|name| (name.as_str(), "main.main", "chan send", 30, 2))
        .collect();
    let ask = "frame = '^main'\nmin_count = 20";
    let alone = format!("{ask}\none_stack = true");
    assert_eq!(standing(ask, DUMP, &[&many]), Holds);
    assert_eq!(standing(&alone, DUMP, &[&many]), Fails);
    let crowd: Row = ("main.crowd", "main.main", "chan send", 1, 25);
    let rows: Vec<Row> = many.into_iter().chain([crowd]).collect();
    let (standing_alone, sentence) = goroutines(&alone, DUMP, &[&rows]);
    assert_eq!((standing_alone, sentence.as_str()), (Holds, "25"));
    // The crowd has not waited for long, the others are too few.
    let waited = format!("{alone}\nmin_wait_minutes = 10");
    assert_eq!(standing(&waited, DUMP, &[&rows]), Fails);
}

#[test]
fn what_only_a_dump_tells_is_unknown_without_one() {
    let ask = "frame = 'main.send$'\nstate = '^chan send$'\nneeds_dump = true";
    let rows: &[Row] = &[("main.send", "main.main", "chan send", 0, 3)];
    assert_eq!(standing(ask, DUMP, &[rows]), Holds);
    assert_eq!(standing(ask, PLAIN, &[rows]), Unknown);
    let plain = ask.replace("needs_dump = true", "");
    assert_eq!(standing(&plain, PLAIN, &[rows]), Holds, "not checked");
}

#[test]
fn the_absence_of_stacks_can_be_asked_for() {
    let ask = "site = 'lib\\.Put$'\nabsent = true\nmin_share = 0.2\nsuspect_share = 0.05";
    let view = HeapView::default();
    let put = "example.org/lib.Put < main.main";
    let check = |weight: f64, is_single: bool, expect: bool| {
        let stacks = [
            (put, 64, weight),
            ("main.keep < main.main", 64, 100.0 - weight),
        ];
        assert_eq!(heap(ask, &view, is_single, &stacks), expect, "{weight}");
    };
    check(10.0, false, true);
    check(30.0, false, false);
    check(10.0, true, false);
    check(1.0, true, true);
    assert!(heap(ask, &view, false, &[("main.keep", 64, 1.0)]));
}

#[test]
fn the_programs_own_code_can_be_asked_for() {
    let ask = "site = 'lib\\.Put$'\nunder_application = true";
    let view = HeapView::default();
    // Without told modules all that is not recognised as something else is the program's.
    assert!(heap(ask, &view, false, &[("lib.Put < main.main", 64, 1.0)]));
    let library = "a.com/b/vendor/lib.Put < runtime.goexit";
    assert!(!heap(ask, &view, false, &[(library, 64, 1.0)]));
}

#[test]
fn retention_and_shape_can_be_asked_for() {
    let stacks = [("main.keep < main.main", 64, 1.0)];
    let with = |retention: Option<f64>, shape: Option<Shape>| HeapView {
        retention,
        shape,
        ..HeapView::default()
    };
    let kept = "site = 'main.keep$'\nmin_retention = 0.8";
    let freed = "site = 'main.keep$'\nmax_retention = 0.2";
    let check = |ask: &str, retention: Option<f64>, expect: bool| {
        let view = with(retention, None);
        assert_eq!(heap(ask, &view, false, &stacks), expect, "{retention:?}");
        assert!(heap(ask, &view, true, &stacks), "not asked of one snapshot");
    };
    check(kept, Some(0.95), true);
    check(kept, Some(0.5), false);
    check(kept, None, false);
    check(freed, Some(0.1), true);
    check(freed, Some(0.5), false);
    let lasts = "site = 'main.keep$'\nshape = ['sustained', 'open']";
    let check = |shape: Option<Shape>, expect: bool| {
        assert_eq!(heap(lasts, &with(None, shape), false, &stacks), expect);
        assert!(heap(lasts, &with(None, shape), true, &stacks));
    };
    check(Some(Shape::Sustained), true);
    check(Some(Shape::Open), true);
    check(Some(Shape::Plateauing), false);
    check(Some(Shape::Step), false);
    check(Some(Shape::Sawtooth), false);
    check(None, false);
}
