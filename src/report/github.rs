//! Annotations of GitHub Actions: workflow commands on standard output.
//!
//! The runner shows ten of a kind a step; the worst ten are written, then a count. Escaping is
//! GitHub's (`@actions/core`, command.ts): `%`, CR and LF in messages, `:` and `,` besides in
//! properties.

use super::notices::{Level, Notice, Notices};
use super::sanitize::sanitize;

/// Who speaks.
const TOOL: &str = "heapdrift";
/// Annotations of one kind that the runner shows.
const MOST: usize = 10;

/// Lays notices out as workflow commands.
pub fn github(notices: &Notices) -> String {
    let mut text = String::new();
    for notice in notices.notices.iter().take(MOST) {
        text.push_str(&command(notice));
    }
    let rest = notices.notices.len().saturating_sub(MOST);
    if rest > 0 {
        text.push_str(&format!("::notice title={TOOL}::{rest} more, not shown\n"));
    }
    text.push_str(&format!("{TOOL}: {}\n", sanitize(&notices.title)));
    text
}

fn command(notice: &Notice) -> String {
    let kind = match notice.level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "notice",
    };
    let mut properties = Vec::new();
    if let Some(file) = &notice.file {
        properties.push(format!("file={}", property(file)));
        properties.extend(notice.line.map(|line| format!("line={line}")));
    }
    properties.push(format!("title={}", property(&notice.title)));
    let message = match notice.function.is_empty() {
        true => notice.message.clone(),
        false => format!("{}: {}", notice.function, notice.message),
    };
    format!("::{kind} {}::{}\n", properties.join(","), data(&message))
}

/// A message: hidden characters as elsewhere, then what ends or begins a command.
fn data(text: &str) -> String {
    let text = sanitize(text).replace('%', "%25");
    text.replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(title: &str, file: &str) -> Notice {
        Notice {
            rule: "over-budget".into(),
            level: Level::Error,
            title: title.into(),
            message: "50 % more\n::error::x".into(),
            file: Some(file.into()),
            line: Some(7),
            function: "main.f".into(),
        }
    }

    #[test]
    fn nothing_in_a_name_is_a_command() {
        let all = Notices {
            command: "check",
            title: "t\n::error::".into(),
            notices: vec![notice("a,b:c%", "x,y.go\n::warning::z")],
            looked_at: 1,
        };
        let text = github(&all);
        assert_eq!(text.lines().count(), 2, "{text}");
        let line = text.lines().next().unwrap();
        assert!(line.starts_with("::error file=x%2Cy.go"), "{line}");
        assert!(
            line.contains(",line=7,title=a%2Cb%3Ac%25::main.f: 50 %25 more"),
            "{line}"
        );
        // One command, and nothing in its properties ends them.
        assert_eq!(line.matches("::error").count(), 1, "{line}");
        let properties = line.split("::").nth(1).unwrap();
        assert!(properties.ends_with("title=a%2Cb%3Ac%25"), "{properties}");
    }

    #[test]
    fn the_worst_ten_and_a_count() {
        let all = Notices {
            command: "check",
            title: "t".into(),
            notices: vec![notice("a", "a.go"); 13],
            looked_at: 13,
        };
        let text = github(&all);
        assert_eq!(text.matches("::error ").count(), 10);
        assert!(text.contains("::3 more, not shown\n"), "{text}");
    }
}
