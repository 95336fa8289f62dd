//! Lines of styled text. Everything that is printed is sanitised here.

use super::Layout;
use super::sanitize::sanitize;
use super::wrap::{flow, width_of, wrap};
use anstyle::{AnsiColor, Style};

/// What a piece of text is, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Plain,
    /// Labels and figures of second rank.
    Faint,
    /// Names that the eye should find.
    Strong,
    /// Bad news.
    Alarm,
    /// Real but not yet bad.
    Caution,
    /// Explained.
    Note,
    /// Good news.
    Good,
}

impl Role {
    fn style(self) -> Style {
        let colored = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
        match self {
            Self::Plain => Style::new(),
            Self::Faint => Style::new().dimmed(),
            Self::Strong => Style::new().bold(),
            Self::Alarm => colored(AnsiColor::Red).bold(),
            Self::Caution => colored(AnsiColor::Yellow).bold(),
            Self::Note => colored(AnsiColor::Cyan),
            Self::Good => colored(AnsiColor::Green).bold(),
        }
    }
}

/// A piece of text of one role.
pub(super) struct Span(Role, String);

impl Span {
    pub(super) fn new(role: Role, text: impl AsRef<str>) -> Self {
        Self(role, sanitize(text.as_ref()).into_owned())
    }

    pub(super) fn plain(text: impl AsRef<str>) -> Self {
        Self::new(Role::Plain, text)
    }

    fn width(&self) -> usize {
        width_of(&self.1)
    }
}

/// Collects the lines of a report.
pub(super) struct Printer {
    layout: Layout,
    text: String,
}

impl Printer {
    pub(super) fn new(layout: &Layout) -> Self {
        Self {
            layout: *layout,
            text: String::new(),
        }
    }

    pub(super) fn width(&self) -> usize {
        self.layout.width
    }

    pub(super) fn is_verbose(&self) -> bool {
        self.layout.verbose
    }

    /// The report; it ends with a line break.
    pub(super) fn finish(self) -> String {
        self.text
    }

    /// An empty line, unless there is one already or nothing above.
    pub(super) fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// A line of pieces, which must fit.
    pub(super) fn line(&mut self, indent: usize, spans: &[Span]) {
        let mut line = " ".repeat(indent);
        for Span(role, text) in spans {
            match role.style() {
                style if self.layout.color && style != Style::new() && !text.is_empty() => {
                    line.push_str(&format!("{style}{text}{style:#}"));
                }
                _ => line.push_str(text),
            }
        }
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// Pieces at the left and a text at the right edge; below them, also at the right, if
    /// both do not fit in one line.
    pub(super) fn line_with_right(&mut self, indent: usize, left: Vec<Span>, right: Span) {
        let used = indent + left.iter().map(Span::width).sum::<usize>();
        let wanted = right.width();
        if right.1.is_empty() {
            return self.line(indent, &left);
        }
        if used + 2 + wanted <= self.width() {
            let space = Span::plain(" ".repeat(self.width() - used - wanted));
            let spans: Vec<Span> = left.into_iter().chain([space, right]).collect();
            return self.line(indent, &spans);
        }
        self.line(indent, &left);
        self.line(self.width().saturating_sub(wanted), &[right]);
    }

    /// Figures that stay whole, two spaces between them, as many a line as fit, after a label
    /// in a column of its own.
    pub(super) fn figures(
        &mut self,
        indent: usize,
        column: usize,
        label: &str,
        figures: &[String],
    ) {
        let room = self.width().saturating_sub(indent + column);
        for (number, line) in flow(figures, room).iter().enumerate() {
            let label = if number == 0 { label } else { "" };
            let spans = [
                Span::new(Role::Faint, format!("{label:<column$}")),
                Span::plain(line),
            ];
            self.line(indent, &spans);
        }
    }

    /// Running text, wrapped, after a label in a column of its own.
    pub(super) fn labelled(&mut self, indent: usize, column: usize, label: &str, text: &str) {
        self.labelled_as(Role::Plain, indent, column, label, text);
    }

    pub(super) fn labelled_as(
        &mut self,
        role: Role,
        indent: usize,
        column: usize,
        label: &str,
        text: &str,
    ) {
        let text = sanitize(text);
        let lines = wrap(&text, self.width().saturating_sub(indent + column));
        for (number, line) in lines.iter().enumerate() {
            let label = if number == 0 { label } else { "" };
            let spans = [
                Span::new(Role::Faint, format!("{label:<column$}")),
                Span::new(role, line),
            ];
            self.line(indent, &spans);
        }
    }

    /// Running text, wrapped.
    pub(super) fn paragraph(&mut self, role: Role, indent: usize, text: &str) {
        self.labelled_as(role, indent, 0, "", text);
    }

    /// Lines that keep their breaks and their indentation: code.
    pub(super) fn verbatim(&mut self, indent: usize, text: &str) {
        for line in text.lines() {
            self.line(indent, &[Span::plain(line.replace('\t', "    "))]);
        }
    }
}
