//! The envelope of `profile.proto`.
