//! The HTML pages in a real browser: in both widths and both schemes, with and without script,
//! against the JSON of the same diagnosis. Needs Chromium; says so where it is skipped.
//!
//! `HEAPDRIFT_SHOTS=DIR cargo test --test browser` writes the screenshots there;
//! `HEAPDRIFT_UPDATE=1 cargo test --test browser` draws the README's anew.

mod support;

#[path = "browser/devtools.rs"]
mod devtools;

use base64::Engine;
use devtools::{Browser, View};
use serde_json::Value;
use std::path::{Path, PathBuf};
use support::profiles::Pprof;
use support::{cases, heapdrift, skipped};

/// A leak of the heap, one of goroutines, and a program that is sound.
const CASES: [&str; 3] = ["logger-promise-chain", "stale-watchers", "gogc-change"];

fn browser() -> Option<Browser> {
    let started = Browser::start();
    if started.is_none() {
        skipped("Chromium is not installed, so no HTML page was opened");
    }
    started
}

/// A case's page, and what the JSON says.
fn page(dir: &Path, case: &str) -> Option<(PathBuf, Value)> {
    let found = cases().into_iter().find(|known| known.name == case)?;
    Some(write_page(dir, case, &found.dir))
}

fn write_page(dir: &Path, name: &str, source: &Path) -> (PathBuf, Value) {
    let (html, json) = (
        dir.join(format!("{name}.html")),
        dir.join(format!("{name}.json")),
    );
    let output = heapdrift()
        .args(["diagnose", "--app-module", "example.com/app", "-o"])
        .arg(&html)
        .arg("-o")
        .arg(&json)
        .arg(source)
        .output()
        .unwrap();
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let told = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    (html, told)
}

fn view(width: u32, is_dark: bool) -> View {
    View {
        width,
        is_dark,
        has_script: true,
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    let all = value.as_array().unwrap().iter();
    all.map(|number| number.as_str().unwrap().parse().unwrap())
        .collect()
}

/// The page's raw numbers, in its order, against those of the JSON.
fn check_numbers(browser: &mut Browser, told: &Value) {
    let read = |browser: &mut Browser, selector: &str| {
        let found = browser.evaluate(&format!(
            "Array.from(document.querySelectorAll('{selector}'), cell => cell.dataset.v)"
        ));
        numbers(&found)
    };
    let sites = told["sites"].as_array().unwrap();
    let of = |key: &str| -> Vec<f64> {
        sites
            .iter()
            .map(|site| site[key].as_f64().unwrap())
            .collect()
    };
    assert_eq!(read(browser, "#sites-table td:nth-child(2)"), of("after"));
    assert_eq!(read(browser, "#sites-table td:nth-child(3)"), of("delta"));
    let moments = told["timeline"].as_array().unwrap().iter();
    let heaps: Vec<f64> = moments
        .filter_map(|moment| moment["inuse_bytes"].as_f64())
        .collect();
    assert_eq!(read(browser, "#growth td[data-v]"), heaps);
    let mut parts = read(browser, ".memory td[data-v]");
    let memory = &told["memory"];
    let keys = [
        "heap_alloc",
        "fragmentation",
        "heap_idle_kept",
        "stacks",
        "runtime",
        "native",
    ];
    let mut told_parts: Vec<f64> = keys.iter().filter_map(|key| memory[key].as_f64()).collect();
    parts.sort_by(f64::total_cmp);
    told_parts.sort_by(f64::total_cmp);
    assert_eq!(parts, told_parts);
    let findings = told["findings"].as_array().unwrap();
    let cards = browser.evaluate("document.querySelectorAll('#findings article').length");
    assert_eq!(cards, findings.len());
    let groups = findings
        .iter()
        .flat_map(|finding| finding["goroutines"].as_array().unwrap());
    let groups: Vec<f64> = groups
        .map(|group| group["after"].as_f64().unwrap())
        .collect();
    assert_eq!(read(browser, "#goroutines td[data-v]"), groups);
}

#[test]
fn pages_look_right_in_every_width_and_scheme() {
    let Some(mut browser) = browser() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    for case in CASES {
        let Some((file, told)) = page(dir.path(), case) else {
            continue;
        };
        assert!(std::fs::metadata(&file).unwrap().len() < 1_000_000);
        let mut backgrounds = Vec::new();
        for (width, is_dark) in [(1440, false), (1440, true), (400, false), (400, true)] {
            browser.open(&file, view(width, is_dark));
            let what = format!("{case}, {width} px, dark: {is_dark}");
            let widest = browser
                .evaluate("document.documentElement.scrollWidth")
                .as_u64()
                .unwrap();
            assert!(
                widest <= u64::from(width),
                "{what}: scrolls sideways at {widest}"
            );
            let verdict = browser.evaluate("document.querySelector('h1').innerText.toLowerCase()");
            let verdict = verdict.as_str().unwrap();
            assert!(
                verdict.contains(told["verdict"].as_str().unwrap()),
                "{what}: {verdict}"
            );
            check_numbers(&mut browser, &told);
            backgrounds.push(browser.evaluate("getComputedStyle(document.body).backgroundColor"));
            let shot = browser.screenshot();
            if let Some(shots) = std::env::var_os("HEAPDRIFT_SHOTS") {
                let scheme = if is_dark { "dark" } else { "light" };
                let png = base64::engine::general_purpose::STANDARD
                    .decode(&shot)
                    .unwrap();
                let name = format!("{case}-{width}-{scheme}.png");
                std::fs::write(Path::new(&shots).join(name), png).unwrap();
            }
            // A picture of nothing would compress to next to nothing.
            assert!(
                shot.len() > 40_000,
                "{what}: {} characters of PNG",
                shot.len()
            );
            assert_eq!(browser.complaints(), Vec::<String>::new(), "{what}");
        }
        assert_ne!(backgrounds[0], backgrounds[1], "light and dark");
    }
}

#[test]
fn search_zoom_modes_and_sorting_work() {
    let Some(mut browser) = browser() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let Some((file, told)) = page(dir.path(), CASES[0]) else {
        return;
    };
    browser.open(&file, view(1440, false));
    let frames = "document.querySelectorAll('#flame-picture svg[data-node]').length";
    let whole = browser.evaluate(frames).as_u64().unwrap();
    assert!(whole > 20, "{whole} frames");

    browser.evaluate("{ const s = document.getElementById('flame-search'); s.value = 'loggerPromise'; s.dispatchEvent(new Event('input')); }");
    let found = browser.evaluate("document.getElementById('flame-matches').textContent");
    assert!(found.as_str().unwrap().contains("place"), "{found}");
    let hits = browser.evaluate("document.querySelectorAll('#flame-picture .hit').length");
    assert!(hits.as_u64().unwrap() >= 1);
    browser.evaluate("{ const s = document.getElementById('flame-search'); s.value = 'no such function'; s.dispatchEvent(new Event('input')); }");
    let found = browser.evaluate("document.getElementById('flame-matches').textContent");
    assert_eq!(found, "nothing found");
    browser.evaluate("{ const s = document.getElementById('flame-search'); s.value = ''; s.dispatchEvent(new Event('input')); }");

    let click = "Array.from(document.querySelectorAll('#flame-picture svg[data-node]')).find(f => f.querySelector('title').textContent.includes('reconcileHandler')).querySelector('rect').dispatchEvent(new MouseEvent('click', {bubbles: true}))";
    browser.evaluate(click);
    let status = browser.evaluate("document.getElementById('flame-status').textContent");
    let status = status.as_str().unwrap();
    assert!(
        status.contains("reconcileHandler") && status.contains("→"),
        "{status}"
    );
    assert!(
        browser.evaluate(frames).as_u64().unwrap() < whole,
        "zoomed in"
    );
    browser.evaluate("document.getElementById('flame-reset').click()");
    assert_eq!(browser.evaluate(frames), whole);

    for key in ["ArrowDown", "ArrowDown", "Enter"] {
        browser.evaluate(&format!("document.getElementById('flame-picture').dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}', bubbles: true, cancelable: true}}))"));
    }
    assert_eq!(
        browser.evaluate("document.getElementById('flame-reset').disabled"),
        false
    );
    browser.evaluate("document.getElementById('flame-picture').dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}))");
    assert_eq!(browser.evaluate(frames), whole);

    // The width of the picture is what was in use before, after, what grew: the JSON's totals.
    for (mode, bytes) in [("before", "first_bytes"), ("after", "last_bytes")] {
        browser.evaluate(&format!(
            "document.querySelector('input[value={mode}]').click()"
        ));
        let title = browser.evaluate("document.querySelector('#flame-picture title').textContent");
        let title = title.as_str().unwrap();
        let mib = told["totals"][bytes].as_f64().unwrap() / 1_048_576.0;
        assert!(
            title.contains(&format!("{mib:.1} MiB")) && title.ends_with("100.0 % of the picture"),
            "{mode}: {title}"
        );
    }
    browser.evaluate("document.querySelector('input[value=grown]').click()");
    assert!(
        browser.evaluate(frames).as_u64().unwrap() < whole,
        "growth only"
    );

    let callers = "document.querySelector('#sites-table .find')";
    browser.evaluate(&format!("{callers}.click()"));
    let wanted = browser.evaluate("document.getElementById('flame-search').value");
    assert_eq!(wanted, told["sites"][0]["function"]);
    assert!(
        browser
            .evaluate("document.querySelectorAll('#flame-picture .hit').length")
            .as_u64()
            .unwrap()
            >= 1
    );

    let column = |number: u32| {
        format!(
            "Array.from(document.querySelectorAll('#sites-table tbody tr'), row => row.cells[{number}].dataset.v ?? row.cells[{number}].textContent)"
        )
    };
    browser.evaluate("document.querySelectorAll('#sites-table th button')[1].click()");
    let sorted = numbers(&browser.evaluate(&column(1)));
    assert!(
        sorted.windows(2).all(|pair| pair[0] >= pair[1]),
        "{sorted:?}"
    );
    browser.evaluate("document.querySelectorAll('#sites-table th button')[1].click()");
    let sorted = numbers(&browser.evaluate(&column(1)));
    assert!(
        sorted.windows(2).all(|pair| pair[0] <= pair[1]),
        "{sorted:?}"
    );
    assert_eq!(
        browser.evaluate(
            "document.querySelector('#sites-table th[aria-sort]').getAttribute('aria-sort')"
        ),
        "ascending"
    );
    browser.evaluate("{ const s = document.getElementById('sites-search'); s.value = 'deleg.go'; s.dispatchEvent(new Event('input')); }");
    let shown = browser.evaluate("Array.from(document.querySelectorAll('#sites-table tbody tr')).filter(row => !row.hidden).length");
    let expected = told["sites"].as_array().unwrap().iter().filter(|site| {
        site["file"]
            .as_str()
            .is_some_and(|file| file.ends_with("deleg.go"))
    });
    assert_eq!(shown, expected.count());
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn without_script_the_page_tells_the_same() {
    let Some(mut browser) = browser() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    for case in CASES {
        let Some((file, told)) = page(dir.path(), case) else {
            continue;
        };
        let without = View {
            has_script: false,
            ..view(1440, false)
        };
        browser.open(&file, without);
        check_numbers(&mut browser, &told);
        let text = browser.evaluate("document.body.textContent");
        let text = text.as_str().unwrap();
        for finding in told["findings"].as_array().unwrap() {
            let sentences = finding["evidence"].as_array().unwrap().iter();
            for sentence in sentences.chain([&finding["why"], &finding["fix"], &finding["title"]]) {
                assert!(
                    text.contains(sentence.as_str().unwrap()),
                    "{case}: {sentence}"
                );
            }
            if let Some(culprit) = finding["culprit"]["function"].as_str() {
                assert!(text.contains(culprit), "{case}: {culprit}");
            }
        }
        for entry in told["not_a_leak"].as_array().unwrap() {
            assert!(text.contains(entry["text"].as_str().unwrap()), "{case}");
        }
        for site in told["sites"].as_array().unwrap() {
            assert!(text.contains(site["function"].as_str().unwrap()), "{case}");
        }
        let drawn = browser.evaluate("document.querySelectorAll('#flame-picture svg svg').length");
        assert!(drawn.as_u64().unwrap() > 20, "{case}: {drawn} frames");
        let hidden = browser.evaluate(
            "Array.from(document.querySelectorAll('.controls')).every(part => part.hidden)",
        );
        assert_eq!(hidden, true, "{case}: controls that do nothing");
        assert_eq!(browser.complaints(), Vec::<String>::new(), "{case}");
    }
}

#[test]
fn the_page_can_fetch_and_run_nothing() {
    let Some(mut browser) = browser() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let Some((file, _)) = page(dir.path(), CASES[2]) else {
        return;
    };
    for attempt in [
        "document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/x.png'}))",
        "fetch('http://127.0.0.1:9/x').catch(() => 0)",
        "document.body.setAttribute('style', 'color: red')",
    ] {
        browser.open(&file, view(1440, false));
        assert_eq!(browser.complaints(), Vec::<String>::new());
        browser.evaluate(&format!(
            "{attempt}; new Promise(done => setTimeout(done, 200))"
        ));
        // This also shows that the other tests would see a complaint.
        let complaints = browser.complaints();
        assert!(
            complaints
                .iter()
                .any(|text| text.contains("Content Security Policy")),
            "{attempt}: {complaints:?}"
        );
    }
}

#[test]
fn names_that_are_markup_run_nothing() {
    let Some(mut browser) = browser() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let names = [
        "<script>alert(1)</script>",
        "</script><script>alert(2)</script>",
        "</title><img src=x onerror=alert(3)>",
        "\"><svg onload=alert(4)>",
        "'><b>bold</b>",
        "<!--",
    ];
    let source = dir.path().join("series");
    std::fs::create_dir(&source).unwrap();
    for point in 0..6 {
        let mut heap = Pprof::heap(point * 300);
        for name in names {
            let grown = 2000 + 900 * point;
            heap = heap.sampled(&format!("{name} < main.main"), 512, grown, grown);
        }
        std::fs::write(source.join(format!("{point}.heap.pb.gz")), heap.gzip()).unwrap();
    }
    let (file, told) = write_page(dir.path(), "hostile", &source);
    for has_script in [true, false] {
        browser.open(
            &file,
            View {
                has_script,
                ..view(1440, false)
            },
        );
        // The page's own: its data and its script.
        assert_eq!(browser.evaluate("document.scripts.length"), 2);
        assert_eq!(
            browser.evaluate("document.querySelectorAll('img, b, [onerror], [onload]').length"),
            0
        );
        let text = browser.evaluate("document.body.textContent");
        for name in names {
            assert!(text.as_str().unwrap().contains(name), "{name}");
        }
        check_numbers(&mut browser, &told);
        assert_eq!(browser.complaints(), Vec::<String>::new());
    }
}

/// The README's picture: the top of a page at this width, and the scale it is drawn at.
const PICTURE: (u32, u32, f64) = (1160, 1330, 0.8);
/// Squares of so many pixels are compared by their mean colour: fonts may differ, the page not.
const SQUARE: usize = 16;

/// Mean colours of the squares of a picture, row by row, and the number in a row.
fn squares(png: &[u8]) -> (usize, Vec<[f64; 3]>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png))
        .read_info()
        .unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut pixels).unwrap();
    let (width, height) = (frame.width as usize, frame.height as usize);
    let samples = frame.color_type.samples();
    let mean = |left: usize, top: usize, channel: usize| {
        let rows = top..(top + SQUARE).min(height);
        let values = rows.flat_map(|y| {
            let columns = left..(left + SQUARE).min(width);
            columns.map(move |x| y * frame.line_size + x * samples + channel)
        });
        let values: Vec<f64> = values.map(|at| f64::from(pixels[at])).collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    let lefts = || (0..width).step_by(SQUARE);
    let of_row = |top: usize| lefts().map(move |left| (left, top));
    let all = (0..height).step_by(SQUARE).flat_map(of_row);
    let colours = all.map(|(left, top)| [0, 1, 2].map(|channel| mean(left, top, channel)));
    (lefts().count(), colours.collect())
}

#[test]
fn the_readme_shows_the_page_as_it_is() {
    let Some(mut browser) = browser() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let Some((file, _)) = page(dir.path(), "logger-promise-chain") else {
        return;
    };
    let (width, height, scale) = PICTURE;
    browser.open(&file, view(width, false));
    let shot = browser.screenshot_of_top(width, height, scale);
    let shot = base64::prelude::BASE64_STANDARD.decode(shot).unwrap();
    let path = support::project().join("fixtures/report.png");
    if std::env::var_os("HEAPDRIFT_UPDATE").is_some() {
        std::fs::write(&path, &shot).unwrap();
        return;
    }
    let (drawn, kept) = (squares(&shot), squares(&std::fs::read(path).unwrap()));
    assert_eq!(
        (drawn.0, drawn.1.len()),
        (kept.0, kept.1.len()),
        "another size"
    );
    let differs =
        |(a, b): &(&[f64; 3], &[f64; 3])| a.iter().zip(*b).any(|(a, b)| (a - b).abs() > 32.0);
    let different = drawn.1.iter().zip(&kept.1).filter(differs).count();
    let share = different as f64 / kept.1.len() as f64;
    assert!(
        share < 0.03,
        "{:.1} % of the picture differ: draw it anew",
        100.0 * share
    );
}
