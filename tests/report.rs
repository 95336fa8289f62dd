//! Reports of results that were built by hand: their layout, their width, and the JSON schemas.

use heapdrift::diagnosis::*;
use heapdrift::report::*;
use jsonschema::Validator;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

const MIB: f64 = 1_048_576.0;

fn mib(size: f64) -> i64 {
    (size * MIB) as i64
}

/// The example of the project's design: six snapshots of a logger that is never set.
fn leak() -> Diagnosis {
    let series = [7.3, 9.0, 10.9, 12.8, 14.5, 16.4].map(|size| size * MIB);
    let site = |function: &str, line, before: f64, after: f64| FindingSite {
        function: format!("sigs.k8s.io/controller-runtime/pkg/log.{function}"),
        file: Some("/go/pkg/mod/sigs.k8s.io/controller-runtime@v0.6.5/pkg/log/deleg.go".into()),
        line: Some(line),
        before: Some(before * MIB),
        after: after * MIB,
        delta: Some((after - before) * MIB),
        sd: Some(1.3 * MIB),
        object_size: Some(80),
        series: series.to_vec(),
    };
    Diagnosis {
        schema_version: SCHEMA_VERSION,
        verdict: Verdict::Leak,
        inputs: vec![
            Input {
                source: "captures/1.heap.pb.gz".into(),
                kind: "heap",
                taken_at: Some("2026-11-30T09:30:00Z".into()),
                inuse_bytes: Some(mib(20.1)),
                goroutines: None,
                build_id: Some("b4f3a2c1d0e9f8a7b6c5".into()),
                used: true,
                warnings: vec![],
            },
            Input {
                source: "captures/x.heap.pb.gz".into(),
                kind: "left-out",
                taken_at: None,
                inuse_bytes: None,
                goroutines: None,
                build_id: None,
                used: false,
                warnings: vec!["the file is empty; fetch it again".into()],
            },
        ],
        series: SeriesSummary {
            snapshots: 6,
            window_seconds: Some(3000.0),
            gc_points: 6,
            gc_cycles: Some(85),
            repeats: 0,
            restarts: 0,
            is_one_process: true,
            sampling_period: Some(524_288),
            detection_limit_bytes: Some(2.5 * MIB),
            // 2.5 MiB in 50 minutes.
            detection_limit_bytes_per_hour: Some(3.0 * MIB),
            tests: 23,
        },
        totals: Totals {
            first_bytes: Some(mib(20.1)),
            first_sd: Some(1.1 * MIB),
            last_bytes: Some(mib(29.6)),
            last_sd: Some(1.2 * MIB),
            bytes_per_hour: Some(11.4 * MIB),
            ci95: Some([10.2 * MIB, 12.6 * MIB]),
            series: [20.1, 21.9, 23.7, 25.8, 27.5, 29.6].map(mib).to_vec(),
            goroutines: vec![41, 41, 42, 41, 41, 41],
        },
        timeline: moments(),
        sites: vec![
            site("(*loggerPromise).WithValues", 52, 7.3, 16.4),
            site("(*DelegatingLogger).WithValues", 112, 1.1, 3.0),
            site("<b>.Steady", 7, 2.0, 2.0),
        ],
        sites_unshown: Unshown {
            rows: 6,
            bytes: 0.3 * MIB,
        },
        findings: vec![Finding {
            pattern: Some("logger-promise-chain".into()),
            title: "Logger promises pile up because no logger was ever set".into(),
            verdict: FindingVerdict::Leak,
            rests_on: vec!["heap"],
            confidence: 0.92,
            culprit: Some(Culprit {
                function: "example.com/operator/internal/controller.(*Controller).reconcileHandler"
                    .into(),
                file: Some("/src/internal/controller/controller.go".into()),
                line: Some(240),
                seen_in: "heap",
                basis: "97 % of this growth passes through it".into(),
            }),
            growth: Some(FindingGrowth {
                bytes: 9.5 * MIB,
                sd_bytes: Some(0.5 * MIB),
                bytes_per_hour: Some(11.4 * MIB),
                ci95: Some([10.2 * MIB, 12.6 * MIB]),
                median_bytes_per_hour: Some(11.3 * MIB),
                p_value: Some(1e-12),
                objects: 124_518.0,
                retention: Some(0.98),
                churn: Some(1.02),
            }),
            course: Some(Course {
                thirds: [3.1, 3.2, 3.2]
                    .into_iter()
                    .zip([0.0, 1000.0, 2000.0])
                    .map(|(grown, from)| Third {
                        seconds: Some([from, from + 1000.0]),
                        bytes: grown * MIB,
                        p_value: Some(0.002),
                    })
                    .collect(),
                largest_interval_share: 0.25,
                draw_down_share: Some(0.0),
                dispersion: Some(1.1),
                warm_up_seconds: None,
            }),
            other_runs: Some(OtherRuns {
                runs: 2,
                grew: 2,
                sustained: 1,
                pooled_p_value: Some(1e-20),
            }),
            share: Some(0.655),
            sites: vec![
                site("(*loggerPromise).WithValues", 52, 7.3, 16.4),
                site("(*DelegatingLogger).WithValues", 112, 1.1, 3.0),
            ],
            sites_unshown: Unshown {
                rows: 134,
                bytes: 12.3 * MIB,
            },
            goroutines: vec![FindingGoroutines {
                function: "k8s.io/client-go/tools/cache.(*processorListener).run".into(),
                created_by: Some("k8s.io/apimachinery/pkg/util/wait.(*Group).Start".into()),
                state: Some("chan receive".into()),
                before: 12,
                after: 12,
                leaked: 0,
                wait_minutes: Some(50),
                series: vec![12; 6],
            }],
            callers: Vec::new(),
            path: vec![
                "example.com/operator/internal/controller.(*Controller).reconcileHandler".into(),
                "sigs.k8s.io/controller-runtime/pkg/log.(*loggerPromise).WithValues".into(),
            ],
            evidence: vec![
                "grew in every third of the window: +3.1 MiB, +3.2 MiB, +3.2 MiB".into(),
            ],
            would_change: vec!["growth that levels off would make this a cache that fills".into()],
            why: "every WithValues on a logger that was never fulfilled is kept by its parent"
                .into(),
            fix: "call ctrl.SetLogger in main before the manager starts".into(),
            references: vec!["kubernetes-sigs/controller-runtime#1122".into()],
            also_matches: Some("stale-watchers".into()),
        }],
        not_a_leak: vec![NotALeak {
            name: NotALeakName::GcHeadroom,
            text: "the collector lets the heap grow to twice what is live".into(),
            bytes: Some(29.6 * MIB),
        }],
        memory: Some(memory()),
        forecast: Forecast {
            limit_bytes: Some(512 << 20),
            limit_from: Some("given"),
            held_bytes: Some(70 << 20),
            held_from: Some("rss"),
            factor: Some(2.0),
            earliest_hours: Some(31.0),
            latest_hours: Some(38.0),
            reason: None,
        },
        identity: Some(identity()),
        warnings: vec![
            "captures/x.heap.pb.gz is left out: the file is empty; fetch it again".into(),
        ],
        next_steps: vec!["the window is short: confirm with a longer one".into()],
    }
}

/// Six snapshots of the judged process, and one of the process before it.
fn moments() -> Vec<Moment> {
    let sizes = [35.0, 20.1, 21.9, 23.7, 25.8, 27.5, 29.6].map(mib);
    let moments = sizes.into_iter().enumerate();
    moments
        .map(|(number, bytes)| Moment {
            source: format!("captures/{number}.heap.pb.gz"),
            taken_at: Some(format!(
                "2026-11-30T{:02}:{:02}:00Z",
                9 + number / 6,
                number % 6 * 10
            )),
            seconds: Some(number as f64 * 600.0 - 600.0),
            run: usize::from(number > 0),
            used: number > 0,
            repeats_previous: number == 4,
            inuse_bytes: Some(bytes),
            goroutines: Some(41),
        })
        .collect()
}

/// 29.6 MiB live of 70 MiB resident: 30 + 8.2 + 1 + 0.6 + 5 + 25.2. Every figure is there.
fn memory() -> MemoryBreakdown {
    let bytes = |size: f64| Some((size * MIB) as u64);
    let change = |size: f64| Some(mib(size));
    MemoryBreakdown {
        profile_inuse: Some(mib(29.6)),
        live: bytes(29.6),
        live_from: Some("heap-alloc"),
        heap_alloc: bytes(30.0),
        heap_inuse: bytes(38.2),
        fragmentation: bytes(8.2),
        heap_idle_kept: bytes(1.0),
        heap_released: bytes(12.4),
        stacks: bytes(0.6),
        runtime: bytes(5.0),
        sys: bytes(57.2),
        held: bytes(44.8),
        rss: bytes(70.0),
        native: Some(mib(25.2)),
        max_rss: bytes(75.0),
        next_gc: bytes(59.2),
        garbage_headroom: bytes(29.6),
        gogc_percent: Some(100),
        gogc_factor: Some(2.0),
        gogc_seen_percent: Some(98.0),
        gogc_change: Some([200.0, 100.0]),
        go_memory_limit: bytes(450.0),
        cgroup_anon: bytes(68.0),
        cgroup_file: bytes(20.0),
        cgroup_inactive_file: bytes(12.0),
        cgroup_current: bytes(90.0),
        cgroup_limit: bytes(512.0),
        change: MemoryChange {
            profile_inuse: change(9.5),
            heap_alloc: change(9.6),
            heap_inuse: change(10.0),
            fragmentation: change(0.4),
            heap_idle_kept: change(-2.5),
            heap_released: change(3.0),
            stacks: change(0.0),
            runtime: None,
            sys: change(11.0),
            held: change(8.0),
            rss: change(33.0),
            native: change(25.0),
            max_rss: change(33.0),
            cgroup_anon: change(33.0),
            cgroup_file: change(0.0),
        },
    }
}

/// One snapshot with one suspect; whatever can be missing is missing.
fn single() -> Diagnosis {
    let mut diagnosis = leak();
    diagnosis.identity = None;
    diagnosis.verdict = Verdict::Undecided;
    diagnosis.series = SeriesSummary {
        snapshots: 1,
        window_seconds: None,
        gc_points: 1,
        gc_cycles: None,
        repeats: 0,
        restarts: 0,
        is_one_process: true,
        sampling_period: None,
        detection_limit_bytes: None,
        detection_limit_bytes_per_hour: None,
        tests: 0,
    };
    diagnosis.totals = Totals {
        first_bytes: Some(mib(29.6)),
        first_sd: None,
        last_bytes: Some(mib(29.6)),
        last_sd: None,
        bytes_per_hour: None,
        ci95: None,
        series: vec![mib(29.6)],
        goroutines: vec![],
    };
    diagnosis.timeline.truncate(1);
    diagnosis.timeline[0].used = true;
    for site in &mut diagnosis.sites {
        (site.before, site.delta) = (None, None);
        site.series.truncate(1);
    }
    let finding = &mut diagnosis.findings[0];
    finding.verdict = FindingVerdict::Suspect;
    finding.growth = None;
    finding.course = None;
    finding.other_runs = None;
    finding.would_change = Vec::new();
    finding.culprit = None;
    finding.also_matches = None;
    finding.sites_unshown = Unshown::default();
    for site in &mut finding.sites {
        (
            site.before,
            site.delta,
            site.object_size,
            site.file,
            site.line,
        ) = (None, None, None, None, None);
    }
    for group in &mut finding.goroutines {
        (group.created_by, group.state, group.wait_minutes) = (None, None, None);
    }
    diagnosis.memory = None;
    diagnosis.forecast = Forecast::default();
    diagnosis.not_a_leak[0].bytes = None;
    diagnosis
}

/// Nothing found.
fn steady() -> Diagnosis {
    let mut diagnosis = leak();
    diagnosis.verdict = Verdict::Steady;
    diagnosis.findings.clear();
    diagnosis.not_a_leak.clear();
    diagnosis.warnings.clear();
    diagnosis.next_steps.clear();
    diagnosis.memory = None;
    diagnosis.forecast = Forecast {
        limit_bytes: None,
        reason: Some("no memory limit was given".into()),
        ..Forecast::default()
    };
    diagnosis.identity = None;
    diagnosis
}

fn identity() -> Identity {
    let tier = |tier, share| IdentityTier {
        tier,
        share,
        before_share: share,
        after_share: share,
    };
    Identity {
        is_other_build: true,
        builds: ["b4f3a2c1".into(), "unknown".into()],
        before: "1.heap.pb.gz".into(),
        after: "2.heap.pb.gz".into(),
        tiers: vec![
            tier(Tier::SameLines, 0.81),
            tier(Tier::SameOffsets, 0.0),
            tier(Tier::SameNames, 0.12),
            tier(Tier::Moved, 0.05),
            tier(Tier::SamePackage, 0.0),
        ],
        unmatched: IdentityShares {
            share: 0.02,
            before_share: 0.01,
            after_share: 0.03,
        },
        moves: vec![IdentityMove {
            from: "example.com/shop/internal/store.(*Old).Put".into(),
            to: "main.(*New).Put".into(),
            bytes: mib(3.0),
        }],
        moves_unshown: Unshown::default(),
    }
}

fn diff() -> Diff {
    let row = |function: &str, before: f64, after: f64, objects, verdict| DiffRow {
        function: function.into(),
        file: Some("/src/store/cache.go".into()),
        line: Some(17),
        object_size: Some(4096),
        before_bytes: mib(before),
        after_bytes: mib(after),
        delta_bytes: mib(after) - mib(before),
        sd_bytes: Some(1.3 * MIB),
        delta_objects: objects,
        p_value: Some(0.001),
        verdict,
        moved_from: None,
    };
    let side = |source: &str, minute, size| DiffSide {
        source: source.into(),
        taken_at: Some(format!("2026-11-30T09:{minute}:00Z")),
        inuse_bytes: mib(size),
        sampling_period: Some(524_288),
    };
    Diff {
        schema_version: SCHEMA_VERSION,
        before: side("1.heap.pb.gz", 30, 20.0),
        after: side("2.heap.pb.gz", 40, 28.0),
        total: DiffTotal {
            delta_bytes: mib(8.0),
            sd_bytes: Some(1.9 * MIB),
            seconds: Some(600.0),
            detection_limit_bytes: Some(3.5 * MIB),
        },
        rows: vec![
            row(
                "example.com/shop/internal/store.(*Cache[go.shape.string]).Put",
                0.0,
                9.1,
                2330,
                RowVerdict::Grew,
            ),
            row("main.load", 6.0, 0.0, -1536, RowVerdict::Shrank),
            DiffRow {
                moved_from: Some("example.com/shop/internal/store.(*Old).Put".into()),
                ..row("main.(*New).Put", 3.0, 3.1, 12, RowVerdict::Moved)
            },
            row("bytes.growSlice", 1.0, 2.0, 256, RowVerdict::WithinNoise),
            DiffRow {
                file: None,
                line: None,
                object_size: None,
                sd_bytes: None,
                p_value: None,
                ..row("0x420cee", 1.0, 1.5, 128, RowVerdict::Unknown)
            },
        ],
        unshown: Unshown {
            rows: 12,
            bytes: 3.4 * MIB,
        },
        identity: Some(identity()),
        warnings: vec![
            "the snapshots come from 2 different builds; sites are matched by name".into(),
        ],
    }
}

fn top() -> Top {
    let row = |function: &str, flat: f64, cum: f64| TopRow {
        function: function.into(),
        file: None,
        flat_bytes: mib(flat),
        flat_se: Some(0.7 * MIB),
        flat_share: flat / 16.0,
        flat_objects: 1503,
        cum_bytes: mib(cum),
        cum_se: None,
        cum_share: cum / 16.0,
    };
    Top {
        schema_version: SCHEMA_VERSION,
        source: "heap.pb.gz".into(),
        taken_at: Some("2026-11-30T09:30:00Z".into()),
        sampling_period: Some(524_288),
        total_bytes: mib(16.0),
        total_se: Some(2.3 * MIB),
        rows: vec![
            row("example.com/shop/internal/store.(*Cache).Put", 12.0, 12.0),
            row("main.main", 0.0, 16.0),
        ],
        unshown: Unshown {
            rows: 3,
            bytes: 4.0 * MIB,
        },
        warnings: vec![],
    }
}

fn at(width: usize) -> Layout {
    Layout {
        width,
        ..Layout::default()
    }
}

fn every_report(layout: &Layout) -> Vec<String> {
    vec![
        diagnosis_table(&leak(), layout),
        diagnosis_table(&single(), layout),
        diagnosis_table(&steady(), layout),
        diff_table(&diff(), layout),
        top_table(&top(), layout),
    ]
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [60, 72, 80, 81, 100, 109, 110, 120, 160, 200] {
        for verbose in [false, true] {
            let layout = Layout {
                verbose,
                ..at(width)
            };
            for report in every_report(&layout) {
                for line in report.lines() {
                    assert!(line.width() <= width, "{} > {width}: {line}", line.width());
                    assert_eq!(line, line.trim_end(), "no spaces at the end");
                }
                assert!(report.ends_with('\n') && !report.contains("\n\n\n"));
            }
        }
    }
}

#[test]
fn colour_changes_nothing_but_escape_sequences() {
    let colored = Layout {
        color: true,
        ..at(80)
    };
    for (with, without) in every_report(&colored).iter().zip(every_report(&at(80))) {
        assert_eq!(anstream::adapter::strip_str(with).to_string(), without);
    }
    assert!(diagnosis_table(&leak(), &colored).contains("\x1b["));
    assert!(!diagnosis_table(&leak(), &at(80)).contains('\x1b'));
}

#[test]
fn hostile_names_never_reach_the_terminal_raw() {
    let hostile = "evil\x1b]0;x\x07\u{9b}2J\u{202e}\u{200b}\r\nLEAK  forged\t";
    let mut diagnosis = leak();
    let finding = &mut diagnosis.findings[0];
    finding.sites[0].function = hostile.into();
    finding.sites[0].file = Some(hostile.into());
    finding.goroutines[0].function = hostile.into();
    finding.goroutines[0].state = Some(hostile.into());
    finding.goroutines[0].created_by = Some(hostile.into());
    finding.path = vec![hostile.into(), hostile.into()];
    finding.evidence = vec![hostile.into()];
    finding.title = hostile.into();
    finding.pattern = Some(hostile.into());
    finding.why = hostile.into();
    finding.fix = hostile.into();
    finding.references = vec![hostile.into()];
    finding.also_matches = Some(hostile.into());
    if let Some(culprit) = &mut finding.culprit {
        culprit.function = hostile.into();
        culprit.file = Some(hostile.into());
        culprit.basis = hostile.into();
    }
    diagnosis.inputs[0].source = hostile.into();
    diagnosis.inputs[0].build_id = Some(hostile.into());
    diagnosis.inputs[1].warnings = vec![hostile.into()];
    diagnosis.warnings = vec![hostile.into()];
    diagnosis.next_steps = vec![hostile.into()];
    diagnosis.not_a_leak[0].text = hostile.into();
    let mut diff = diff();
    diff.before.source = hostile.into();
    diff.rows[0].function = hostile.into();
    diff.rows[0].file = Some(hostile.into());
    diff.warnings = vec![hostile.into()];
    let mut top = top();
    top.source = hostile.into();
    top.rows[0].function = hostile.into();
    top.warnings = vec![hostile.into()];
    for width in [60, 80, 160] {
        let layout = Layout {
            verbose: true,
            ..at(width)
        };
        for text in [
            diagnosis_table(&diagnosis, &layout),
            diff_table(&diff, &layout),
            top_table(&top, &layout),
            to_json(&diagnosis).unwrap(),
            to_json(&diff).unwrap(),
            to_json(&top).unwrap(),
        ] {
            let is_raw =
                |c: char| c != '\n' && (c.is_control() || matches!(c, '\u{202e}' | '\u{200b}'));
            let raw = text.chars().find(|c| is_raw(*c));
            assert_eq!(raw, None, "{text}");
            assert!(
                !text
                    .lines()
                    .any(|line| line.trim_start().starts_with("LEAK  forged")),
                "{text}"
            );
            assert!(
                text.lines()
                    .all(|line| line.width() <= width || text.starts_with('{'))
            );
        }
    }
}

#[test]
fn json_is_what_the_schemas_say() {
    for diagnosis in [leak(), single(), steady()] {
        check_schema(DIAGNOSIS_SCHEMA, &to_json(&diagnosis).unwrap());
    }
    check_schema(DIFF_SCHEMA, &to_json(&diff()).unwrap());
    check_schema(TOP_SCHEMA, &to_json(&top()).unwrap());
}

fn check_schema(schema: &str, json: &str) {
    let validator = validator(schema);
    let value: Value = serde_json::from_str(json).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

fn validator(schema: &str) -> Validator {
    let schema: Value = serde_json::from_str(schema).unwrap();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

#[test]
fn the_schemas_are_strict() {
    let validator = validator(DIAGNOSIS_SCHEMA);
    let good: Value = serde_json::from_str(&to_json(&leak()).unwrap()).unwrap();
    type Damage = fn(&mut Value);
    let breaks: [(&str, Damage); 6] = [
        ("an unknown key", |v| v["extra"] = 1.into()),
        ("an unknown key within", |v| {
            v["findings"][0]["sites"][0]["extra"] = 1.into()
        }),
        ("a missing key", |v| {
            v["series"].as_object_mut().unwrap().remove("tests");
        }),
        ("another verdict", |v| v["verdict"] = "suspect".into()),
        ("a text for a number", |v| {
            v["totals"]["last_bytes"] = "1".into()
        }),
        ("another version", |v| v["schema_version"] = 2.into()),
    ];
    assert!(validator.is_valid(&good));
    for (what, damage) in breaks {
        let mut value = good.clone();
        damage(&mut value);
        assert!(!validator.is_valid(&value), "{what}");
    }
}

#[test]
fn rows_that_are_cut_are_counted() {
    let mut diff = diff();
    cut_diff(&mut diff, 1);
    // 12 rows before; −6.0, +0.1, +1.0 and +0.5 MiB come to them.
    assert_eq!((diff.rows.len(), diff.unshown.rows), (1, 16));
    assert!((diff.unshown.bytes - (3.4 - 6.0 + 0.1 + 1.0 + 0.5) * MIB).abs() < 10.0);
    cut_diff(&mut diff, usize::MAX);
    assert_eq!((diff.rows.len(), diff.unshown.rows), (1, 16));
    let mut top = top();
    cut_top(&mut top, 0);
    assert_eq!(
        (top.rows.len(), top.unshown.rows, top.unshown.bytes),
        (0, 5, 16.0 * MIB)
    );
    let mut diagnosis = single();
    cut_diagnosis(&mut diagnosis, 1);
    let finding = &diagnosis.findings[0];
    // The second site holds 3.0 MiB; a single snapshot has no change.
    assert_eq!((finding.sites.len(), finding.sites_unshown.rows), (1, 1));
    assert_eq!(finding.sites_unshown.bytes, 3.0 * MIB);
}

#[test]
fn a_steady_report_says_what_it_could_have_missed() {
    let report = diagnosis_table(&steady(), &at(160));
    assert!(
        report.contains("STEADY: nothing on the heap grew beyond noise in 50 min"),
        "{report}"
    );
    // 2.5 MiB over 3000 s is 3.0 MiB an hour.
    let missed = "a leak of up to about 2.5 MiB (3.0 MiB/h) at one place can have gone unseen";
    assert!(report.contains(missed), "{report}");
    assert!(!report.contains("limit"), "no limit was given: {report}");
}

#[test]
fn a_forecast_says_what_its_limit_is() {
    let said = |change: fn(&mut Forecast)| {
        let mut diagnosis = leak();
        change(&mut diagnosis.forecast);
        let report = diagnosis_table(&diagnosis, &at(160));
        let line = report.lines().find(|line| line.starts_with("limit"));
        line.unwrap_or_default().to_owned()
    };
    for (change, expected) in [
        (
            (|_| {}) as fn(&mut Forecast),
            "512.0 MiB reached in 31 to 38 h (70.0 MiB now)",
        ),
        (
            |f| f.latest_hours = None,
            "512.0 MiB reached in 31 h at the earliest (70.0 MiB now)",
        ),
        (
            |f| f.earliest_hours = Some(0.0),
            "512.0 MiB reached within 38 h (70.0 MiB now)",
        ),
        (
            |f| f.limit_from = Some("cgroup"),
            "512.0 MiB of the control group reached in 31 to 38 h (70.0 MiB now)",
        ),
        (
            |f| f.reason = Some("no".into()),
            "512.0 MiB (70.0 MiB now): no",
        ),
    ] {
        assert_eq!(said(change), format!("limit       {expected}"));
    }
}

#[test]
fn memory_figures_that_are_missing_are_left_out() {
    let mut diagnosis = steady();
    diagnosis.memory = Some(MemoryBreakdown::default());
    assert_eq!(
        diagnosis_table(&diagnosis, &at(80)),
        diagnosis_table(&steady(), &at(80))
    );
    check_schema(DIAGNOSIS_SCHEMA, &to_json(&diagnosis).unwrap());
    // A control group alone.
    diagnosis.memory = Some(MemoryBreakdown {
        cgroup_anon: Some(5 << 20),
        ..MemoryBreakdown::default()
    });
    let report = diagnosis_table(&diagnosis, &at(80));
    assert!(
        report.contains("\nmemory      anonymous 5.0 MiB\n"),
        "{report}"
    );
}

#[test]
fn a_diagnosis_in_80_columns() {
    insta::assert_snapshot!(diagnosis_table(&leak(), &at(80)));
}

#[test]
fn a_diagnosis_in_160_columns_with_inputs() {
    let layout = Layout {
        verbose: true,
        ..at(160)
    };
    insta::assert_snapshot!(diagnosis_table(&leak(), &layout));
}

#[test]
fn a_single_snapshot_in_80_columns() {
    insta::assert_snapshot!(diagnosis_table(&single(), &at(80)));
}

#[test]
fn a_diff_in_80_columns() {
    insta::assert_snapshot!(diff_table(&diff(), &at(80)));
}

#[test]
fn a_diff_in_160_columns() {
    insta::assert_snapshot!(diff_table(&diff(), &at(160)));
}

#[test]
fn a_top_list_in_80_columns() {
    insta::assert_snapshot!(top_table(&top(), &at(80)));
}

#[test]
fn markdown_says_what_the_table_says() {
    let text = diagnosis_markdown(&leak(), &SourceLinks::default());
    for part in [
        "## heapdrift: LEAK\n",
        "### 1. LEAK `logger-promise-chain`, +11.4 MiB/h (95 %: 10.2 to 12.6)",
        "\nsigs.k8s.io/controller-runtime/pkg/log.(*loggerPromise).WithValues ",
        "`/src/internal/controller/controller.go:240`",
        "7.3 → 16.4 MiB",
        "… 134 more sites, 12.3 MiB",
        "call ctrl.SetLogger in main",
        "- **gc-headroom**, 29.6 MiB",
        "70.0 MiB resident",
        "31 to 38 h",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let opened = text.matches("<details>").count();
    assert_eq!(opened, text.matches("</details>").count());
    assert!(opened >= 4);
    let diff = diff_markdown(&diff());
    for part in ["+8.0 ±1.9 MiB", "… 12 more sites, +3.4 MiB", "main.load"] {
        assert!(diff.contains(part), "{part}: {diff}");
    }
    let top = top_markdown(&top());
    assert!(top.contains("16.0 ±2.3 MiB in use") && top.contains("… 3 more functions"));
}

#[test]
fn markdown_links_what_is_in_the_repository() {
    let links = SourceLinks::find(
        ["/src/internal/controller/controller.go"].into_iter(),
        |path| path == "internal/controller/controller.go",
    );
    let text = diagnosis_markdown(&leak(), &links);
    let link = "[`internal/controller/controller.go:240`](internal/controller/controller.go#L240)";
    assert!(text.contains(link), "{text}");
}

#[test]
fn markdown_stays_within_64_kb_and_counts_what_it_cuts() {
    let mut diagnosis = leak();
    let long = "example.com/".to_owned() + &"x".repeat(1500);
    diagnosis.findings[0].sites[0].function = long.clone();
    diagnosis.findings[0].evidence = vec![long.clone(); 40];
    diagnosis.findings = vec![diagnosis.findings[0].clone(); 300];
    diagnosis.warnings = vec![long.clone(); 500];
    diagnosis.inputs = vec![diagnosis.inputs[0].clone(); 20_000];
    let text = diagnosis_markdown(&diagnosis, &SourceLinks::default());
    assert!(text.len() <= 64_000, "{}", text.len());
    assert!(text.len() > 40_000, "{}", text.len());
    // What is shown and what is counted are all 300 findings.
    let shown = text.matches("\n### ").count();
    let left_out = format!("{} more findings", 300 - shown);
    assert!(
        text.contains(&left_out),
        "{shown} shown, not counted: {left_out}"
    );
    assert!(text.contains("Inputs (20000)"));
    let mut wide = diff();
    wide.rows = vec![wide.rows[0].clone(); 9000];
    let text = diff_markdown(&wide);
    assert!(text.len() <= 64_000);
    let shown = text.matches(".Put\n").count();
    let counted = 9000 - shown + 12;
    let told = format!("… {},{:03} more sites", counted / 1000, counted % 1000);
    assert!(text.contains(&told), "{shown} shown, not told: {told}");
}
