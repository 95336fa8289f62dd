//! heapdrift.
pub mod profile;
