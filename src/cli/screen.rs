//! The alternate screen of a terminal: taken, drawn, and given back whatever happens.
//!
//! Lines that are drawn have been sanitised and fitted before.

use anstream::{AutoStream, ColorChoice};
use std::io::{self, Write};

const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// A terminal that shows one screen on standard error; dropped, it shows what was there before.
pub(super) struct Screen(());

impl Screen {
    /// Takes the terminal.
    pub(super) fn enter() -> Self {
        write(ENTER);
        Self(())
    }

    /// Columns and rows of the terminal at this moment.
    pub(super) fn size() -> (usize, usize) {
        match terminal_size::terminal_size_of(io::stderr()) {
            Some((width, height)) => (usize::from(width.0), usize::from(height.0)),
            None => (80, 24),
        }
    }

    /// Draws over what is shown; what was there and is not any more is cleared, line by line, so
    /// that nothing flickers.
    pub(super) fn draw(&self, lines: &[String]) {
        let mut text = String::from("\x1b[H");
        for (number, line) in lines.iter().enumerate() {
            if number > 0 {
                text.push_str("\r\n");
            }
            text.push_str(line);
            text.push_str("\x1b[K");
        }
        text.push_str("\x1b[J");
        write(&text);
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        write(LEAVE);
    }
}

fn write(text: &str) {
    // These sequences are no colours: NO_COLOR must not take them away.
    let mut stderr = AutoStream::new(io::stderr().lock(), ColorChoice::AlwaysAnsi);
    // A terminal that went away has nobody to tell.
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}
