//! Times as people write them: `30s`, `5m`, `1h30m`.

use jiff::SignedDuration;
use std::time::Duration;

/// Snapshots closer together than this show one and the same collector cycle.
const SHORTEST: Duration = Duration::from_millis(100);
/// A year: longer is a slip of the keyboard.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// A time of at least a tenth of a second; a bare number is seconds.
///
/// # Errors
/// A sentence that shows what is understood.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let time = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => text
            .parse::<SignedDuration>()
            .ok()
            .and_then(|time| Duration::try_from(time).ok()),
    };
    time.filter(|time| (SHORTEST..=LONGEST).contains(time))
        .ok_or_else(|| format!("{text:?} is not a time; write 30s, 5m or 1h30m"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_understood() {
        for (text, millis) in [
            ("30s", 30_000),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("500ms", 500),
            ("45", 45_000),
            ("0.5", 500),
            ("48h", 172_800_000),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(millis)),
                "{text}"
            );
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "", "0", "0s", "-5s", "soon", "1ms", "NaN", "inf", "1e30", "99999d",
        ] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
