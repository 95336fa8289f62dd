//! How the sites of two builds or processes were matched, in a sentence.

use super::names::brief;
use super::units::{counted, size};
use crate::diagnosis::{Identity, Tier};

/// Moves that the sentence names.
const MAX_MOVES: usize = 2;

/// The label before the sentence.
pub(super) fn label(identity: &Identity) -> &'static str {
    match identity.is_other_build {
        true => "builds",
        false => "processes",
    }
}

/// `another build: 81 % of the bytes are at sites of the same name and line, 5 % moved (a.F →
/// b.F 3.1 MiB), 2 % only in one`.
pub(super) fn sentence(identity: &Identity) -> String {
    let mut parts: Vec<String> = Vec::new();
    for tier in identity.tiers.iter().filter(|tier| tier.share > 0.0) {
        let what = match tier.tier {
            Tier::SameLines => "at sites of the same name and line".to_owned(),
            Tier::SameOffsets => "of the same name, further up or down the file".to_owned(),
            Tier::SameNames => "of the same name at another line".to_owned(),
            Tier::Moved => format!("moved{}", moves(identity)),
            Tier::SamePackage => "at other sites of a package in both".to_owned(),
        };
        parts.push(format!("{} {what}", percent(tier.share)));
    }
    if identity.unmatched.share > 0.0 {
        let share = percent(identity.unmatched.share);
        parts.push(format!("{share} only in one"));
    }
    let who = match identity.is_other_build {
        true => "another build",
        false => "the same build in another process",
    };
    if let Some(first) = parts.first_mut()
        && let Some((share, what)) = first.split_once(" % ")
    {
        *first = format!("{share} % of the bytes are {what}");
    }
    match parts.is_empty() {
        true => format!("{who}: nothing is in use"),
        false => format!("{who}: {}", parts.join(", ")),
    }
}

/// ` (a.F → b.F 3.1 MiB, 4 more)`; empty for none.
fn moves(identity: &Identity) -> String {
    let named = identity.moves.iter().take(MAX_MOVES);
    let mut parts: Vec<String> = named
        .map(|moved| {
            let (from, to) = (brief(&moved.from), brief(&moved.to));
            // Names that differ by their package only are told apart by its path.
            let (from, to) = match from == to {
                true => (moved.from.as_str(), moved.to.as_str()),
                false => (from, to),
            };
            format!("{from} → {to} {}", size(moved.bytes as f64))
        })
        .collect();
    let more = identity.moves.len().saturating_sub(MAX_MOVES) + identity.moves_unshown.rows;
    match parts.is_empty() {
        true => return String::new(),
        false if more > 0 => parts.push(counted(more, "more move")),
        false => {}
    }
    format!(" ({})", parts.join(", "))
}

/// `81 %`; `<1 %` for little.
fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 0.5 => "<1 %".to_owned(),
        percent => format!("{percent:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{IdentityMove, IdentityShares, IdentityTier, Unshown};

    fn identity(tiers: &[(Tier, f64)], moves: usize) -> Identity {
        let tier = |(tier, share): &(Tier, f64)| IdentityTier {
            tier: *tier,
            share: *share,
            before_share: *share,
            after_share: *share,
        };
        let matched: f64 = tiers.iter().map(|(_, share)| share).sum();
        let one = IdentityMove {
            from: "example.com/a.F".to_owned(),
            to: "example.com/b.F".to_owned(),
            bytes: 3_250_586,
        };
        Identity {
            is_other_build: true,
            builds: ["unknown".to_owned(), "unknown".to_owned()],
            before: "1".to_owned(),
            after: "2".to_owned(),
            tiers: tiers.iter().map(tier).collect(),
            unmatched: IdentityShares {
                share: 1.0 - matched,
                before_share: 1.0 - matched,
                after_share: 1.0 - matched,
            },
            moves: vec![one; moves],
            moves_unshown: Unshown::default(),
        }
    }

    #[test]
    fn shares_are_told_closest_first() {
        let mut told = identity(
            &[
                (Tier::SameLines, 0.81),
                (Tier::SameNames, 0.12),
                (Tier::Moved, 0.0475),
            ],
            1,
        );
        assert_eq!(
            sentence(&told),
            "another build: 81 % of the bytes are at sites of the same name and line, \
             12 % of the same name at another line, 5 % moved (a.F → b.F 3.1 MiB), 2 % only in one"
        );
        told.moves = vec![told.moves[0].clone(); 4];
        assert!(sentence(&told).contains("3.1 MiB, a.F → b.F 3.1 MiB, 2 more moves)"));
        let same = Identity {
            is_other_build: false,
            ..identity(&[(Tier::SameLines, 0.9999)], 0)
        };
        assert_eq!(
            sentence(&same),
            "the same build in another process: 100 % of the bytes are at sites of the same name \
             and line, <1 % only in one"
        );
        let empty = Identity {
            unmatched: IdentityShares {
                share: 0.0,
                before_share: 0.0,
                after_share: 0.0,
            },
            ..identity(&[], 0)
        };
        assert_eq!(sentence(&empty), "another build: nothing is in use");
    }
}
