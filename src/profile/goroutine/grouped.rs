//! `goroutine?debug=1`: one row per distinct stack, as `K @ 0x… 0x…` with symbol comments.
//!
//! Knows that grammar, which Go's count profiles share (`goroutineleak` among them).

use super::{GoroutineForm, GoroutineProfile, Groups};
use crate::profile::legacy::stack::StackReader;
use crate::profile::legacy::text::{Cursor, Lines, Skipped};
use crate::profile::{ProfileError, ProfileFile, ProfileWarning, SymbolTable};

/// `name profile: total N`: the name, and how many the text announces.
fn parse_header(line: &[u8]) -> Option<(&[u8], u64)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let name = line[..colon].strip_suffix(b" profile")?;
    let mut cursor = Cursor::new(&line[colon + 1..]);
    cursor.eat(b"total")?;
    Some((name, cursor.unsigned()?))
}

/// The name of the count profile that begins at this line.
pub(in crate::profile) fn profile_name(line: &[u8]) -> Option<&[u8]> {
    parse_header(line).map(|(name, _)| name)
}

/// Decodes the text. Labels are left aside: goroutines are grouped by where they stand.
pub(in crate::profile) fn decode(
    bytes: &[u8],
    symbols: &mut SymbolTable,
) -> Result<ProfileFile, ProfileError> {
    let mut lines = Lines::new(bytes);
    let header = lines.find_map(|line| parse_header(line.bytes.trim_ascii()));
    let Some((name, told)) = header else {
        return Err(ProfileError::Text {
            line: 1,
            reason: "expected `goroutine profile: total N`".to_owned(),
        });
    };
    // The runtime lists there only what its collector has proved to be stuck for good.
    let are_leaked = name == b"goroutineleak";
    let mut stacks = StackReader::default();
    let mut groups = Groups::default();
    let mut skipped = Skipped::default();
    let mut pending = None;
    let mut listed = 0u64;
    for line in lines {
        let text = line.bytes.trim_ascii();
        match text.first() {
            None => {}
            // `# labels: {…}` and other comments are no frames. Before the first row there is
            // none to add to, but the next row starts afresh.
            Some(b'#') => {
                let _ = stacks.add_comment(text, symbols);
            }
            Some(_) => {
                if parse_header(text).is_some() {
                    return Err(ProfileError::Text {
                        line: line.number,
                        reason: "a second profile begins here; split the file".to_owned(),
                    });
                }
                finish_row(
                    pending.take(),
                    are_leaked,
                    &mut stacks,
                    &mut groups,
                    symbols,
                );
                pending = start_row(text, &mut stacks);
                match pending {
                    Some(count) => listed = listed.saturating_add(count),
                    None => skipped.note(line.number),
                }
            }
        }
    }
    finish_row(pending, are_leaked, &mut stacks, &mut groups, symbols);
    let mut warnings = Vec::new();
    if listed < told {
        warnings.push(ProfileWarning::GoroutinesMissing { told, listed });
    }
    warnings.extend(skipped.warning());
    Ok(ProfileFile::Goroutines(GoroutineProfile {
        form: GoroutineForm::Grouped,
        lists_only_leaked: are_leaked,
        groups: groups.groups,
        time_nanos: None,
        warnings,
    }))
}

/// `K @ 0x… 0x…`: K.
fn start_row(text: &[u8], stacks: &mut StackReader) -> Option<u64> {
    let mut cursor = Cursor::new(text);
    let count = cursor.unsigned()?;
    cursor.eat(b"@")?;
    stacks.start(cursor.rest)?;
    Some(count)
}

fn finish_row(
    count: Option<u64>,
    are_leaked: bool,
    stacks: &mut StackReader,
    groups: &mut Groups,
    symbols: &mut SymbolTable,
) {
    if let Some(count) = count.filter(|count| *count > 0) {
        let leaked = if are_leaked { count } else { 0 };
        groups.add_stack(stacks.finish(symbols), count, leaked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::legacy::stack::tests::describe;

    /// Rows 1, 3 and 4 as Go 1.26 wrote them; row 3 is row 1 under a label.
    const TEXT: &str = "goroutine profile: total 9\n\
        5 @ 0x47dc8e 0x4158ee 0x4dc318 0x4841a1\n\
        #\t0x4dc317\tmain.(*T).wait+0x17\t/tmp/textgen/main.go:17\n\n\
        1 @ 0x47dc8e 0x4dcca5 0x4841a1\n# labels: {\"k\":\"0x1\"}\n\
        #\t0x4dcca4\tmain.generic[...]+0x24\t/tmp/textgen/main.go:19\n\n\
        1 @ 0x47dc8e 0x4158ee 0x4dc318 0x4841a1\n# labels: {\"k\":\"v\"}\n\
        #\t0x4dc317\tmain.(*T).wait+0x17\t/tmp/textgen/main.go:17\n\n\
        2 @ 0x47dc8e 0x4841a1\n";

    fn read(text: &str) -> (Vec<String>, Vec<ProfileWarning>) {
        let mut symbols = SymbolTable::new();
        match decode(text.as_bytes(), &mut symbols) {
            Ok(ProfileFile::Goroutines(profile)) => {
                let groups = profile.groups.iter().map(|g| {
                    let stack = describe(g.stack, &symbols).join(" < ");
                    format!("{} ({}) {stack}", g.count, g.leaked)
                });
                (groups.collect(), profile.warnings)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn rows_become_groups() {
        let expected = [
            "6 (0) main.(*T).wait /tmp/textgen/main.go:17",
            "1 (0) main.generic[...] /tmp/textgen/main.go:19",
            "2 (0) 0x47dc8d :0 < 0x4841a0 :0",
        ];
        assert_eq!(read(TEXT), (expected.map(str::to_owned).to_vec(), vec![]));
        let crlf = TEXT.replace('\n', "\r\n");
        assert_eq!(read(&crlf), read(TEXT));
        assert_eq!(read(TEXT.trim_end()), read(TEXT));
        let leaks = read(&TEXT.replace("goroutine profile", "goroutineleak profile"));
        assert_eq!(leaks.0[0], "6 (6) main.(*T).wait /tmp/textgen/main.go:17");
    }

    #[test]
    fn what_is_missing_or_odd_is_said() {
        let skipped = |count, first| ProfileWarning::SkippedLines { count, first };
        let missing = |told, listed| ProfileWarning::GoroutinesMissing { told, listed };
        for (text, groups, warnings) in [
            ("goroutine profile: total 0\n", &[][..], vec![]),
            (
                "goroutine profile: total 3\n1 @\n",
                &["1 (0) "],
                vec![missing(3, 1)],
            ),
            (
                "goroutine profile: total 1\nx\n1 @ 0x2\n-1 @ 0x2\n1 0x2\n1 @ 2\n0 @ 0x2",
                &["1 (0) 0x1 :0"],
                vec![skipped(4, 2)],
            ),
            (
                "goroutine profile: total 1\n18446744073709551616 @ 0x2\n7 @ 0x2\n",
                &["18446744073709551615 (0) 0x1 :0"],
                vec![],
            ),
        ] {
            let groups: Vec<String> = groups.iter().map(|g| (*g).to_owned()).collect();
            assert_eq!(read(text), (groups, warnings), "{text}");
        }
        let twice = TEXT.repeat(2);
        let error = decode(twice.as_bytes(), &mut SymbolTable::new()).err();
        assert!(
            matches!(error, Some(ProfileError::Text { line: 14, .. })),
            "{error:?}"
        );
    }

    #[test]
    fn hostile_text_never_panics() {
        for end in 0..TEXT.len() {
            let _ = decode(&TEXT.as_bytes()[..end], &mut SymbolTable::new());
        }
        let long = format!(
            "goroutine profile: total 1\n1 @{}\n",
            " 0x4841a1".repeat(120_000)
        );
        assert_eq!(read(&long).1, vec![]);
        let long = format!("{TEXT}{}", "x".repeat(1 << 20));
        assert_eq!(read(&long).1.len(), 1);
    }
}
