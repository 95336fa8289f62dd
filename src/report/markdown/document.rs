//! A Markdown text of bounded length: what no longer fits is counted.

use crate::report::units::counted;

/// Forges take no longer comment than 65,536 characters; something may be written around it.
pub(super) const MAX_BYTES: usize = 64_000;
/// What is kept free for the line that says what was left out.
const RESERVE: usize = 500;

/// The text so far.
pub(super) struct Document {
    text: String,
    limit: usize,
    left_out: Vec<String>,
}

impl Document {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            text: String::new(),
            limit: limit.saturating_sub(RESERVE),
            left_out: Vec::new(),
        }
    }

    /// Bytes that are left.
    pub(super) fn room(&self) -> usize {
        self.limit.saturating_sub(self.text.len())
    }

    /// Appends a block with an empty line before it, if there is room; says whether there was.
    pub(super) fn block(&mut self, block: &str) -> bool {
        let block = block.trim_end();
        if block.is_empty() {
            return true;
        }
        if block.len() + 2 > self.room() {
            return false;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(block);
        self.text.push('\n');
        true
    }

    /// A block, or the note that `what` was left out.
    pub(super) fn block_or_note(&mut self, block: &str, what: &str) {
        if !self.block(block) {
            self.left_out.push(what.to_owned());
        }
    }

    pub(super) fn note(&mut self, what: String) {
        self.left_out.push(what);
    }

    /// The text, and what had no room in it.
    pub(super) fn finish(mut self) -> String {
        if !self.left_out.is_empty() {
            let mut line = self.left_out.join("; ");
            if line.len() + 80 > RESERVE {
                line = counted(self.left_out.len(), "part");
            }
            self.text
                .push_str(&format!("\n*Left out to stay within 64 kB: {line}.*\n"));
        }
        self.text
    }
}

/// Items as a list within so many bytes; what does not fit is counted.
pub(super) fn list(items: impl IntoIterator<Item = String>, most: usize) -> String {
    let mut out = String::new();
    let mut items = items.into_iter();
    let mut unshown = 0;
    for item in items.by_ref() {
        let line = format!("- {item}\n");
        if out.len() + line.len() > most {
            unshown += 1;
            break;
        }
        out += &line;
    }
    unshown += items.count();
    if unshown > 0 {
        out += &format!("- … {unshown} more\n");
    }
    out
}

/// A part that is folded in until somebody opens it; empty for an empty body.
pub(super) fn details(summary: &str, body: &str) -> String {
    match body.trim().is_empty() {
        true => String::new(),
        false => format!(
            "<details><summary>{summary}</summary>\n\n{}\n\n</details>\n",
            body.trim_end()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_told() {
        let mut document = Document::new(RESERVE + 20);
        assert!(document.block("0123456789"));
        document.block_or_note("0123456789", "a table");
        assert!(document.block("012345"));
        assert_eq!(
            document.finish(),
            "0123456789\n\n012345\n\n*Left out to stay within 64 kB: a table.*\n"
        );
        assert_eq!(
            list(["a", "b", "c"].map(str::to_owned), 9),
            "- a\n- b\n- … 1 more\n"
        );
        assert_eq!(details("x", "\n"), "");
    }
}
