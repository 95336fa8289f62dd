//! Series of snapshots of one or several processes, kept as they come.
//!
//! Knows which processes still run and what was missed. Must not know when a round is due: the
//! caller's clock says so.

use super::error::FetchError;
use super::facts::PodFacts;
use super::moment::{Captured, Kind};
use super::process::{Change, Process};
use super::store::{Store, StoreError};
use crate::profile::{Limits, ProfileFile, RawProfile, SymbolTable};
use futures_util::future::join_all;
use std::path::{Path, PathBuf};

/// Takes rounds of snapshots and keeps them below a directory.
#[derive(Debug)]
pub struct Recorder {
    root: PathBuf,
    members: Vec<Member>,
}

/// A process of a recording.
#[derive(Debug)]
pub struct Member {
    process: Process,
    store: Store,
    snapshots: usize,
    gaps: usize,
    end: Option<String>,
    /// Why there is no snapshot of the last round.
    trouble: Option<FetchError>,
    /// Bytes ever allocated, as of the last snapshot.
    total_alloc: Option<u64>,
}

/// What a round brought of one process.
#[derive(Debug)]
pub enum Event {
    /// A snapshot, though perhaps half.
    Taken(Captured),
    /// None: a gap in the series.
    Missed(FetchError),
    /// The process began anew; why it ended, where that is known.
    Restarted(Option<String>),
    /// It is gone: its series is closed.
    Ended(String),
    /// It came later than the others, or took the place of one that ended.
    Joined,
}

impl Event {
    /// What kind of event it is, for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Taken(_) => "taken",
            Self::Missed(_) => "missed",
            Self::Restarted(_) => "restarted",
            Self::Ended(_) => "ended",
            Self::Joined => "joined",
        }
    }

    /// What the user should know of it; untrusted text. Nothing, if all went well.
    pub fn sentences(&self) -> Vec<String> {
        match self {
            Self::Taken(captured) => {
                let retried = captured.retried.iter().map(|retried| {
                    let seconds = retried.wait.as_secs_f64();
                    format!("{}; tried again after {seconds:.1} s", retried.error)
                });
                let missing = captured.missing.iter();
                let missing = missing.map(|(kind, error)| format!("no {}: {error}", kind.name()));
                retried.chain(missing).collect()
            }
            Self::Missed(error) => vec![format!("no snapshot: {error}")],
            Self::Restarted(None) => vec!["the process began anew".to_owned()],
            Self::Restarted(Some(reason)) => vec![format!("the process began anew ({reason})")],
            Self::Ended(reason) => vec![format!("{reason}; its series is closed")],
            Self::Joined => vec!["a process that came later".to_owned()],
        }
    }
}

impl Recorder {
    /// Prepares the directories of the processes below `root`.
    ///
    /// # Errors
    /// One that cannot be made.
    pub fn new(root: &Path, processes: Vec<Process>) -> Result<Self, StoreError> {
        let mut recorder = Self {
            root: root.to_owned(),
            members: Vec::new(),
        };
        for process in processes {
            recorder.add(process)?;
        }
        Ok(recorder)
    }

    /// Adds a process that came later; one of the same name takes the place of the one that
    /// ended, and goes on in its directory. Returns its index.
    ///
    /// # Errors
    /// Its directory cannot be made.
    pub fn add(&mut self, process: Process) -> Result<usize, StoreError> {
        let has_its_name = |member: &Member| member.name() == process.name();
        if let Some(index) = self.members.iter().position(has_its_name) {
            let member = &mut self.members[index];
            member.process = process;
            member.end = None;
            member.total_alloc = None;
            return Ok(index);
        }
        let store = Store::open(&self.root, process.name(), process.pod())?;
        self.members.push(Member {
            process,
            store,
            snapshots: 0,
            gaps: 0,
            end: None,
            trouble: None,
            total_alloc: None,
        });
        Ok(self.members.len() - 1)
    }

    /// Its processes, in the order in which they came.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Whether none of the processes runs any more.
    pub fn is_over(&self) -> bool {
        self.members.iter().all(|member| member.end.is_some())
    }

    /// Takes a snapshot of each process that runs, side by side. Events carry the index of their
    /// member.
    ///
    /// # Errors
    /// A snapshot that cannot be written. All that was written before is whole.
    pub async fn round(&mut self) -> Result<Vec<(usize, Event)>, StoreError> {
        let running = self.members.iter_mut().enumerate();
        let running = running.filter(|(_, member)| member.end.is_none());
        let rounds = join_all(running.map(|(index, member)| async move {
            let mut events = Vec::new();
            let kept = member.round(&mut events).await;
            (index, events, kept)
        }));
        let mut all = Vec::new();
        let mut failed = Ok(());
        for (index, events, kept) in rounds.await {
            all.extend(events.into_iter().map(|event| (index, event)));
            failed = failed.and(kept);
        }
        failed.map(|()| all)
    }
}

impl Member {
    /// As the user knows it; untrusted text, without anything secret.
    pub fn name(&self) -> &str {
        self.process.name()
    }

    /// The process that it is at present.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Its pod, when it is one.
    pub fn pod(&self) -> Option<&PodFacts> {
        self.process.pod()
    }

    /// Where its snapshots are.
    pub fn directory(&self) -> &Path {
        self.store.directory()
    }

    /// Snapshots of this recording (a count).
    pub fn snapshots(&self) -> usize {
        self.snapshots
    }

    /// Rounds without one (a count).
    pub fn gaps(&self) -> usize {
        self.gaps
    }

    /// Why its series is closed.
    pub fn end(&self) -> Option<&str> {
        self.end.as_deref()
    }

    /// Why there is no snapshot of the last round.
    pub fn trouble(&self) -> Option<&FetchError> {
        self.trouble.as_ref()
    }

    async fn round(&mut self, events: &mut Vec<Event>) -> Result<(), StoreError> {
        if self.snapshots + self.gaps > 0 {
            match self.process.refresh().await {
                Ok(None) => {}
                Ok(Some(Change::Restarted(reason))) => events.push(Event::Restarted(reason)),
                Ok(Some(Change::Ended(reason))) => {
                    self.end = Some(reason.clone());
                    events.push(Event::Ended(reason));
                    return Ok(());
                }
                Err(error) => {
                    self.miss(error, events);
                    return Ok(());
                }
            }
        }
        match self.process.take().await {
            Ok(captured) => {
                self.store.keep(&captured)?;
                self.snapshots += 1;
                self.trouble = None;
                let total_alloc = total_alloc_of(&captured);
                let went_back = matches!(
                    (self.total_alloc, total_alloc),
                    (Some(before), Some(now)) if now < before
                );
                self.total_alloc = total_alloc.or(self.total_alloc);
                if went_back && self.process.pod().is_none() {
                    events.push(Event::Restarted(None));
                }
                events.push(Event::Taken(captured));
            }
            Err(error) => self.miss(error, events),
        }
        Ok(())
    }

    fn miss(&mut self, error: FetchError, events: &mut Vec<Event>) {
        self.gaps += 1;
        self.trouble = Some(error.clone());
        events.push(Event::Missed(error));
    }
}

/// All bytes that the process ever allocated: this never goes back while it runs.
fn total_alloc_of(captured: &Captured) -> Option<u64> {
    let file = captured
        .files
        .iter()
        .find(|file| file.kind == Kind::Memory)?;
    let raw = RawProfile::open(file.bytes.clone(), &Limits::default()).ok()?;
    match raw.decode(&mut SymbolTable::default()).ok()? {
        ProfileFile::Memory(stats) => stats.total_alloc,
        _ => None,
    }
}
