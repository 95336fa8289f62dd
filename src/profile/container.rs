//! Takes the compression off: gzip (any number of members), zstd, or nothing.
//!
//! Knows compression formats only; what the bytes mean is found out by [`super::sniff`].

use super::{Limits, ProfileError};
use flate2::read::MultiGzDecoder;
use std::io::{ErrorKind, Read};

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Deflate cannot expand further than this, so a size claim beyond it is a lie.
const MAX_DEFLATE_RATIO: usize = 1032;

pub(super) fn inflate(bytes: Vec<u8>, limits: &Limits) -> Result<Vec<u8>, ProfileError> {
    if bytes.is_empty() {
        return Err(ProfileError::Empty);
    }
    if bytes.len() > limits.max_bytes {
        return Err(ProfileError::TooLarge {
            limit: limits.max_bytes,
        });
    }
    let expanded = if bytes.starts_with(GZIP_MAGIC) {
        let room = claimed_gzip_size(&bytes).min(limits.max_bytes);
        read_bounded(MultiGzDecoder::new(bytes.as_slice()), "gzip", room, limits)?
    } else if bytes.starts_with(ZSTD_MAGIC) {
        let mut rest = bytes.as_slice();
        let mut expanded = Vec::new();
        while !rest.is_empty() {
            // A zstd file is a sequence of frames; the decoder stops after each.
            let decoder = ruzstd::decoding::StreamingDecoder::new(&mut rest).map_err(|error| {
                ProfileError::Compression {
                    format: "zstd",
                    expanded: expanded.len(),
                    reason: error.to_string(),
                }
            })?;
            let left = Limits {
                max_bytes: limits.max_bytes - expanded.len(),
            };
            let frame = read_bounded(decoder, "zstd", 0, &left)?;
            expanded.extend_from_slice(&frame);
        }
        expanded
    } else {
        bytes
    };
    if expanded.is_empty() {
        return Err(ProfileError::Empty);
    }
    Ok(expanded)
}

/// The size that the last gzip member's trailer claims, bounded by what deflate can do.
fn claimed_gzip_size(bytes: &[u8]) -> usize {
    match bytes.last_chunk::<4>() {
        Some(trailer) => (u32::from_le_bytes(*trailer) as usize)
            .min(bytes.len().saturating_mul(MAX_DEFLATE_RATIO)),
        None => 0,
    }
}

fn read_bounded(
    decoder: impl Read,
    format: &'static str,
    room: usize,
    limits: &Limits,
) -> Result<Vec<u8>, ProfileError> {
    let mut expanded = Vec::with_capacity(room);
    // One byte more than allowed tells "exactly full" from "too large".
    let mut bounded = decoder.take(limits.max_bytes as u64 + 1);
    match bounded.read_to_end(&mut expanded) {
        Ok(_) if expanded.len() > limits.max_bytes => Err(ProfileError::TooLarge {
            limit: limits.max_bytes,
        }),
        Ok(_) => Ok(expanded),
        Err(error) => Err(ProfileError::Compression {
            format,
            expanded: expanded.len(),
            reason: match error.kind() {
                ErrorKind::UnexpectedEof => "it ends early".to_owned(),
                _ => error.to_string(),
            },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(data: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(data, ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn every_container_gives_the_bytes_back() {
        let data = b"heap profile: 1: 2 [3: 4] @ heap/1048576\n".repeat(50);
        let (a, b) = data.split_at(100);
        for packed in [
            data.clone(),
            gzip(&data),
            [gzip(a), gzip(b)].concat(),
            zstd(&data),
            [zstd(a), zstd(b)].concat(),
        ] {
            assert_eq!(inflate(packed, &Limits::default()).unwrap(), data);
        }
    }

    #[test]
    fn truncation_anywhere_is_an_error_never_a_shorter_profile() {
        let data: Vec<u8> = (0..2000u32)
            .flat_map(|i| (i * 7919).to_le_bytes())
            .collect();
        for packed in [gzip(&data), zstd(&data)] {
            for len in [5, 12, packed.len() / 2, packed.len() - 1] {
                let error = inflate(packed[..len].to_vec(), &Limits::default()).unwrap_err();
                assert!(
                    matches!(error, ProfileError::Compression { .. }),
                    "{len}: {error}"
                );
            }
        }
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let limits = Limits { max_bytes: 10_000 };
        for packed in [gzip(&[0; 1 << 20]), zstd(&[0; 1 << 20])] {
            assert_eq!(
                inflate(packed, &limits).unwrap_err(),
                ProfileError::TooLarge { limit: 10_000 }
            );
        }
        assert_eq!(
            inflate(Vec::new(), &limits).unwrap_err(),
            ProfileError::Empty
        );
        assert_eq!(
            inflate(gzip(b""), &limits).unwrap_err(),
            ProfileError::Empty
        );
    }
}
