//! Where a file of a profile stands in the repository that the user works in.
//!
//! Knows paths only: whether a file is there is asked by whoever has a file system.

use super::names::full_place;
use std::collections::BTreeMap;

/// Files of profiles with their paths in the repository, `/` between the parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceLinks(BTreeMap<String, String>);

impl SourceLinks {
    /// Looks for each file under the repository's root: the longest end of its path that
    /// `is_there`. Files of the module cache and of Go itself are none of the repository's.
    pub fn find<'a>(files: impl Iterator<Item = &'a str>, is_there: impl Fn(&str) -> bool) -> Self {
        let mut found = BTreeMap::new();
        for file in files {
            if found.contains_key(file) || full_place(Some(file), None) != file {
                continue;
            }
            let mut ends = file
                .match_indices(['/', '\\'])
                .map(|(at, _)| &file[at + 1..]);
            let whole = Some(file).filter(|file| !file.starts_with(['/', '\\']));
            let end = whole.into_iter().chain(&mut ends).find(|end| {
                let is_plain = |part: &str| !["", ".", ".."].contains(&part);
                end.split(['/', '\\']).all(is_plain) && is_there(end)
            });
            if let Some(end) = end {
                found.insert(file.to_owned(), end.replace('\\', "/"));
            }
        }
        Self(found)
    }

    /// `internal/controller/controller.go`, of a file of the repository.
    pub(super) fn path(&self, file: &str) -> Option<&str> {
        self.0.get(file).map(String::as_str)
    }

    /// `internal/controller/controller.go#L240`, percent-encoded: the address of a line relative to the
    /// repository, as GitHub has it.
    pub(super) fn address(&self, file: Option<&str>, line: Option<u32>) -> Option<String> {
        let path = self.path(file?)?;
        let mut address = String::with_capacity(path.len() + 8);
        for byte in path.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                    address.push(char::from(byte));
                }
                byte => address.push_str(&format!("%{byte:02X}")),
            }
        }
        if let Some(line) = line {
            address.push_str(&format!("#L{line}"));
        }
        Some(address)
    }

    /// `internal/controller/controller.go:240`; of a file that is not the repository's, its module
    /// or package and its path in there.
    pub(super) fn place(&self, file: Option<&str>, line: Option<u32>) -> String {
        let path = file.and_then(|file| self.path(file));
        full_place(path.or(file), line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_end_that_is_there_is_the_path() {
        let there = ["internal/a/b c.go", "b c.go", "deleg.go", "../secret"];
        let files = [
            "/build/src/internal/a/b c.go",
            "/go/pkg/mod/x.y/z@v1/deleg.go",
            "C:\\w\\internal\\a\\b c.go",
            "internal/a/b c.go",
            "/x/../secret",
            "/elsewhere/d.go",
        ];
        let links = SourceLinks::find(files.into_iter(), |end| {
            there.contains(&end.replace('\\', "/").as_str())
        });
        assert_eq!(links.path(files[0]), Some("internal/a/b c.go"));
        assert_eq!(links.path(files[1]), None, "of the module cache");
        assert_eq!(links.path(files[2]), Some("internal/a/b c.go"));
        assert_eq!(links.path(files[3]), Some("internal/a/b c.go"));
        assert_eq!(links.path(files[4]), None, "out of the repository");
        assert_eq!(links.path(files[5]), None);
        assert_eq!(
            links.address(Some(files[0]), Some(7)).as_deref(),
            Some("internal/a/b%20c.go#L7")
        );
        assert_eq!(links.place(Some(files[0]), Some(7)), "internal/a/b c.go:7");
        assert_eq!(links.place(Some(files[1]), Some(7)), "x.y/z@v1/deleg.go:7");
    }
}
