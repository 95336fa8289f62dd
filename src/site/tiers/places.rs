//! What has no like stack in the other build, by its site or its package: for the shares that
//! are reported. Nothing is joined here.

use super::Tier;
use super::entry::{AFTER, BEFORE, Entry};
use super::line_up::LineUp;
use super::moved::{Moved, Renames};
use crate::profile::{Frame, FunctionSet};
use crate::site::names::package_of;
use hashbrown::HashSet;

impl LineUp<'_> {
    /// The leaf-most frame that is compared.
    fn site(&self, entry: &Entry) -> Option<Frame> {
        self.signer.frames(entry.bucket.stack).first().copied()
    }

    /// Notes which of the rest is allocated at a site that is there on the other side too,
    /// called from elsewhere. Nothing is joined: the callers are not the same.
    pub(super) fn match_sites(
        &mut self,
        tier: Tier,
        key: impl Fn(Frame, &FunctionSet) -> Option<[u32; 3]>,
    ) {
        let key = |side: usize, entry: &Entry| key(self.site(entry)?, &self.heaps[side].functions);
        let free = [BEFORE, AFTER].map(|side| self.free(side));
        if free.iter().all(Vec::is_empty) {
            return;
        }
        let sites = [BEFORE, AFTER].map(|side| {
            let entries = self.entries[side].iter();
            entries
                .filter_map(|e| key(side, e))
                .collect::<HashSet<[u32; 3]>>()
        });
        let found: Vec<(usize, usize)> = [BEFORE, AFTER]
            .into_iter()
            .flat_map(|side| free[side].iter().map(move |number| (side, *number)))
            .filter(|(side, number)| {
                let key = key(*side, &self.entries[*side][*number]);
                key.is_some_and(|key| sites[1 - side].contains(&key))
            })
            .collect();
        for (side, number) in found {
            self.tiers[side][number] = Some(tier);
        }
    }

    /// The same for functions that are in another package now.
    pub(super) fn match_moved_sites(&mut self, renames: &Renames) {
        for side in [BEFORE, AFTER] {
            for number in self.free(side) {
                let site = self.site(&self.entries[side][number]);
                let name = site.map(|frame| self.signer.name(frame.function));
                let pair = name.and_then(|name| renames.first_on(side, &[name], self.signer));
                if let Some((from, to)) = pair {
                    self.tiers[side][number] = Some(Tier::Moved);
                    self.moved.push(Moved {
                        side,
                        entry: number,
                        from,
                        to,
                    });
                }
            }
        }
    }

    /// Notes which of the rest is of a package that holds something on the other side too.
    pub(super) fn match_packages(&mut self) {
        let package = |entry: &Entry| {
            let site = self.sites.site(entry.bucket.stack)?;
            let name = self.sites.name(self.sites.canon(site.function));
            Some(package_of(name)).filter(|package| !package.is_empty())
        };
        let in_use = [BEFORE, AFTER].map(|side| {
            let entries = self.entries[side].iter().filter(|entry| entry.bytes > 0);
            entries.filter_map(package).collect::<HashSet<&str>>()
        });
        let mut found = Vec::new();
        for side in [BEFORE, AFTER] {
            for number in self.free(side) {
                let package = package(&self.entries[side][number]);
                if package.is_some_and(|package| in_use[1 - side].contains(package)) {
                    found.push((side, number));
                }
            }
        }
        for (side, number) in found {
            self.tiers[side][number] = Some(Tier::SamePackage);
        }
    }
}
