//! Sums by group, in memory as long as there are few, and then in files.

use std::sync::Arc;

use hashbrown::HashMap;
use stepscope_model::KernelCategory;
use twox_hash::XxHash3_128;

use super::row::{Field, row};
use super::scratch::Scratch;
use super::sorter::Sorter;
use super::strings::{Strings, Text, TextId};
use crate::error::IngestError;

/// Groups that are added up in memory; past that, sums of parts go to a sorter.
const GROUPS_IN_MEMORY: usize = 1 << 16;

/// What is added up in a group.
pub(crate) trait Sums: Default {
    fn add(&mut self, other: &Self);

    /// Appends itself to `out`.
    fn put(&self, out: &mut Vec<u8>);

    /// Takes itself from the front of `bytes`.
    fn take(bytes: &mut &[u8]) -> Self;
}

row! {
    /// The numbers of a group.
    #[derive(PartialEq, Eq, Hash, Default)]
    Numbers { step: Option<i64>, device: Option<i64>, category: Option<KernelCategory>, }
}

/// A group: its numbers, a name and the shapes of inputs.
#[derive(Clone, Debug)]
pub(crate) enum Group {
    Known(KnownGroup),
    /// Texts that have no number.
    Texts {
        numbers: Numbers,
        name: Option<String>,
        dims: Option<String>,
    },
}

/// A group whose texts have numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KnownGroup {
    numbers: Numbers,
    name: Option<TextId>,
    dims: Option<TextId>,
}

impl Group {
    /// The texts are those of a record, with `behind` behind it.
    pub(crate) fn new(
        numbers: Numbers,
        name: Option<Text>,
        dims: Option<Text>,
        behind: &[u8],
        strings: &Strings,
    ) -> Self {
        let id = |text: Option<Text>| match text {
            None => Some(None),
            Some(Text::Id(id)) => Some(Some(id)),
            Some(Text::Behind { .. }) => None,
        };
        let owned = |text: Option<Text>| text.map(|text| strings.resolve(text, behind).to_owned());
        match id(name).zip(id(dims)) {
            Some((name, dims)) => Self::Known(KnownGroup { numbers, name, dims }),
            None => Self::Texts { numbers, name: owned(name), dims: owned(dims) },
        }
    }
}

row! {
    /// A group by the hash of its texts, as sums of parts are sorted.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    PartKey { step: Option<i64>, hash_high: u64, hash_low: u64, part: u64, }
}

/// Groups being added up.
pub(crate) struct Groups<S> {
    known: HashMap<KnownGroup, S>,
    parts: Sorter<PartKey>,
}

/// A group that is added up.
pub(crate) struct GroupRow<'a, S> {
    pub numbers: Numbers,
    pub name: Option<&'a str>,
    pub dims: Option<&'a str>,
    pub sums: S,
}

impl<S: Sums> Groups<S> {
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self { known: HashMap::new(), parts: Sorter::new(scratch) }
    }

    /// Adds to the sums of a group.
    pub(crate) fn add(
        &mut self,
        group: Group,
        strings: &Strings,
        add_to: impl FnOnce(&mut S),
    ) -> Result<(), IngestError> {
        match group {
            Group::Known(group) => {
                add_to(self.known.entry(group).or_default());
                if self.known.len() >= GROUPS_IN_MEMORY { self.flush(strings) } else { Ok(()) }
            }
            Group::Texts { numbers, name, dims } => {
                let mut sums = S::default();
                add_to(&mut sums);
                self.push_part(numbers, name.as_deref(), dims.as_deref(), &sums)
            }
        }
    }

    /// Gives every group once, by step.
    pub(crate) fn finish(
        mut self,
        strings: &Strings,
        mut give: impl FnMut(GroupRow<'_, S>) -> Result<(), IngestError>,
    ) -> Result<(), IngestError> {
        self.flush(strings)?;
        let parts = self.parts.finish()?;
        let mut reader = parts.reader()?;
        let mut current: Option<(PartKey, S, Vec<u8>)> = None;
        while let Some((key, mut bytes)) = reader.next()? {
            let sums = S::take(&mut bytes);
            match &mut current {
                Some((known, sum, _)) if same_group(known, &key) => sum.add(&sums),
                _ => {
                    if let Some((_, sums, group)) = current.replace((key, sums, bytes.to_vec())) {
                        give(read(sums, &group))?;
                    }
                }
            }
        }
        current.map_or(Ok(()), |(_, sums, group)| give(read(sums, &group)))
    }

    fn flush(&mut self, strings: &Strings) -> Result<(), IngestError> {
        for (group, sums) in std::mem::take(&mut self.known) {
            let (name, dims) = (group.name.map(|id| strings.get(id)), group.dims.map(|id| strings.get(id)));
            self.push_part(group.numbers, name, dims, &sums)?;
        }
        Ok(())
    }

    fn push_part(
        &mut self,
        numbers: Numbers,
        name: Option<&str>,
        dims: Option<&str>,
        sums: &S,
    ) -> Result<(), IngestError> {
        let mut group = Vec::new();
        numbers.put(&mut group);
        for text in [name, dims] {
            text.map_or(u32::MAX, |text| text.len() as u32).put(&mut group);
            group.extend_from_slice(text.unwrap_or_default().as_bytes());
        }
        let hash = XxHash3_128::oneshot(&group);
        let key = PartKey {
            step: numbers.step,
            hash_high: (hash >> 64) as u64,
            hash_low: hash as u64,
            part: self.parts.count(),
        };
        self.parts.push_with(key, |out| {
            sums.put(out);
            out.extend_from_slice(&group);
        })
    }
}

fn same_group(a: &PartKey, b: &PartKey) -> bool {
    (a.step, a.hash_high, a.hash_low) == (b.step, b.hash_high, b.hash_low)
}

fn read<S>(sums: S, mut group: &[u8]) -> GroupRow<'_, S> {
    let numbers = Numbers::take(&mut group);
    let (name, dims) = (take_text(&mut group), take_text(&mut group));
    GroupRow { numbers, name, dims, sums }
}

fn take_text<'t>(bytes: &mut &'t [u8]) -> Option<&'t str> {
    let length = u32::take(bytes);
    if length == u32::MAX {
        return None;
    }
    let (text, rest) = bytes.split_at((length as usize).min(bytes.len()));
    *bytes = rest;
    std::str::from_utf8(text).ok()
}
