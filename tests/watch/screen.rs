//! The screen of a watch, on a real terminal: tmux is one, and shows what it shows.
//!
//! Needs tmux; says so where it is skipped.
#![cfg(unix)]

use crate::support::netrun::program;
use crate::support::pprof_process::Process;
use crate::support::pprof_server::Server;
use crate::support::skipped;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn has_tmux() -> bool {
    let found = Command::new("tmux").arg("-V").output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        skipped("tmux is not installed, so the screen of watch was not looked at");
    }
    found
}

/// A terminal with a shell, of a server of its own that ends with the test.
struct Terminal {
    desk: TempDir,
}

impl Terminal {
    fn new(columns: usize, rows: usize) -> Self {
        let desk = tempfile::tempdir().unwrap();
        // The line of tmux itself would take one of ours.
        let settings = desk.path().join("tmux.conf");
        std::fs::write(&settings, "set -g status off\nset -g history-limit 5000\n").unwrap();
        let terminal = Self { desk };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let settings = settings.display().to_string();
        let shell = "env PS1='ready> ' sh";
        terminal.tmux(&[
            "-f",
            &settings,
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            &rows,
            shell,
        ]);
        terminal.wait_until("a prompt", |screen| screen.contains("ready>"));
        terminal
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let output = Command::new("tmux")
            .arg("-S")
            .arg(self.desk.path().join("tmux.sock"))
            .args(arguments)
            .env_remove("TMUX")
            .env("TERM", "xterm-256color")
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
        text(&output.stdout)
    }

    /// What is shown now.
    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Whether the alternate screen is shown, and whether the cursor is.
    fn state(&self) -> (bool, bool) {
        let flags = self.tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]);
        let flags: Vec<&str> = flags.split_whitespace().collect();
        (flags[0] == "1", flags[1] == "1")
    }

    #[track_caller]
    fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            assert!(start.elapsed() < PATIENCE, "no {what}:\n{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn type_line(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
        self.tmux(&["send-keys", "Enter"]);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let socket = self.desk.path().join("tmux.sock");
        // It is gone already where the test got so far.
        let _ = Command::new("tmux")
            .arg("-S")
            .arg(socket)
            .arg("kill-server")
            .output();
    }
}

/// The command line that watches, as it is typed.
fn watch_line(url: &str, desk: &Path, more: &str) -> String {
    let binary = program(desk);
    let binary = binary.get_program().to_string_lossy().into_owned();
    format!("clear; env -u HTTP_PROXY -u http_proxy '{binary}' watch {url} --every 200ms {more}")
}

fn looks_right(columns: usize, rows: usize) {
    let process = Process::leaking();
    let server = Server::http(move |request| process.reply(request));
    let terminal = Terminal::new(columns, rows);
    terminal.type_line(&watch_line(&server.url(), terminal.desk.path(), ""));
    let screen = terminal.wait_until("verdict", |screen| {
        screen.contains("LEAK") && screen.contains("next snapshot in")
    });
    let lines: Vec<&str> = screen.lines().collect();
    assert_eq!(lines.len(), rows, "{screen}");
    assert!(lines[0].starts_with("heapdrift watch  "), "{screen}");
    assert!(lines[0].contains(&server.url()), "{screen}");
    let last = lines[rows - 1];
    assert!(last.ends_with("Ctrl-C ends with the report"), "{screen}");
    assert!(lines[rows - 2].starts_with("waiting for"), "{screen}");
    // Joined again where they were wrapped, there are as many lines.
    let joined = terminal.tmux(&["capture-pane", "-p", "-J"]);
    assert_eq!(joined.lines().count(), rows, "{joined}");
    assert_eq!(
        terminal.state(),
        (true, false),
        "alternate screen, no cursor"
    );

    terminal.tmux(&["send-keys", "C-c"]);
    terminal.wait_until("prompt after Ctrl-C", |screen| {
        screen.trim_end().ends_with("ready>")
    });
    assert_eq!(
        terminal.state(),
        (false, true),
        "screen and cursor are back"
    );
    let all = terminal.tmux(&["capture-pane", "-p", "-S", "-"]);
    assert!(all.contains("LEAK"), "{all}");
    assert!(all.contains("main.keep"), "{all}");
    assert!(!all.contains("Ctrl-C ends with the report"), "{all}");
}

#[test]
fn it_is_right_on_a_small_terminal() {
    if has_tmux() {
        looks_right(80, 24);
    }
}

#[test]
fn it_is_right_on_a_large_terminal() {
    if has_tmux() {
        looks_right(200, 50);
    }
}

#[test]
fn it_is_given_back_when_the_watch_fails() {
    if !has_tmux() {
        return;
    }
    let server = Server::http(|_| crate::support::pprof_server::Reply::status(401, "who"));
    let terminal = Terminal::new(80, 24);
    let line = watch_line(&server.url(), terminal.desk.path(), "");
    terminal.type_line(&line);
    let screen = terminal.wait_until("error", |screen| {
        screen.contains("hint: ") && screen.trim_end().ends_with("ready>")
    });
    assert!(screen.contains("error: "), "{screen}");
    assert_eq!(terminal.state(), (false, true));
}
