//! pprof protobuf into columns.
use super::{ProfileError, ProfileFile, SymbolTable};
pub(super) fn decode(_b: Vec<u8>, _s: &mut SymbolTable) -> Result<ProfileFile, ProfileError> {
    todo!()
}
