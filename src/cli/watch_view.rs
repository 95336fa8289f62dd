//! What a watch shows while it goes on: a screen on a terminal, lines elsewhere.

use super::args::{Format, General};
use super::exit::Exit;
use super::failure::{Failure, note, warn};
use super::judgement::Judgement;
use super::output::{Report, terminal_layout, write_stdout};
use super::recording::Recording;
use super::screen::Screen;
use crate::diagnosis::Settling;
use crate::report::{Layout, Live, fleet_screen, live_line, live_screen};
use crate::source::remote::Event;
use serde_json::json;
use std::io::IsTerminal;
use std::time::Instant;

/// How a watch is shown.
pub(super) enum View {
    /// One screen that is drawn anew.
    Screen { screen: Screen, layout: Layout },
    /// A line for each thing that happens.
    Lines,
    /// A JSON object in a line for each.
    Json,
    /// Nothing until the report.
    Quiet,
}

/// What a screen shows besides the judgement.
pub(super) struct ViewState {
    target: String,
    start: Instant,
    /// When the next snapshot is due; `None`: now.
    pub(super) next: Option<Instant>,
    trouble: Option<String>,
}

impl ViewState {
    pub(super) fn new(recording: &Recording) -> Self {
        Self {
            target: recording.target(),
            start: Instant::now(),
            next: None,
            trouble: None,
        }
    }
}

impl View {
    pub(super) fn new(general: &General) -> Self {
        let is_terminal = std::io::stderr().is_terminal() && std::io::stdout().is_terminal();
        match general.format {
            _ if general.quiet => Self::Quiet,
            Some(Format::Json) => Self::Json,
            None | Some(Format::Table) if is_terminal => Self::Screen {
                screen: Screen::enter(),
                layout: terminal_layout(general),
            },
            _ => Self::Lines,
        }
    }

    /// Draws the screen anew.
    pub(super) fn draw(
        &self,
        state: &ViewState,
        recording: &Recording,
        judgement: Option<&Judgement>,
        settling: &Settling,
    ) {
        let Self::Screen { screen, layout } = self else {
            return;
        };
        let (width, height) = Screen::size();
        let layout = Layout { width, ..*layout };
        let now = Instant::now();
        let missing = settling.missing();
        let (diagnosis, fleet) = match judgement {
            Some(Judgement::One(diagnosis)) => (Some(&**diagnosis), None),
            Some(Judgement::Several(fleet)) => (None, Some(&**fleet)),
            None => (None, None),
        };
        let members = fleet.map(|fleet| fleet_screen(fleet, &layout));
        let live = Live {
            target: &state.target,
            elapsed_seconds: now.duration_since(state.start).as_secs_f64(),
            snapshots: recording.snapshots(),
            missed: recording.gaps(),
            next_seconds: state
                .next
                .map(|next| next.saturating_duration_since(now).as_secs_f64()),
            diagnosis,
            members: members.as_deref().unwrap_or_default(),
            trouble: state.trouble.as_deref(),
            waiting_for: &missing,
        };
        screen.draw(&live_screen(&live, &layout, height));
    }

    /// Says what a round brought.
    pub(super) fn tell(
        &self,
        events: &[(usize, Event)],
        recording: &Recording,
        state: &mut ViewState,
    ) {
        for (index, event) in events {
            let name = recording.name(*index);
            let front = match recording.is_fleet() {
                true => format!("{name}: "),
                false => String::new(),
            };
            for sentence in event.sentences() {
                match self {
                    Self::Screen { .. } => state.trouble = Some(format!("{front}{sentence}")),
                    Self::Lines => warn(&format!("{front}{sentence}")),
                    Self::Json => print_object(&json!({
                        "event": event.name(), "target": name, "message": sentence,
                    })),
                    Self::Quiet => {}
                }
            }
        }
        if events.iter().all(|(_, event)| event.sentences().is_empty()) {
            state.trouble = None;
        }
    }

    /// Says what a look at all snapshots so far has shown.
    pub(super) fn judged(&self, judgement: &Judgement, recording: &Recording) {
        match self {
            Self::Screen { .. } | Self::Quiet => {}
            Self::Lines => {
                let time = jiff::Timestamp::now().strftime("%H:%M:%SZ");
                match judgement {
                    Judgement::One(diagnosis) => note(&format!(
                        "{time} snapshot {}: {}",
                        recording.snapshots(),
                        live_line(diagnosis)
                    )),
                    Judgement::Several(fleet) => {
                        for member in &fleet.members {
                            let state = match (&member.diagnosis, &member.problem) {
                                (Some(diagnosis), _) => live_line(diagnosis),
                                (None, problem) => problem.clone().unwrap_or_default(),
                            };
                            note(&format!("{time} {}: {state}", member.name));
                        }
                    }
                }
            }
            Self::Json => {
                for (index, diagnosis) in judgement.diagnoses().enumerate() {
                    let totals = &diagnosis.totals;
                    let worst = diagnosis.findings.first();
                    print_object(&json!({
                        "event": "snapshot",
                        "target": recording.name(index),
                        "snapshots": diagnosis.series.snapshots,
                        "verdict": diagnosis.verdict,
                        "bytes": totals.last_bytes,
                        "bytes_per_hour": totals.bytes_per_hour,
                        "ci95": totals.ci95,
                        "goroutines": totals.goroutines.last(),
                        "worst": worst.map(|finding| json!({
                            "pattern": finding.pattern,
                            "title": finding.title,
                            "verdict": finding.verdict,
                            "culprit": finding.culprit.as_ref().map(|culprit| &culprit.function),
                        })),
                    }));
                }
            }
        }
    }

    /// The report as the last of a watch's JSON lines.
    pub(super) fn last_line(judgement: Judgement, general: &General) -> Result<(), Failure> {
        if general.quiet {
            return Ok(());
        }
        let wrong = |error: serde_json::Error| {
            let message = format!("the result cannot be written as JSON: {error}");
            Failure::new(Exit::Usage, message, "")
        };
        let text = judgement.json(usize::MAX).map_err(wrong)?;
        let report: serde_json::Value = serde_json::from_str(&text).map_err(wrong)?;
        let line = format!("{}\n", json!({"event": "report", "report": report}));
        write_stdout(line.as_bytes())
    }
}

fn print_object(object: &serde_json::Value) {
    // A reader that went away is told by the report, if it still matters then.
    let _ = write_stdout(format!("{object}\n").as_bytes());
}
