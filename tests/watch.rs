//! `watch` from the outside: what it says while it goes on, when it ends, what its report says,
//! and what its screen looks like.

mod support;

#[path = "watch/ends.rs"]
mod ends;
#[path = "watch/go_programs.rs"]
mod go_programs;
#[path = "watch/said.rs"]
mod said;
#[path = "watch/screen.rs"]
mod screen;
