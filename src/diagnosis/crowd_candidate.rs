//! Goroutines that piled up, gathered into candidates: groups that grew alike are one resource.

use crate::growth::{Crowds, Shape, read_growth};

/// Goroutine groups that grew by as many, within this share, are one resource.
const EQUAL_WITHIN: f64 = 0.1;

/// Crowds that grew together.
#[derive(Debug, Clone)]
pub(super) struct CrowdCandidate {
    /// Indices into [`Crowds::crowds`], the largest growth first.
    pub crowds: Vec<usize>,
    /// How they grew.
    pub shape: Shape,
}

/// Candidates among the goroutines: crowds that grew, equal growth together.
pub(super) fn crowd_candidates(crowds: &Crowds) -> Vec<CrowdCandidate> {
    let mut growing: Vec<(usize, Shape)> = crowds
        .crowds
        .iter()
        .enumerate()
        .filter_map(|(index, crowd)| {
            let reading = read_growth(&crowd.counts, crowds.seconds.as_deref())?;
            matches!(reading.shape, Shape::Sustained | Shape::Open)
                .then_some((index, reading.shape))
        })
        .collect();
    let growth = |index: usize| crowds.crowds[index].growth();
    growing.sort_by_key(|&(index, _)| std::cmp::Reverse(growth(index)));
    let mut found: Vec<CrowdCandidate> = Vec::new();
    for (index, shape) in growing {
        let is_equal = |candidate: &&mut CrowdCandidate| {
            let first = growth(candidate.crowds[0]);
            candidate.shape == shape
                && (first - growth(index)) as f64 <= EQUAL_WITHIN * first as f64
        };
        match found.iter_mut().find(is_equal) {
            Some(candidate) => candidate.crowds.push(index),
            None => found.push(CrowdCandidate {
                crowds: vec![index],
                shape,
            }),
        }
    }
    found
}
