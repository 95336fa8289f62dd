//! A made-up Go process behind [`super::pprof_server`]: what it holds at each snapshot.
//!
//! Its clock goes a minute further with each heap profile, whatever the time of the test: a
//! series of a second then spans a window in which growth can be judged.

use super::pprof_server::{Reply, Request};
use super::profiles::{Pprof, goroutine_dump, heap_text};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

/// Seconds of its clock between two heap profiles.
const STEP: i64 = 60;

/// A process whose heap profiles differ from request to request.
pub struct Process {
    grows: bool,
    /// Heap profiles so far, of this life.
    heaps: AtomicI64,
    /// The clock of its first life goes on in the next.
    clock: AtomicI64,
    goroutines: AtomicUsize,
}

impl Process {
    /// Keeps forty more sampled objects at each snapshot.
    pub fn leaking() -> Self {
        Self::new(true)
    }

    /// Holds what it held, give or take.
    pub fn steady() -> Self {
        Self::new(false)
    }

    fn new(grows: bool) -> Self {
        Self {
            grows,
            heaps: AtomicI64::new(0),
            clock: AtomicI64::new(0),
            goroutines: AtomicUsize::new(3),
        }
    }

    /// So many goroutines from now on.
    pub fn set_goroutines(&self, count: usize) {
        self.goroutines.store(count, Ordering::SeqCst);
    }

    /// Begins anew: all counters go back.
    pub fn restart(&self) {
        self.heaps.store(0, Ordering::SeqCst);
    }

    /// What net/http/pprof would answer.
    pub fn reply(&self, request: &Request) -> Reply {
        let asked = request.profile();
        let goroutines = self.goroutines.load(Ordering::SeqCst);
        let is = |profile: &str| {
            // Parameters of the user may follow.
            asked == profile || asked.starts_with(&format!("{profile}&"))
        };
        if is("heap?gc=1") {
            let moment = self.heaps.fetch_add(1, Ordering::SeqCst);
            let seconds = self.clock.fetch_add(STEP, Ordering::SeqCst);
            return Reply::ok(self.heap(moment, seconds).gzip());
        }
        if is("heap?debug=1") {
            let moment = self.heaps.load(Ordering::SeqCst);
            let seconds = self.clock.load(Ordering::SeqCst) - STEP;
            // Allocation goes on whether or not anything is kept.
            let text = heap_text(seconds.max(0), 10_000 + 20 * moment);
            // Each heap profile forces a cycle.
            let forced = format!("# NumForcedGC = {moment}\n");
            return Reply::ok(text.replace("# NumForcedGC = 1\n", &forced));
        }
        if is("goroutine?debug=1") {
            return Reply::ok(format!(
                "goroutine profile: total {goroutines}\n{goroutines} @ 0x401010 0x402020\n\
                 #\t0x40100f\tmain.serve+0x1f\t/app/main.go:31\n\n"
            ));
        }
        if is("goroutine?debug=2") {
            return Reply::ok(goroutine_dump("main.serve", goroutines.saturating_sub(1)));
        }
        Reply::status(404, "Unknown profile\n")
    }

    fn heap(&self, moment: i64, seconds: i64) -> Pprof {
        let kept = if self.grows { 40 + 40 * moment } else { 40 };
        // As many are freed as come, give or take.
        let churn = 50 + [3, -4, 0, 2, -1, 4, -3, 1, -2, 0][(moment % 10) as usize];
        Pprof::heap(seconds)
            .sampled("main.keep < main.handle < main.main", 4096, kept, kept)
            .sampled("main.table < main.main", 65_536, 20, 20)
            .sampled(
                "main.scratch < main.handle < main.main",
                1024,
                500 + 300 * moment,
                churn,
            )
    }
}
