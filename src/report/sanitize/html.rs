//! Text that says in HTML and SVG what it says without.

use super::sanitize;
use std::fmt;

/// Longest text on a page, in characters: a page has room, but not for a megabyte of names.
const MAX_CHARS: usize = 600;

/// Text from anywhere, made fit to be shown. Templates escape what HTML would take for markup
/// when they print it; what hides or reorders text is written out already.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::report) struct Text(String);

impl Text {
    /// Takes any text.
    pub(in crate::report) fn new(text: impl AsRef<str>) -> Self {
        let text = sanitize(text.as_ref());
        match text.char_indices().nth(MAX_CHARS) {
            Some((end, _)) => Self(format!(
                "{}… ({} more bytes)",
                &text[..end],
                text.len() - end
            )),
            None => Self(text.into_owned()),
        }
    }

    /// As HTML, for markup that is not made by a template.
    pub(in crate::report) fn escaped(&self) -> String {
        let mut out = String::with_capacity(self.0.len() + 8);
        for c in self.0.chars() {
            match c {
                '&' => out.push_str("&amp;"),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '"' => out.push_str("&quot;"),
                '\'' => out.push_str("&#39;"),
                c => out.push(c),
            }
        }
        out
    }

    pub(in crate::report) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl serde::Serialize for Text {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// JSON that can stand within a `<script>` element: nothing in it ends the element or begins a
/// comment.
pub(in crate::report) fn script_json(value: &impl serde::Serialize) -> String {
    let json = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_shown_and_not_taken() {
        let text = Text::new("<a href=\"x\" b='c'>&\u{202e}");
        assert_eq!(
            text.escaped(),
            "&lt;a href=&quot;x&quot; b=&#39;c&#39;&gt;&amp;\\u{202e}"
        );
        assert_eq!(
            script_json(&["</script><!--"]),
            r#"["\u003c/script\u003e\u003c!--"]"#
        );
        let long = Text::new("é".repeat(700)).to_string();
        assert!(long.ends_with("é… (200 more bytes)"), "{long}");
    }
}
