//! JUnit XML, as CI servers read it: a test case a notice, failed where it is an error.

use super::notices::{Level, Notice, Notices};
use super::sanitize::sanitize;

/// Lays notices out as one test suite.
pub fn junit(notices: &Notices) -> String {
    let failures = notices
        .notices
        .iter()
        .filter(|n| n.level == Level::Error)
        .count();
    // A suite without a case is an error to some readers: the answer itself is one.
    let tests = notices.notices.len() + 1;
    let suite = format!("heapdrift {}", notices.command);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"{tests}\" failures=\"{failures}\">\n  <testsuite name=\"{}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\">\n",
        escaped(&suite)
    );
    text.push_str(&format!(
        "    <testcase name=\"{}\" classname=\"{}\">\n      <system-out>{} looked at</system-out>\n    </testcase>\n",
        escaped(&notices.title),
        escaped(&suite),
        notices.looked_at
    ));
    for notice in &notices.notices {
        text.push_str(&case(notice));
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

fn case(notice: &Notice) -> String {
    let place = match (&notice.file, notice.line) {
        (Some(file), Some(line)) => format!("{file}:{line}: "),
        (Some(file), None) => format!("{file}: "),
        (None, _) => String::new(),
    };
    let message = escaped(&format!("{place}{}", notice.message));
    let body = match notice.level {
        Level::Error => format!(
            "<failure type=\"{}\" message=\"{}\">{message}</failure>",
            escaped(&notice.rule),
            escaped(&notice.title)
        ),
        _ => format!("<system-out>{message}</system-out>"),
    };
    format!(
        "    <testcase name=\"{}\" classname=\"{}\">\n      {body}\n    </testcase>\n",
        escaped(&notice.title),
        escaped(&notice.rule)
    )
}

/// Text that is fit for XML 1.0, in elements and attributes. What XML has no character for
/// (controls) is written visibly by [`sanitize`] before.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in sanitize(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_is_markup() {
        let notice = Notice {
            rule: "a\"b".into(),
            level: Level::Error,
            title: "<x> & \u{1b}[2J".into(),
            message: "]]><failure>".into(),
            file: Some("a.go".into()),
            line: Some(3),
            function: "f".into(),
        };
        let text = junit(&Notices {
            command: "check",
            title: "t".into(),
            notices: vec![notice],
            looked_at: 4,
        });
        assert!(text.contains("name=\"&lt;x&gt; &amp; \\x1b[2J\""), "{text}");
        assert!(
            text.contains("a.go:3: ]]&gt;&lt;failure&gt;</failure>"),
            "{text}"
        );
        assert_eq!(text.matches("<failure").count(), 1);
        assert!(text.contains("tests=\"2\" failures=\"1\""), "{text}");
    }
}
