//! The lines above a report's rows: which profile, which sample type, what total, what was cut.

use super::figure::{Figure, parse_figure, parse_percent, split_word};

/// What the lines above say of the profile; it holds for all reports that follow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Session {
    /// `inuse_space`, `alloc_space`, `cpu`, …; None if it was not pasted.
    pub sample_type: Option<String>,
    /// Base name of the binary.
    pub binary: String,
    pub build_id: String,
    /// Seconds since the Unix epoch, where the zone is named without doubt.
    pub seconds: Option<i64>,
}

/// Longest word that is kept of such a line.
const LONGEST_WORD: usize = 200;

impl Session {
    /// Reads `File: x`, `Build ID: x`, `Type: x`, `Time: x`, the option that chooses the sample
    /// type in pprof's own prompt or on its command line. `None`: another line.
    pub fn read_line(&mut self, text: &[u8]) -> Option<()> {
        if let Some(file) = text.strip_prefix(b"File: ") {
            // The first line of what pprof says of a file.
            *self = Self {
                binary: word(file),
                ..Self::default()
            };
        } else if let Some(id) = text.strip_prefix(b"Build ID: ") {
            self.build_id = word(id);
        } else if let Some(kind) = text.strip_prefix(b"Type: ") {
            self.sample_type = Some(word(kind));
            self.seconds = None;
        } else if let Some(time) = text.strip_prefix(b"Time: ") {
            self.seconds = parse_time(time);
        } else if let Some(kind) = chosen_type(text) {
            self.sample_type = Some(kind);
        } else {
            return None;
        }
        Some(())
    }
}

fn word(text: &[u8]) -> String {
    let text = text.trim_ascii();
    String::from_utf8_lossy(&text[..text.len().min(LONGEST_WORD)]).into_owned()
}

/// `sample_index=alloc_space` at pprof's prompt; `go tool pprof -alloc_space …` at a shell's.
fn chosen_type(text: &[u8]) -> Option<String> {
    const TYPES: [&[u8]; 4] = [
        b"inuse_space",
        b"inuse_objects",
        b"alloc_space",
        b"alloc_objects",
    ];
    let is_known = |name: &[u8]| TYPES.contains(&name).then(|| word(name));
    if let Some(value) = text.strip_prefix(b"sample_index") {
        let value = value.trim_ascii().strip_prefix(b"=").unwrap_or(value);
        return is_known(value.trim_ascii());
    }
    memchr::memmem::find(text, b"pprof ")?;
    let options = text.split(u8::is_ascii_whitespace);
    let mut options = options.filter_map(|option| option.strip_prefix(b"-"));
    options.find_map(|option| {
        let option = option.strip_prefix(b"-").unwrap_or(option);
        let value = option.strip_prefix(b"sample_index=");
        is_known(value.unwrap_or(option))
    })
}

/// `2026-11-30 09:32:07 UTC`, `2026-11-30 09:32:07.529904435 +0000 UTC`: seconds since the epoch.
///
/// Other zones have no unambiguous abbreviation; with a number (`+0200 CEST`) they do.
pub(super) fn parse_time(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text.trim_ascii()).ok()?;
    let mut words = text.split_ascii_whitespace();
    let (date, time, zone) = (words.next()?, words.next()?, words.next()?);
    let is_utc = matches!(zone, "UTC" | "GMT");
    let zone = if is_utc { "+0000" } else { zone };
    let time = time.split('.').next()?;
    let text = format!("{date} {time} {zone}");
    let zoned = jiff::fmt::strtime::parse("%Y-%m-%d %H:%M:%S %z", text).ok()?;
    Some(zoned.to_timestamp().ok()?.as_second())
}

/// The line with the total.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Total {
    /// Sum of the rows that follow, if the line says so.
    pub shown: Option<Figure>,
    /// The whole profile.
    pub all: Figure,
}

/// `Showing nodes accounting for X, Y% of Z total`, `X of Z total (Y%)` before 2017, or `Total: Z`.
pub(super) fn parse_total(text: &[u8]) -> Option<Total> {
    if let Some(all) = text.strip_prefix(b"Total: ") {
        let all = parse_figure(all.trim_ascii())?;
        return Some(Total { shown: None, all });
    }
    let (shown, rest) = match text.strip_prefix(b"Showing nodes accounting for ") {
        Some(rest) => {
            let (shown, rest) = split_word(rest)?;
            let (share, rest) = split_word(rest)?;
            parse_percent(share)?;
            (shown.strip_suffix(b",")?, rest)
        }
        None => split_word(text)?,
    };
    let rest = rest.trim_ascii_start().strip_prefix(b"of ")?;
    let (all, rest) = split_word(rest)?;
    let is_total = rest.trim_ascii_start().starts_with(b"total");
    let (shown, all) = (parse_figure(shown)?, parse_figure(all)?);
    is_total.then_some(Total {
        shown: Some(shown),
        all,
    })
}

/// `Dropped 46 nodes (cum <= 0.26MB)`: how many.
pub(super) fn parse_dropped(text: &[u8]) -> Option<u64> {
    let (count, rest) = count_after(text, b"Dropped ")?;
    rest.trim_ascii_start()
        .starts_with(b"node")
        .then_some(count)
}

/// `Showing top 10 nodes out of 160`: how many of them are not shown.
pub(super) fn parse_top(text: &[u8]) -> Option<u64> {
    let (shown, rest) = count_after(text, b"Showing top ")?;
    let rest = rest.trim_ascii_start();
    let rest = rest
        .strip_prefix(b"nodes out of ")
        .or_else(|| rest.strip_prefix(b"node out of "))?;
    let (all, _) = crate::profile::legacy::text::decimal(rest)?;
    Some(all.saturating_sub(shown))
}

fn count_after<'a>(text: &'a [u8], front: &[u8]) -> Option<(u64, &'a [u8])> {
    crate::profile::legacy::text::decimal(text.strip_prefix(front)?)
}

/// The headings of `top`, `tree` and `peek`.
pub(super) fn is_headings(text: &[u8]) -> bool {
    let mut words = text
        .split(u8::is_ascii_whitespace)
        .filter(|w| !w.is_empty());
    [&b"flat"[..], b"flat%", b"sum%", b"cum", b"cum%"]
        .into_iter()
        .all(|heading| words.next() == Some(heading))
}

/// A line of dashes with one `+`: the dashes before it.
pub(super) fn parse_separator(text: &[u8]) -> Option<usize> {
    let plus = memchr::memchr(b'+', text)?;
    let is_dashes = |part: &[u8]| part.len() >= 5 && part.iter().all(|byte| *byte == b'-');
    (is_dashes(&text[..plus]) && is_dashes(&text[plus + 1..])).then_some(plus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_the_total_are_read() {
        let total = |text: &str| {
            let total = parse_total(text.as_bytes())?;
            Some((total.shown.map(|shown| shown.value), total.all.value))
        };
        let mib = 1 << 20;
        for (text, expected) in [
            (
                "Showing nodes accounting for 20MB, 100% of 21MB total",
                Some((Some(20 * mib), 21 * mib)),
            ),
            ("2MB of 4MB total (50.00%)", Some((Some(2 * mib), 4 * mib))),
            ("2MB of 4MB total (  50%)", Some((Some(2 * mib), 4 * mib))),
            ("Total: 4MB", Some((None, 4 * mib))),
            ("Total: 4 MB", None),
            ("Showing nodes accounting for memory", None),
            ("2 of 4 pods restarted", None),
            ("Showing nodes accounting for 2MB of 4MB total", None),
        ] {
            assert_eq!(total(text), expected, "{text}");
        }
    }

    #[test]
    fn what_was_cut_is_counted() {
        assert_eq!(parse_dropped(b"Dropped 46 nodes (cum <= 0.26MB)"), Some(46));
        assert_eq!(parse_dropped(b"Dropped 1 node (cum <= 0.26MB)"), Some(1));
        assert_eq!(parse_dropped(b"Dropped 3 edges (freq <= 1MB)"), None);
        assert_eq!(parse_top(b"Showing top 10 nodes out of 160"), Some(150));
        assert_eq!(
            parse_top(b"Showing top 10 nodes out of 31 (cum >= 1MB)"),
            Some(21)
        );
        assert!(is_headings(b"      flat  flat%   sum%        cum   cum%"));
        assert!(is_headings(
            b"flat flat% sum% cum cum%   calls calls% + context"
        ));
        assert!(!is_headings(b"flat white"));
        assert_eq!(parse_separator(b"-----------+------"), Some(11));
        assert_eq!(parse_separator(b"----------- ------"), None);
        assert_eq!(parse_separator(b"---+---"), None, "a table's");
    }

    #[test]
    fn times_need_a_zone_that_is_certain() {
        // 2026-11-30T09:32:07Z by `date -u -d … +%s`.
        for (text, expected) in [
            ("2026-11-30 09:32:07 UTC", Some(1_796_031_127)),
            (
                "2026-11-30 09:32:07.529904435 +0000 UTC",
                Some(1_796_031_127),
            ),
            ("2026-11-30 11:32:07 +0200 EET", Some(1_796_031_127)),
            ("2026-11-30 09:32:07 CST", None),
            ("yesterday", None),
        ] {
            assert_eq!(parse_time(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn a_session_knows_its_sample_type() {
        let mut session = Session::default();
        for (line, expected) in [
            ("Type: inuse_space", Some("inuse_space")),
            ("sample_index=alloc_space", Some("alloc_space")),
            ("File: app", None),
            (
                "$ go tool pprof -alloc_objects heap.out",
                Some("alloc_objects"),
            ),
            (
                "go tool pprof --sample_index=inuse_space x",
                Some("inuse_space"),
            ),
        ] {
            assert_eq!(session.read_line(line.as_bytes()), Some(()), "{line}");
            assert_eq!(session.sample_type.as_deref(), expected, "{line}");
        }
        assert_eq!(session.read_line(b"sample_index=nonsense"), None);
        assert_eq!(session.read_line(b"-alloc_space is a mistake"), None);
    }
}
