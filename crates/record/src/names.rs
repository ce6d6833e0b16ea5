//! Names of regions as numbers. A name belongs to a scope: two profilers may both have a region `training`.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::lock::Lock;

/// Names that a process may have. A service that puts an id into each name would else fill its memory.
const MAX_NAMES: usize = 1 << 16;

/// What the names past the limit have in common.
const MORE_NAMES: &str = "(more names)";

/// Number of a name; 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NameId(pub(crate) u32);

/// Regions that belong together, such as those of one profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scope(u32);

static NEXT_SCOPE: AtomicU32 = AtomicU32::new(1);

pub(crate) static NAMES: Lock<Option<Names>> = Lock::new(None);

#[derive(Debug, Default)]
pub(crate) struct Names {
    ids: HashMap<(Scope, Arc<str>), NameId>,
    texts: Vec<(Scope, Arc<str>)>,
}

impl Scope {
    /// A scope of its own.
    #[must_use]
    pub fn new() -> Self {
        Self(NEXT_SCOPE.fetch_add(1, Ordering::Relaxed))
    }

    /// The number of a name in this scope. Past a limit, names share one number.
    #[must_use]
    pub fn name(self, text: &str) -> NameId {
        NAMES.lock().get_or_insert_default().id(self, text)
    }
}

impl Default for Scope {
    fn default() -> Self {
        Self::new()
    }
}

impl Names {
    fn id(&mut self, scope: Scope, text: &str) -> NameId {
        let key = (scope, Arc::<str>::from(text));
        if let Some(id) = self.ids.get(&key) {
            return *id;
        }
        if self.texts.len() >= MAX_NAMES && text != MORE_NAMES {
            return self.id(scope, MORE_NAMES);
        }
        self.texts.push(key.clone());
        let id = NameId(self.texts.len() as u32);
        self.ids.insert(key, id);
        id
    }
}

/// The scope and the text behind a number.
pub(crate) fn resolve(id: NameId) -> Option<(Scope, Arc<str>)> {
    let names = NAMES.lock();
    names.as_ref()?.texts.get(id.0.checked_sub(1)? as usize).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_number_in_its_scope() {
        let (one, other) = (Scope::new(), Scope::new());
        let id = one.name("forward");
        assert_eq!(one.name("forward"), id);
        assert_ne!(one.name("backward"), id);
        assert_ne!(other.name("forward"), id);
        assert_eq!(resolve(id).map(|(scope, text)| (scope, text.to_string())), Some((one, "forward".to_owned())));
        assert_eq!(resolve(NameId(0)), None);
    }

    #[test]
    fn names_past_the_limit_share_one() {
        let (mut names, scope) = (Names::default(), Scope::new());
        for number in 0..MAX_NAMES {
            names.id(scope, &number.to_string());
        }
        let more = names.id(scope, "one more");
        assert_eq!(names.id(scope, "and another"), more);
        assert_ne!(names.id(scope, "17"), more);
        assert_eq!(&*names.texts.last().unwrap().1, MORE_NAMES);
    }
}
