//! The one screen of a watch, and its lines where there is no screen.
//!
//! Knows how much room there is. Must not know when it is drawn, nor how it gets to a terminal.

use super::Layout;
use super::facts::verdict_word;
use super::finding::{print_culprit_line, print_title};
use super::names::shorten;
use super::printer::{Printer, Role, Span};
use super::sanitize::sanitize;
use super::table::print_header;
use super::units::{clock, count, counted, rate_with_interval, size};
use crate::diagnosis::{Diagnosis, Verdict};

/// Columns of a label.
const LABEL: usize = 12;
/// Lines at the bottom that are always there.
const FOOTER: usize = 3;

/// What a watch shows at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Live<'a> {
    /// What is watched; untrusted text.
    pub target: &'a str,
    /// Since the first snapshot.
    pub elapsed_seconds: f64,
    /// Snapshots taken (a count).
    pub snapshots: usize,
    /// Snapshots missed (a count).
    pub missed: usize,
    /// Until the next snapshot; `None`: it is being taken.
    pub next_seconds: Option<f64>,
    /// The judgement so far, once there is a snapshot.
    pub diagnosis: Option<&'a Diagnosis>,
    /// What stands in its place for several processes: lines that are laid out already.
    pub members: &'a [String],
    /// The latest that went wrong; untrusted text.
    pub trouble: Option<&'a str>,
    /// What the watch waits for, in a sentence.
    pub waiting_for: &'a str,
}

/// The screen as lines: at most `height`, none wider than the layout.
pub fn live_screen(live: &Live, layout: &Layout, height: usize) -> Vec<String> {
    let mut printer = Printer::new(layout);
    print_top(&mut printer, live);
    if let Some(diagnosis) = live.diagnosis {
        print_header(&mut printer, diagnosis);
        for finding in &diagnosis.findings {
            printer.gap();
            print_title(&mut printer, finding);
            if let Some(culprit) = &finding.culprit {
                print_culprit_line(&mut printer, culprit);
            }
        }
    }
    let body = printer.finish();
    let mut lines: Vec<String> = body.trim_end().lines().map(str::to_owned).collect();
    if !live.members.is_empty() {
        lines.push(String::new());
        lines.extend(live.members.iter().cloned());
    }
    let room = height.saturating_sub(FOOTER);
    if lines.len() > room {
        let cut = lines.len() - room.saturating_sub(1);
        lines.truncate(room.saturating_sub(1));
        lines.push(format!("… {} in the report", counted(cut, "more line")));
    }
    // The footer stays where it is while the rest grows.
    lines.resize(room, String::new());
    lines.extend(footer(live, layout));
    lines.truncate(height);
    lines
}

fn print_top(printer: &mut Printer, live: &Live) {
    let right = clock(live.elapsed_seconds);
    let title = "heapdrift watch  ";
    let room = printer
        .width()
        .saturating_sub(title.len() + right.len() + 2);
    let target = shorten(&sanitize(live.target), room);
    let left = vec![Span::new(Role::Strong, title), Span::plain(target)];
    printer.line_with_right(0, left, Span::new(Role::Faint, right));
    printer.gap();
}

fn footer(live: &Live, layout: &Layout) -> Vec<String> {
    let mut printer = Printer::new(layout);
    let line = |printer: &mut Printer, role, label: &str, text: &str| {
        let room = printer.width().saturating_sub(LABEL);
        let label = Span::new(Role::Faint, format!("{label:<LABEL$}"));
        printer.line(
            0,
            &[label, Span::new(role, cut_right(&sanitize(text), room))],
        );
    };
    match live.trouble {
        Some(trouble) => line(&mut printer, Role::Caution, "trouble", trouble),
        None => line(&mut printer, Role::Plain, "", ""),
    }
    line(&mut printer, Role::Plain, "waiting for", live.waiting_for);
    let next = match live.next_seconds {
        Some(seconds) => format!("next snapshot in {}", clock(seconds)),
        None => "taking a snapshot".to_owned(),
    };
    let mut state = format!("{next}, {} taken", count_of(live.snapshots));
    if live.missed > 0 {
        state.push_str(&format!(", {} missed", count_of(live.missed)));
    }
    state.push_str("; Ctrl-C ends with the report");
    line(&mut printer, Role::Faint, "", &state);
    printer.finish().lines().map(str::to_owned).collect()
}

fn count_of(number: usize) -> String {
    count(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Shortened at the right: sentences begin with what matters.
fn cut_right(text: &str, width: usize) -> String {
    use super::wrap::width_of;
    if width_of(text) <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    for c in text.chars() {
        let mut longer = cut.clone();
        longer.push(c);
        if width_of(&longer) + 1 > width {
            break;
        }
        cut = longer;
    }
    cut.push('…');
    cut
}

/// The state in one line: `growing +11.4 MiB/h (95 %: 10.2 to 12.6), heap 16.4 MiB; worst: …`
pub fn live_line(diagnosis: &Diagnosis) -> String {
    let mut line = verdict_word(diagnosis.verdict).to_lowercase();
    let totals = &diagnosis.totals;
    if let Some(rate) = totals.bytes_per_hour {
        line.push_str(&format!(" {}", rate_with_interval(rate, totals.ci95)));
    }
    if let Some(bytes) = totals.last_bytes {
        line.push_str(&format!(", heap {}", size(bytes as f64)));
    }
    if let Some(goroutines) = totals.goroutines.last() {
        let number = usize::try_from(*goroutines).unwrap_or(usize::MAX);
        line.push_str(&format!(", {}", counted(number, "goroutine")));
    }
    if let Some(finding) = diagnosis.findings.first()
        && !matches!(diagnosis.verdict, Verdict::Steady | Verdict::Shrinking)
    {
        let name = finding.pattern.as_deref().unwrap_or(&finding.title);
        line.push_str(&format!("; worst: {name}"));
    }
    sanitize(&line).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::wrap::width_of;

    const LIVE: Live = Live {
        target: "http://127.0.0.1:6060/debug/pprof/",
        elapsed_seconds: 3725.0,
        snapshots: 12,
        missed: 1,
        next_seconds: Some(7.4),
        diagnosis: None,
        members: &[],
        trouble: Some("connection refused\x1b[2J"),
        waiting_for: "a verdict",
    };

    #[test]
    fn the_screen_fills_its_room_and_no_more() {
        for (width, height) in [(80, 24), (200, 50), (60, 5), (60, 1)] {
            let layout = Layout {
                width,
                ..Layout::default()
            };
            let lines = live_screen(&LIVE, &layout, height);
            assert_eq!(lines.len(), height);
            for line in &lines {
                assert!(width_of(line) <= width, "{line}");
                assert!(!line.contains('\x1b'), "{line}");
            }
        }
    }

    #[test]
    fn the_footer_says_what_comes() {
        let lines = live_screen(&LIVE, &Layout::default(), 24);
        assert!(lines[0].ends_with("1:02:05"), "{}", lines[0]);
        assert!(lines[21].contains("connection refused"), "{}", lines[21]);
        assert!(
            lines[23].contains("next snapshot in 0:08, 12 taken, 1 missed"),
            "{}",
            lines[23]
        );
    }

    #[test]
    fn sentences_are_cut_at_the_right() {
        assert_eq!(cut_right("abcdef", 6), "abcdef");
        assert_eq!(cut_right("abcdefg", 6), "abcde…");
    }
}
