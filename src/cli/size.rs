//! Sizes as people and Kubernetes write them: `512MiB`, `512Mi`, `1.5GB`, `1000000`.

/// Bytes of a size with an IEC (1024) or SI (1000) unit; a bare number is bytes.
///
/// # Errors
/// A sentence that shows what is understood.
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let wrong = || format!("{text:?} is not a size; write 512MiB, 1.5GB or a number of bytes");
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "ki" | "kib" => 1024.0,
        "mi" | "mib" => 1_048_576.0,
        "gi" | "gib" => 1_073_741_824.0,
        "ti" | "tib" => 1_099_511_627_776.0,
        _ => return Err(wrong()),
    };
    let bytes = number.parse::<f64>().map_err(|_| wrong())? * factor;
    // Beyond 2^53 a size is no longer exact, and no memory is that large.
    match (1.0..9e15).contains(&bytes) {
        true => Ok(bytes as u64),
        false => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_understood() {
        for (text, bytes) in [
            ("512MiB", 536_870_912),
            ("512Mi", 536_870_912),
            ("512 mib", 536_870_912),
            ("512MB", 512_000_000),
            ("512M", 512_000_000),
            ("1.5GiB", 1_610_612_736),
            ("1k", 1000),
            ("1Ki", 1024),
            ("1", 1),
            ("2TiB", 2_199_023_255_552),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "", "0", "-1", "MiB", "1.2.3", "5 apples", "1e9", "99999TiB", "NaN", "inf", "1Zi",
        ] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
