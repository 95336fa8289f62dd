//! SARIF 2.1.0 (OASIS, 2020): results that code-scanning services read.

use super::json::to_json;
use super::notices::{Level, Notice, Notices};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Lays notices out as one run of one tool. `version` is that of heapdrift.
///
/// # Errors
/// None: all of it is text and numbers.
pub fn sarif(notices: &Notices, version: &str) -> Result<String, serde_json::Error> {
    // Each rule once, by name; results refer to them by index.
    let mut rules: BTreeMap<&str, usize> = BTreeMap::new();
    for notice in &notices.notices {
        rules.entry(&notice.rule).or_default();
    }
    for (index, number) in rules.values_mut().enumerate() {
        *number = index;
    }
    let described: Vec<Value> = rules
        .keys()
        .map(|rule| {
            json!({
                "id": rule,
                "shortDescription": { "text": format!("heapdrift {}: {rule}", notices.command) },
            })
        })
        .collect();
    let results: Vec<Value> = notices
        .notices
        .iter()
        .map(|notice| result(notice, rules[notice.rule.as_str()]))
        .collect();
    to_json(&json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "heapdrift",
                "version": version,
                "rules": described,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    }))
}

fn result(notice: &Notice, rule: usize) -> Value {
    let mut result = json!({
        "ruleId": notice.rule,
        "ruleIndex": rule,
        "level": match notice.level {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        },
        "message": { "text": format!("{}: {}", notice.title, notice.message) },
        // The same place of another build is the same result.
        "partialFingerprints": { "heapdriftFunction/v1": format!("{}/{}", notice.rule, notice.function) },
    });
    let mut location = json!({});
    if let Some(file) = &notice.file {
        location["physicalLocation"] = json!({ "artifactLocation": { "uri": uri(file) } });
        if let Some(line) = notice.line {
            location["physicalLocation"]["region"] = json!({ "startLine": line });
        }
    }
    if !notice.function.is_empty() {
        location["logicalLocations"] =
            json!([{ "fullyQualifiedName": notice.function, "kind": "function" }]);
    }
    if location != json!({}) {
        result["locations"] = json!([location]);
    }
    result
}

/// A path as a URI reference (RFC 3986): what is not plain is percent-encoded; an absolute path
/// becomes a `file:` URI.
fn uri(path: &str) -> String {
    let path = path.replace('\\', "/");
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' | b'@' => {
                uri.push(byte as char);
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    match uri.starts_with('/') {
        true => format!("file://{uri}"),
        false => uri,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("a b/c.go"), "a%20b/c.go");
        assert_eq!(uri("/go/pkg/mod/x@v1/y.go"), "file:///go/pkg/mod/x@v1/y.go");
        assert_eq!(uri("C:\\x\\y.go"), "C%3A/x/y.go");
        assert_eq!(uri("é"), "%C3%A9");
    }
}
