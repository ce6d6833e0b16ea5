//! Collectives that the host does itself, as gloo, mpi and ucc do: a span each, on a thread of the library.
//!
//! Such a span names neither its process group nor the call that asked for it. The header lists the groups of the rank;
//! the calls come in the same order as their spans, so the n-th of a kind is taken for the n-th.

use std::sync::Arc;

use stepscope_model::Phase;

use super::{ByLaunch, Collective, Kernel, Metadata, kind, name, speaking, volume_of_call, write_json};
use crate::collect::header::ProcessGroup;
use crate::collect::names::NameFacts;
use crate::derive::stream::Span;
use crate::error::IngestError;
use crate::spill::row::row;
use crate::spill::scratch::Scratch;
use crate::spill::sorter::Sorter;
use crate::spill::strings::Strings;

row! {
    /// A span of the library, or a call, in the order of its kind.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    OfKind { kind: u8, time: i64, position: u64, step: Option<i64>, }
}

/// What the host communicates itself, while it is put together.
pub(super) struct HostCollectives {
    groups: Vec<ProcessGroup>,
    works: Sorter<OfKind>,
    calls: Sorter<OfKind>,
    /// How many works there are more than calls, by kind.
    surplus: [i64; kind::KINDS],
}

impl HostCollectives {
    /// `groups` are those that the rank belongs to, as the header lists them.
    pub(super) fn new(groups: &[ProcessGroup], scratch: &Arc<Scratch>) -> Self {
        Self {
            groups: groups.to_vec(),
            works: Sorter::new(scratch),
            calls: Sorter::new(scratch),
            surplus: [0; kind::KINDS],
        }
    }

    /// Takes the next host span that is a collective or a call for one.
    pub(super) fn push(&mut self, span: &Span<'_>, step: Option<u32>, strings: &Strings) -> Result<(), IngestError> {
        let head = &span.record.head;
        if head.phase != Phase::Complete {
            return Ok(());
        }
        let kind = kind::place(&name(span, strings));
        let step = step.map(i64::from);
        let key = OfKind { kind: kind as u8, time: span.key.start, position: span.key.position, step };
        if head.facts.has(NameFacts::HOST_COLLECTIVE) {
            self.surplus[kind] += 1;
            let collective = self.describe(span, strings);
            self.works.push_with(key, |out| write_json(&collective, out))
        } else {
            self.surplus[kind] -= 1;
            self.calls.push(key)
        }
    }

    /// Hands out every collective with its call, or with its own start where the calls do not fit.
    pub(super) fn finish(self, in_order: &mut Sorter<ByLaunch>, scratch: &Scratch) -> Result<(), IngestError> {
        let (works, calls) = (self.works.finish()?, self.calls.finish()?);
        let (mut works, mut calls) = (works.reader()?, calls.reader()?);
        while let Some((work, bytes)) = works.next()? {
            let mut call = work;
            if self.surplus[usize::from(work.kind) % kind::KINDS] == 0 {
                while let Some(next) = calls.next_key()? {
                    if next.kind == work.kind {
                        call = if next.time <= work.time { next } else { work };
                        break;
                    }
                }
            }
            let mut collective: Collective = scratch.read_row(bytes)?;
            collective.kernel.launch_ns = Some(call.time);
            collective.kernel.step = call.step.map(|step| step as u32);
            in_order.push_with(ByLaunch { time: call.time, position: work.position }, |out| {
                write_json(&collective, out);
            })?;
        }
        Ok(())
    }

    fn describe(&self, span: &Span<'_>, strings: &Strings) -> Collective {
        let speaking = speaking(span, strings);
        let collective = kind::collective(&speaking.name);
        let backend = speaking.name.split_once(':').map_or("", |(backend, _)| backend);
        let group = group_of(&self.groups, backend);
        let is_between_two = matches!(collective, Some("send" | "recv" | "send_recv"));
        let (process_group, ranks) = group.clone().unwrap_or_default();
        let metadata = Metadata {
            collective_name: speaking.name.clone(),
            process_group,
            process_group_ranks: ranks.as_ref().map(|ranks| format!("{ranks:?}")),
            group_size: ranks.map(|ranks| ranks.len() as i64),
            dtype: speaking.input_types.as_deref().and_then(kind::first_dtype),
            in_elements: None,
            out_elements: None,
        };
        Collective {
            name: collective.unwrap_or("unknown").to_owned(),
            named_by: "span_name".to_owned(),
            volume: volume_of_call(Some(&speaking), collective),
            volume_from: "input shapes".to_owned(),
            metadata: Some(metadata),
            is_host: true,
            can_be_matched: group.is_some() && !is_between_two,
            kernel: Kernel {
                name: speaking.name,
                metadata: None,
                seq: None,
                step: None,
                start_ns: span.key.start,
                dur_ns: span.key.dur(),
                launch_ns: None,
                span_id: span.id.index(),
                position: span.key.position,
                device_id: None,
                stream_id: None,
            },
        }
    }
}

/// The name of a group and its ranks, as far as they are known.
type Group = (Option<String>, Option<Vec<i64>>);

/// The group of every collective of a backend; none when groups of different ranks use it.
fn group_of(groups: &[ProcessGroup], backend: &str) -> Option<Group> {
    let of_backend: Vec<&ProcessGroup> = groups.iter().filter(|group| group.backends.contains(backend)).collect();
    match of_backend[..] {
        [] => Some(Group::default()),
        [group] => Some((group.name.clone(), group.ranks.clone())),
        [first, ..] => {
            let are_same = first.ranks.is_some() && of_backend.iter().all(|group| group.ranks == first.ranks);
            are_same.then(|| (None, first.ranks.clone()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, backends: &str, ranks: Option<&[i64]>) -> ProcessGroup {
        ProcessGroup { name: Some(name.to_owned()), backends: backends.to_owned(), ranks: ranks.map(<[i64]>::to_vec) }
    }

    #[test]
    fn a_row_that_cannot_be_read_back_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(folder.path(), 0);
        let mut collectives = HostCollectives::new(&[], &scratch);
        let key = OfKind { kind: 0, time: 0, position: 0, step: None };
        collectives.works.push_with(key, |out| out.extend_from_slice(b"{\"name\": \"glo")).unwrap();
        let spoiled = collectives.finish(&mut Sorter::new(&scratch), &scratch);
        assert!(matches!(spoiled, Err(IngestError::UnreadableRow { .. })), "{spoiled:?}");
    }

    #[test]
    fn the_group_is_known_where_all_have_the_same_ranks() {
        let world = group("0", "cpu:gloo,cuda:nccl", Some(&[0, 1, 2, 3]));
        let pair = group("1", "cpu:gloo", Some(&[0, 1]));
        let again = group("2", "gloo", Some(&[0, 1, 2, 3]));
        let devices = group("3", "cuda:nccl", Some(&[0, 1]));
        let ranks = Some(vec![0, 1, 2, 3]);
        // Headers of older recordings list no groups.
        assert_eq!(group_of(&[], "gloo"), Some((None, None)));
        assert_eq!(group_of(&[world.clone(), devices], "gloo"), Some((Some("0".to_owned()), ranks.clone())));
        assert_eq!(group_of(&[world.clone(), again], "gloo"), Some((None, ranks)));
        assert_eq!(group_of(&[world.clone(), pair], "gloo"), None);
        assert_eq!(group_of(&[group("0", "gloo", None), group("1", "gloo", None)], "gloo"), None);
        assert_eq!(group_of(&[world], "mpi"), Some((None, None)));
    }
}
