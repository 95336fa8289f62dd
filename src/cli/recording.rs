//! What `capture` and `watch` have in common: processes, rounds of snapshots, and the user's
//! Ctrl-C.

use super::failure::Failure;
use super::fetching::Connector;
use crate::source::remote::{Event, Member, Process, Recorder, StoreError, Target};

/// Rounds from one look for new pods to the next, while none ends.
const ROUNDS_A_LOOK: usize = 10;

/// A recording that goes on.
pub(super) struct Recording {
    recorder: Recorder,
    connector: Connector,
    targets: Vec<Target>,
    rounds: usize,
}

impl Recording {
    pub(super) fn new(recorder: Recorder, connector: Connector, targets: Vec<Target>) -> Self {
        Self {
            recorder,
            connector,
            targets,
            rounds: 0,
        }
    }

    /// Takes a snapshot of each process that runs, those included that came since.
    pub(super) async fn round(&mut self) -> Result<Vec<(usize, Event)>, StoreError> {
        let mut events = self.add_newcomers().await?;
        events.extend(self.recorder.round().await?);
        self.rounds += 1;
        Ok(events)
    }

    /// Looks for pods that took the place of others, or came besides them.
    async fn add_newcomers(&mut self) -> Result<Vec<(usize, Event)>, StoreError> {
        let has_ended = self.members().iter().any(|member| member.end().is_some());
        let is_due = self.rounds > 0 && (has_ended || self.rounds.is_multiple_of(ROUNDS_A_LOOK));
        if !is_due {
            return Ok(Vec::new());
        }
        let mut newcomers = Vec::new();
        for target in self.targets.iter().filter(|target| target.may_gain()) {
            let known: Vec<&Process> = self.members().iter().map(Member::process).collect();
            // No pod at the moment is no error of the watch: those that end are said.
            newcomers.extend(
                self.connector
                    .reconnect(target, &known)
                    .await
                    .unwrap_or_default(),
            );
        }
        let mut events = Vec::new();
        for process in newcomers {
            events.push((self.recorder.add(process)?, Event::Joined));
        }
        Ok(events)
    }

    /// Refuses to go on when the very first round brought nothing: the address is more likely
    /// wrong than the server in trouble.
    pub(super) fn refuse_failed_start(&self, events: &[(usize, Event)]) -> Result<(), Failure> {
        if self.snapshots() > 0 || self.rounds > 1 {
            return Ok(());
        }
        let mut errors = events.iter().filter_map(|(_, event)| match event {
            Event::Missed(error) => Some(error.clone()),
            _ => None,
        });
        match errors.next() {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    pub(super) fn members(&self) -> &[Member] {
        self.recorder.members()
    }

    pub(super) fn name(&self, index: usize) -> &str {
        self.members().get(index).map_or("", Member::name)
    }

    /// What is watched, as the user knows it.
    pub(super) fn target(&self) -> String {
        let names: Vec<String> = self.targets.iter().map(Target::to_string).collect();
        names.join(", ")
    }

    pub(super) fn is_fleet(&self) -> bool {
        self.members().len() > 1
    }

    /// Whether nothing runs any more, and nothing will.
    pub(super) fn is_over(&self) -> bool {
        self.recorder.is_over() && !self.targets.iter().any(Target::may_gain)
    }

    pub(super) fn rounds(&self) -> usize {
        self.rounds
    }

    /// Snapshots of all processes.
    pub(super) fn snapshots(&self) -> usize {
        self.members().iter().map(Member::snapshots).sum()
    }

    /// Rounds of single processes that brought none.
    pub(super) fn gaps(&self) -> usize {
        self.members().iter().map(Member::gaps).sum()
    }
}

/// The processes of all targets.
pub(super) async fn connect_all(
    connector: &Connector,
    targets: &[Target],
) -> Result<Vec<Process>, Failure> {
    let mut processes = Vec::new();
    for target in targets {
        processes.extend(connector.connect(target).await?);
    }
    Ok(processes)
}

/// Ends when the user presses Ctrl-C, or the system asks the program to end.
pub(super) async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    // Where signals cannot be had, the program ends at once as it always would.
    let _ = tokio::signal::ctrl_c().await;
}
