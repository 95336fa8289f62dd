//! `capture`, and everything else that fetches, against servers that behave well or badly: each
//! failure is one clear message with a hint and the right exit code, or a gap that is said.
//! Never a half file, never a lost snapshot, never a secret in any output.

mod support;

#[path = "capture/disk.rs"]
mod disk;
#[path = "capture/failures.rs"]
mod failures;
#[path = "capture/proxy.rs"]
mod proxy;
#[path = "capture/redirects.rs"]
mod redirects;
#[path = "capture/secrets.rs"]
mod secrets;
#[path = "capture/series.rs"]
mod series;
#[path = "capture/stopped.rs"]
mod stopped;
#[path = "capture/targets.rs"]
mod targets;
#[path = "capture/tls.rs"]
mod tls;
