//! Seeded random numbers for simulations: the same on every run.

/// splitmix64 (Steele, Lea and Flood 2014): seeded, no dependency.
pub struct Random(u64);

impl Random {
    /// A generator of its own for each seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in (0, 1).
    pub fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// How many of `objects` are sampled, each with probability `p`: jumps from
    /// one sampled object to the next, which costs only what is sampled.
    pub fn thin(&mut self, objects: u64, p: f64) -> u64 {
        if p >= 1.0 {
            return objects;
        }
        let per_miss = (-p).ln_1p();
        let (mut position, mut sampled) = (0.0, 0);
        loop {
            position += (self.uniform().ln() / per_miss).floor() + 1.0;
            if position > objects as f64 {
                return sampled;
            }
            sampled += 1;
        }
    }

    /// How many of `marked` objects are among `drawn` that are taken from `total` with equal
    /// chance (hypergeometric). Costs the smaller of the two.
    pub fn among(&mut self, total: u64, marked: u64, drawn: u64) -> u64 {
        assert!(
            marked <= total && drawn <= total,
            "{marked}, {drawn} of {total}"
        );
        // Each of the fewer falls into one of the places that the others hold.
        let (few, many) = (marked.min(drawn), marked.max(drawn));
        let mut found = 0;
        for done in 0..few {
            let share = (many - found) as f64 / (total - done) as f64;
            found += u64::from(self.uniform() < share);
        }
        found
    }

    /// A Poisson variable of this mean.
    pub fn poisson(&mut self, mean: f64) -> u64 {
        let (mut time, mut events) = (0.0, 0);
        loop {
            time -= self.uniform().ln();
            if time > mean {
                return events;
            }
            events += 1;
        }
    }
}
