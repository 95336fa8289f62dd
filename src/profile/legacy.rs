//! Text heap profiles.
use super::{ProfileError, ProfileFile, SymbolTable};
pub(super) fn decode(_b: &[u8], _s: &mut SymbolTable) -> Result<ProfileFile, ProfileError> {
    todo!()
}
