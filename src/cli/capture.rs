//! `heapdrift capture TARGET`

use super::args::{CaptureArgs, General};
use super::exit::Exit;
use super::failure::{Failure, note, warn};
use super::fetching::{Connector, parse_targets, runtime};
use super::recording::{Recording, connect_all, interrupted};
use super::schedule::Schedule;
use crate::report::counted;
use crate::source::remote::{Event, Recorder};
use crate::units;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where snapshots go unless the user says otherwise.
const DEFAULT_DIRECTORY: &str = "captures";

pub(super) fn run(args: &CaptureArgs, general: &General) -> Result<Exit, Failure> {
    let root = match general.output.as_slice() {
        [] => PathBuf::from(DEFAULT_DIRECTORY),
        [directory] => directory.clone(),
        [..] => {
            let message = "one directory is enough: -o is given several times";
            return Err(Failure::new(
                Exit::Usage,
                message,
                "each target has its own directory below it",
            ));
        }
    };
    let targets = parse_targets(&args.targets, &args.cluster)?;
    let connector = Connector::new(&args.fetching, &args.cluster, args.bounds.max_size)?;
    let mut schedule = Schedule::new(&args.timing, false, Instant::now());
    runtime()?.block_on(async {
        let processes = connect_all(&connector, &targets).await?;
        let recorder = Recorder::new(&root, processes)?;
        let mut recording = Recording::new(recorder, connector, targets);
        let progress = Progress::new(&schedule, general.quiet);
        let recorded = record(&mut recording, &mut schedule, &progress).await;
        progress.finish();
        // What was saved before a failure is worth as much as after none.
        let taken = recording.snapshots();
        if !general.quiet && (recorded.is_ok() || taken > 0) {
            tell_end(&recording, &root);
        }
        Ok(match recorded? && (!schedule.is_open() || taken == 0) {
            true => Exit::Interrupted,
            false => Exit::Clean,
        })
    })
}

/// Takes rounds until the schedule ends, nothing runs any more, or the user ends it: then true.
async fn record(
    recording: &mut Recording,
    schedule: &mut Schedule,
    progress: &Progress,
) -> Result<bool, Failure> {
    let mut interrupt = std::pin::pin!(interrupted());
    loop {
        let events = tokio::select! {
            biased;
            () = &mut interrupt => return Ok(true),
            events = recording.round() => events?,
        };
        recording.refuse_failed_start(&events)?;
        for (index, event) in &events {
            progress.tell(recording.name(*index), recording.is_fleet(), event);
        }
        progress.advance(recording);
        let Some(next) = schedule
            .next(Instant::now())
            .filter(|_| !recording.is_over())
        else {
            return Ok(false);
        };
        tokio::select! {
            biased;
            () = &mut interrupt => return Ok(true),
            () = tokio::time::sleep_until(next.into()) => {}
        }
    }
}

/// Says what was captured, and what to do with it.
fn tell_end(recording: &Recording, root: &Path) {
    let taken = recording.snapshots();
    let gaps = recording.gaps();
    let mut words = format!("{} captured", counted(taken, "snapshot"));
    if recording.members().len() > 1 {
        words.push_str(&format!(" of {} processes", recording.members().len()));
    }
    if gaps > 0 {
        words.push_str(&format!(", {} missed", counted(gaps, "snapshot")));
    }
    note(&words);
    if taken == 0 {
        return;
    }
    let place = match recording.members() {
        [only] => only.directory(),
        _ => root,
    };
    note(&format!("next: heapdrift diagnose {}", place.display()));
}

/// How far a capture is: a bar on a terminal, lines elsewhere.
struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
}

impl Progress {
    fn new(schedule: &Schedule, quiet: bool) -> Self {
        let is_shown = !quiet && std::io::stderr().is_terminal() && schedule.planned() != Some(1);
        let bar = is_shown.then(|| {
            let bar = match schedule.planned() {
                Some(planned) => ProgressBar::new(u64::from(planned)),
                None => ProgressBar::no_length(),
            };
            let template = match schedule.planned() {
                Some(_) => "{bar:30} {pos}/{len} snapshots, {elapsed}, {eta} left",
                None => "{spinner} {pos} snapshots, {elapsed}; Ctrl-C ends",
            };
            // The templates are constants: a wrong one would show in the tests.
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(250));
            bar
        });
        Self { bar, quiet }
    }

    /// Says what happened to a process.
    fn tell(&self, name: &str, is_fleet: bool, event: &Event) {
        let front = if is_fleet {
            format!("{name}: ")
        } else {
            String::new()
        };
        let say = |is_warning: bool, text: String| {
            let tell = || match is_warning {
                true => warn(&format!("{front}{text}")),
                false => note(&format!("{front}{text}")),
            };
            match &self.bar {
                Some(bar) => bar.suspend(tell),
                None => tell(),
            }
        };
        for sentence in event.sentences() {
            say(true, sentence);
        }
        if let Event::Taken(captured) = event
            && self.bar.is_none()
            && !self.quiet
        {
            let bytes: usize = captured.files.iter().map(|file| file.bytes.len()).sum();
            let kinds: Vec<&str> = captured.files.iter().map(|file| file.kind.name()).collect();
            let time = captured.taken_at.strftime("%H:%M:%SZ");
            say(
                false,
                format!(
                    "{time} {} ({})",
                    kinds.join(", "),
                    units::size(bytes as f64)
                ),
            );
        }
    }

    fn advance(&self, recording: &Recording) {
        if let Some(bar) = &self.bar {
            bar.set_position(recording.rounds() as u64);
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
