//! What a person can do about an error.

use std::borrow::Cow;

/// An error that may know the next step.
pub trait Hint {
    /// One sentence, lowercase, without a final period; `None` when there is nothing to do.
    fn hint(&self) -> Option<Cow<'static, str>>;
}
