//! A cluster for tests: a fake API server, its pods, what runs in them, and kubeconfigs.
//!
//! Not part of `support` itself: only tests that need a cluster should have to build it. Include
//! it beside `mod support;` with `#[path = "../support/cluster/mod.rs"] mod cluster;`.
#![allow(dead_code, unused_imports, reason = "each test file uses a part of it")]

pub mod apiserver;
mod bridges;
pub mod connect_proxy;
pub mod kubeconfig;
pub mod pod_objects;
pub mod pod_server;
mod setup;
mod told;

pub use apiserver::{ApiServer, Trick};
pub use kubeconfig::{Certificates, User, write_kubeconfig};
pub use pod_objects::FakePod;
pub use pod_server::{Page, PodServer, pprof_page};
pub use setup::{Setup, target};
pub use told::{BOTH, FORBIDDEN, base64_of, status_of, tells, told};
