//! Regions of Rust programs.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::names::{NameId, Scope};
use crate::thread::{enter, is_on, leave};

/// A place in the code that marks a region; `span!` makes it.
#[derive(Debug)]
pub struct Site {
    name: &'static str,
    /// 0 before the first time.
    id: AtomicU32,
}

impl Site {
    /// A place with a name.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name, id: AtomicU32::new(0) }
    }

    #[inline]
    fn name(&self) -> NameId {
        match self.id.load(Ordering::Relaxed) {
            0 => self.first_name(),
            id => NameId(id),
        }
    }

    #[cold]
    fn first_name(&self) -> NameId {
        let id = Scope::RUST.name(self.name);
        self.id.store(id.0, Ordering::Relaxed);
        id
    }
}

/// A region that lasts as long as this value. It stays on its thread, and must not be held across an `await`.
#[derive(Debug)]
#[must_use = "the region ends when this value is dropped"]
pub struct Span {
    name: NameId,
    start: u64,
    on_this_thread: PhantomData<*const ()>,
}

impl Span {
    /// Enters the region of a place.
    #[inline]
    pub fn enter(site: &'static Site) -> Self {
        let (name, start) = if is_on() { (site.name(), enter()) } else { (NameId(0), 0) };
        Self { name, start, on_this_thread: PhantomData }
    }
}

impl Drop for Span {
    #[inline]
    fn drop(&mut self) {
        if self.name.0 != 0 {
            leave(self.name, self.start);
        }
    }
}

/// Marks a region that lasts to the end of the scope.
///
/// ```
/// fn load() {
///     let _span = stepscope_record::span!("load");
///     // …
/// }
/// load();
/// ```
#[macro_export]
macro_rules! span {
    ($name:expr) => {{
        static SITE: $crate::Site = $crate::Site::new($name);
        $crate::Span::enter(&SITE)
    }};
}
