//! A result as JSON: the contract that other programs read.

use super::sanitize::{is_command, is_hidden};
use serde::Serialize;
use std::fmt::Write;

/// JSON Schema (draft 2020-12) of `diagnose -f json`.
pub const DIAGNOSIS_SCHEMA: &str = include_str!("diagnosis.schema.json");
/// JSON Schema (draft 2020-12) of `diff -f json`.
pub const DIFF_SCHEMA: &str = include_str!("diff.schema.json");
/// JSON Schema (draft 2020-12) of `diagnose -f json` of several processes.
pub const FLEET_SCHEMA: &str = include_str!("fleet.schema.json");
/// JSON Schema (draft 2020-12) of `top -f json`.
pub const TOP_SCHEMA: &str = include_str!("top.schema.json");
/// JSON Schema of `verify -f json`.
pub const VERIFY_SCHEMA: &str = include_str!("verify.schema.json");

/// Indented JSON with a line break at its end.
///
/// JSON may end up on a terminal too: what [`super::sanitize`] would escape is written as
/// `\uXXXX`, which any reader turns back into the same text.
///
/// # Errors
/// None for the types of [`crate::diagnosis`]; a map with keys that are not text.
pub fn to_json<T: Serialize>(result: &T) -> Result<String, serde_json::Error> {
    let text = serde_json::to_string_pretty(result)?;
    let mut escaped = String::with_capacity(text.len() + 1);
    for (index, c) in text.char_indices() {
        match c {
            // Outside of strings JSON has no other control character.
            '\n' => escaped.push(c),
            c if is_hidden(c) || c == '#' && is_command(&text, index) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(escaped, "\\u{unit:04x}");
                }
            }
            c => escaped.push(c),
        }
    }
    escaped.push('\n');
    Ok(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escaped_and_come_back() {
        let hostile = "a\x1b[2J\u{9b}\u{202e}\u{e0041}\n\u{7f}é##[error]";
        let json = to_json(&[hostile]).unwrap();
        assert!(!json.chars().any(|c| c != '\n' && is_hidden(c)), "{json}");
        assert!(!json.contains("##["), "{json}");
        assert_eq!(
            serde_json::from_str::<[String; 1]>(&json).unwrap(),
            [hostile]
        );
    }
}
