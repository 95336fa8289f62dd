//! What heapdrift says of input that is damaged, of another kind, hostile, or not comparable:
//! one clear error or warning with a hint, the right exit code, and nothing good is lost.
//!
//! Whatever the input, a run ends by itself with one of heapdrift's exit codes and writes
//! nothing that a terminal would obey: [`harness::run`] checks that of every run here.

mod support;

#[path = "bad_input/harness.rs"]
mod harness;
#[path = "bad_input/zoo.rs"]
mod zoo;

#[path = "bad_input/hostile.rs"]
mod hostile;
#[path = "bad_input/incomplete.rs"]
mod incomplete;
#[path = "bad_input/odd.rs"]
mod odd;
#[path = "bad_input/properties.rs"]
mod properties;
#[path = "bad_input/together.rs"]
mod together;
#[path = "bad_input/unusable.rs"]
mod unusable;
