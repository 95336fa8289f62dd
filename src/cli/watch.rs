//! `heapdrift watch TARGET`

use super::args::{Format, General, WatchArgs};
use super::config::Config;
use super::exit::Exit;
use super::failure::Failure;
use super::fetching::{Connector, parse_targets, runtime};
use super::inputs::{read_catalogue, refuse_nothing};
use super::judgement::{Judgement, judge_member};
use super::output::{format_of, print, print_with_stacks};
use super::recording::{Recording, connect_all, interrupted};
use super::schedule::Schedule;
use super::watch_view::{View, ViewState};
use crate::diagnosis::{
    DiagnoseOptions, FleetMember, Settling, diagnose, diagnose_fleet, diagnosis_stacks,
};
use crate::pattern::Catalogue;
use crate::source::remote::{Event, Member, Recorder};
use crate::source::{LoadOptions, Source, load_series};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often a screen is drawn anew.
const REDRAW: Duration = Duration::from_secs(1);

pub(super) fn run(args: &WatchArgs, general: &General) -> Result<Exit, Failure> {
    let (store, reports) = split_outputs(&general.output)?;
    refuse_reports(&reports)?;
    let catalogue = read_catalogue(args.judging.patterns.as_deref(), &Config::find()?)?;
    let targets = parse_targets(&args.targets, &args.cluster)?;
    let connector = Connector::new(&args.fetching, &args.cluster, args.bounds.max_size)?;
    let mut schedule = Schedule::new(&args.timing, true, Instant::now());
    // Kept until the report is made, and removed then.
    let scratch = match &store {
        Some(_) => None,
        None => Some(tempfile::tempdir().map_err(|error| {
            let message = format!("no directory for the snapshots: {error}");
            Failure::new(Exit::NotComparable, message, "-o DIR names one")
        })?),
    };
    let root: &Path = match (&store, &scratch) {
        (Some(root), _) => root,
        (None, Some(scratch)) => scratch.path(),
        (None, None) => Path::new("."),
    };
    let judge = Judge {
        catalogue: &catalogue,
        options: args.judging.options(),
        loading: args.bounds.options(),
        names_files: store.is_some(),
    };
    let runtime = runtime()?;
    let processes = runtime.block_on(connect_all(&connector, &targets))?;
    let recorder = Recorder::new(root, processes)?;
    let mut recording = Recording::new(recorder, connector, targets);
    if recording.is_fleet() {
        refuse_forms_of_one(&reports, general.format)?;
    }
    let mut judgement = None;
    let watched = runtime.block_on(watch(
        &mut recording,
        &mut schedule,
        &judge,
        View::new(general),
        Settling::new(args.smallest.map(|bytes| bytes as f64)),
        args.until_verdict,
        &mut judgement,
    ));
    // Whatever ended it: what was seen until then is worth a report.
    let Some(judgement) = judgement else {
        return watched.map(|()| Exit::Interrupted);
    };
    if let Some(root) = &store {
        super::failure::note(&format!("the snapshots are in {}", root.display()));
    }
    let is_found = judgement.has(args.failing.fail_on.threshold());
    let general = General {
        output: reports,
        ..general.clone()
    };
    match general.format {
        // The lines before it were objects, and so is the report.
        Some(Format::Json) if general.output.is_empty() => View::last_line(judgement, &general)?,
        _ => match judge.only_source(&recording) {
            Some(source) => {
                let series = load_series(&[source], &judge.loading)?;
                let stacks = || diagnosis_stacks(&series, &judge.options);
                print_with_stacks(judgement, &stacks, args.rows.rows, &general)?;
            }
            None => print(judgement, args.rows.rows, &general)?,
        },
    }
    watched?;
    Ok(Exit::from_found(is_found, args.failing.exit_zero))
}

/// Refuses reports that could not be written after hours of watching.
fn refuse_reports(reports: &[PathBuf]) -> Result<(), Failure> {
    for path in reports {
        let parent = path.parent().filter(|parent| *parent != Path::new(""));
        if parent.is_some_and(|parent| !parent.is_dir()) {
            return Err(Failure::new(
                Exit::Usage,
                format!("{}: its directory is not there", path.display()),
                "check the path of -o",
            ));
        }
    }
    Ok(())
}

/// Refuses, before anything is fetched, what a report of several processes cannot be.
fn refuse_forms_of_one(reports: &[PathBuf], format: Option<Format>) -> Result<(), Failure> {
    let wanted = reports
        .iter()
        .filter_map(|path| format_of(path))
        .chain(format);
    let has = |format: &Format| matches!(format, Format::Table | Format::Json | Format::Markdown);
    match wanted.into_iter().find(|format| !has(format)) {
        None => Ok(()),
        Some(_) => Err(Failure::new(
            Exit::Usage,
            "a report of several processes is a table, JSON or Markdown",
            "name one pod for a page or a flame graph, or keep the snapshots with -o DIR",
        )),
    }
}

/// The directory of the snapshots and the files of the report, both given by `-o`: what has the
/// ending of a report is one.
fn split_outputs(outputs: &[PathBuf]) -> Result<(Option<PathBuf>, Vec<PathBuf>), Failure> {
    let is_report = |path: &&PathBuf| format_of(path).is_some() && !path.is_dir();
    let reports = outputs.iter().filter(is_report).cloned().collect();
    let mut stores = outputs.iter().filter(|path| !is_report(path)).cloned();
    match (stores.next(), stores.next()) {
        (store, None) => Ok((store, reports)),
        (_, Some(second)) => Err(Failure::new(
            Exit::Usage,
            format!(
                "-o {}: one directory of snapshots is enough",
                second.display()
            ),
            "-o DIR keeps the snapshots; -o FILE with an ending such as .json or .md writes the report",
        )),
    }
}

/// Takes rounds and judges them until the schedule ends, the verdict is settled, nothing runs
/// any more, or the user ends it. The latest judgement is there whatever happens; `None`: there is
/// nothing to judge.
async fn watch(
    recording: &mut Recording,
    schedule: &mut Schedule,
    judge: &Judge<'_>,
    view: View,
    mut settling: Settling,
    until_verdict: bool,
    judgement: &mut Option<Judgement>,
) -> Result<(), Failure> {
    let mut interrupt = std::pin::pin!(interrupted());
    let mut state = ViewState::new(recording);
    loop {
        state.next = None;
        view.draw(&state, recording, judgement.as_ref(), &settling);
        let events = tokio::select! {
            biased;
            () = &mut interrupt => return Ok(()),
            events = recording.round() => events?,
        };
        recording.refuse_failed_start(&events)?;
        view.tell(&events, recording, &mut state);
        if events
            .iter()
            .any(|(_, event)| matches!(event, Event::Taken(_)))
        {
            let judged = judge.judge(recording)?;
            settling.look(judged.diagnoses());
            view.judged(&judged, recording);
            *judgement = Some(judged);
        }
        if until_verdict && settling.is_settled() {
            return Ok(());
        }
        let Some(next) = schedule
            .next(Instant::now())
            .filter(|_| !recording.is_over())
        else {
            return Ok(());
        };
        state.next = Some(next);
        while Instant::now() < next {
            view.draw(&state, recording, judgement.as_ref(), &settling);
            let wake = next.min(Instant::now() + REDRAW);
            tokio::select! {
                biased;
                () = &mut interrupt => return Ok(()),
                () = tokio::time::sleep_until(wake.into()) => {}
            }
        }
    }
}

/// Judges what was recorded, from its files: a watch and a later `diagnose` cannot differ.
struct Judge<'a> {
    catalogue: &'a Catalogue,
    options: DiagnoseOptions,
    loading: LoadOptions,
    /// Whether the files stay, so that their paths are worth knowing.
    names_files: bool,
}

impl Judge<'_> {
    fn judge(&self, recording: &Recording) -> Result<Judgement, Failure> {
        if let Some(source) = self.only_source(recording) {
            let series = load_series(&[source], &self.loading)?;
            refuse_nothing(&series)?;
            let diagnosis = diagnose(&series, self.catalogue, &self.options)?;
            return Ok(Judgement::One(Box::new(diagnosis)));
        }
        let members = recording.members().iter().map(|member| {
            let name = member.name().to_owned();
            if let (0, Some(trouble)) = (member.snapshots(), member.trouble()) {
                return FleetMember {
                    name,
                    diagnosis: None,
                    problem: Some(format!("no snapshot: {trouble}")),
                };
            }
            let source = self.source_of(member);
            judge_member(name, &source, self.catalogue, &self.options, &self.loading)
        });
        let fleet = diagnose_fleet(members.collect());
        Ok(Judgement::Several(Box::new(fleet)))
    }

    /// The snapshots of the only process, if it is one.
    fn only_source(&self, recording: &Recording) -> Option<Source> {
        match recording.members() {
            [only] => Some(self.source_of(only)),
            _ => None,
        }
    }

    fn source_of(&self, member: &Member) -> Source {
        let directory = member.directory().to_owned();
        match self.names_files {
            true => Source::Directory(directory),
            false => Source::Stored {
                directory,
                shown_as: member.name().to_owned(),
            },
        }
    }
}
