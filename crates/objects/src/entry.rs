//! What calls give back.

/// An object that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its key below the place.
    pub key: String,
    /// Its size.
    pub size_bytes: u64,
    /// When it was written last, since 1970.
    pub modified_ns: i64,
}

/// What became of an object that was to be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It was created by this call.
    Created,
    /// It is there, with the same size: by another writer, or by an earlier attempt of this call whose answer was lost.
    Found,
}
