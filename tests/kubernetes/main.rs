//! Pods as sources, against a fake API server that the tests start and stop.
#![cfg(feature = "kube")]

#[path = "../support/cluster/mod.rs"]
mod cluster;
#[cfg(unix)]
mod command_line;
mod finding;
mod pods;
mod reaching;
mod secrets;
#[path = "../support/mod.rs"]
mod support;
