//! The sites and the goroutines of a finding, as rows.

use super::case::{Case, FrameName};
use super::{FindingGoroutines, FindingSite};
use crate::profile::Frame;
use hashbrown::{HashMap, HashSet};

/// Growth of a goroutine group from which groups that do not grow are left out beside it.
const GROUP_GROWTH: i64 = 10;

/// The sites of a finding with their steady bytes, largest change first.
pub(super) fn list_sites(case: &Case, buckets: &[u32]) -> Vec<FindingSite> {
    let history = case.history;
    let key_of = |number: u32| {
        let stack = history.buckets()[number as usize].stack;
        let orderer = case
            .sites
            .orderer(stack)
            .map(|f| case.sites.canon(f.function));
        (case.sites.site(stack), orderer)
    };
    let wanted: HashSet<_> = buckets.iter().map(|&number| key_of(number)).collect();
    let active: HashSet<u32> = history.active().iter().copied().collect();
    let own: HashSet<u32> = buckets.iter().copied().collect();
    let mut by_site: HashMap<Frame, Vec<u32>> = HashMap::new();
    for number in 0..history.buckets().len() as u32 {
        // Buckets without any event belong to their site as its steady part.
        let belongs = own.contains(&number)
            || (!case.is_single() && !active.contains(&number) && wanted.contains(&key_of(number)));
        if let (true, (Some(site), _)) = (belongs, key_of(number)) {
            by_site.entry(site).or_default().push(number);
        }
    }
    let mut sites: Vec<(Frame, FindingSite)> = by_site
        .into_iter()
        .map(|(frame, numbers)| (frame, write_site(case, frame, &numbers)))
        .filter(|(_, site)| site.series.iter().any(|bytes| *bytes != 0.0))
        .collect();
    let weight = |site: &FindingSite| site.delta.unwrap_or(site.after).abs();
    sites.sort_by(|a, b| weight(&b.1).total_cmp(&weight(&a.1)).then(a.0.cmp(&b.0)));
    sites.into_iter().map(|(_, site)| site).collect()
}

/// A site with these buckets.
pub(super) fn write_site(case: &Case, frame: Frame, numbers: &[u32]) -> FindingSite {
    let history = case.history;
    let series = history.series(numbers);
    let after = series.last().copied().unwrap_or(0.0);
    let before = (!case.is_single()).then(|| series.first().copied().unwrap_or(0.0));
    let size_of = |number: &u32| history.buckets()[*number as usize].size;
    let first_size = numbers.first().map_or(0, size_of);
    let is_uniform = first_size > 0 && numbers.iter().all(|number| size_of(number) == first_size);
    let sd = match case.is_single() {
        true => history.sampler().map(|sampler| {
            let variance = numbers.iter().map(|number| {
                let bytes = history.inuse(0, *number);
                crate::growth::standard_error(sampler, size_of(number), bytes).powi(2)
            });
            variance.sum::<f64>().sqrt()
        }),
        false => history
            .evidence(numbers, 0, case.last())
            .map(|e| e.sd_bytes()),
    };
    let FrameName {
        function,
        file,
        line,
    } = case.name(frame);
    FindingSite {
        function,
        file,
        line,
        before,
        after,
        delta: before.map(|before| after - before),
        sd,
        object_size: is_uniform.then_some(first_size),
        series,
    }
}

pub(super) fn list_goroutines(case: &Case, crowds: &[usize]) -> Vec<FindingGoroutines> {
    let symbols = case.sites.symbols();
    let function = |frame: Frame| symbols.function_name(frame.function).to_owned();
    let mut listed: Vec<FindingGoroutines> = crowds
        .iter()
        .map(|&index| {
            let crowd = &case.crowds.crowds[index];
            FindingGoroutines {
                function: case
                    .sites
                    .standing(crowd.stack)
                    .map_or_else(String::new, function),
                created_by: crowd.created_by.map(|id| function(symbols.frame(id))),
                state: crowd.state().map(|state| symbols.str(state).to_owned()),
                before: crowd.counts.first().copied().unwrap_or(0),
                after: crowd.counts.last().copied().unwrap_or(0),
                leaked: crowd.leaked(),
                wait_minutes: crowd.wait_minutes(),
                series: crowd.counts.clone(),
            }
        })
        .collect();
    // Beside groups that grow, those that do not are of no interest.
    let growth = |group: &FindingGoroutines| crate::growth::growth_of(&group.series);
    let most = listed.iter().map(growth).max().unwrap_or(0);
    listed.retain(|group| group.after > 0 && (most < GROUP_GROWTH || growth(group) * 10 >= most));
    listed.sort_by_key(|group| std::cmp::Reverse((group.after, group.series.clone())));
    listed
}
