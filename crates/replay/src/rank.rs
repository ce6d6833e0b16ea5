//! What one rank adds to a graph, made from its recording.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::calls::Calls;
use crate::cross::add_cross_edges;
use crate::device::Device;
use crate::draft::{Draft, Node};
use crate::handoff::add_handoffs;
use crate::host::Host;
use crate::lags::{TypicalLags, device_lags};
use crate::notes::Notes;
use crate::queue::add_queue_edges;
use crate::recording::Recording;
use crate::steps::{StepNodes, step_nodes};
use crate::streams::Streams;
use crate::waits::add_waits;

/// A share of device events beyond which launches that are missing, or against time, spoil savings.
const FEWEST_LAUNCHES_PERCENT: u64 = 95;

/// One rank in a graph.
#[derive(Clone, Debug)]
pub(crate) struct Rank {
    pub recording: Recording,
    pub host: Host,
    /// Its nodes, which follow each other.
    pub nodes: Range<Node>,
    pub steps: Vec<StepNodes>,
    /// Device events of the window.
    pub inside: Vec<u32>,
    /// For each event the one before it on its stream.
    pub before: Vec<Option<u32>>,
}

/// What was learned about a rank while its nodes were made.
#[derive(Clone, Debug, Default)]
pub struct RankFacts {
    /// Typical lags.
    pub typical: TypicalLags,
    /// What was found and what was contradicted.
    pub notes: Notes,
    /// Launches that the queue of a stream holds, where it filled up; by device and stream.
    pub queue_limits: BTreeMap<String, u64>,
    /// Points in time, with those of work launched before the window.
    pub node_count: u64,
}

impl Rank {
    /// Adds the nodes and edges of a recording's window to a draft.
    pub(crate) fn add(recording: Recording, draft: &mut Draft) -> (Self, RankFacts, Device) {
        let first = draft.times.len() as Node;
        let mut found = Notes::default();
        let host = Host::build(&recording, draft);
        found.add("handoffs", add_handoffs(&recording, &host, draft));
        let streams = Streams::new(&recording);
        let mut typical = device_lags(&recording, &streams);
        let calls = Calls::new(&recording);
        let mut device = Device::build(&recording, draft);
        device.add_edges((&recording, &streams, &host), &typical, draft, &mut found);
        let gap_ns = typical.gap_ns;
        add_cross_edges(&recording, &streams, &calls, (&mut device, draft), (gap_ns, &mut found));
        add_waits(&recording, (&streams, &calls, &host), (&mut device, draft), &mut typical, &mut found);
        let queues = add_queue_edges(&recording, (&streams, &host), &mut device, draft);
        found.add("queue_edges", queues.edges);
        device.note_unconnected(draft, &mut found);
        let steps = step_nodes(&recording, &host, &device, draft);
        let nodes = first..draft.times.len() as Node;
        let node_count = nodes.len() as u64 + device.nodes_left_out(draft, &nodes);
        let inside = std::mem::take(&mut device.inside);
        let facts = RankFacts { typical, notes: found, queue_limits: queues.limits, node_count };
        (Self { recording, host, nodes, steps, inside, before: streams.before }, facts, device)
    }

    /// Whether the launch calls of nearly all device events are known.
    pub(crate) fn has_launch_calls(&self) -> bool {
        let launched = self.inside.iter().filter(|&&place| self.recording.events[place as usize].launch.is_some());
        launched.count() as u64 * 100 >= FEWEST_LAUNCHES_PERCENT * self.inside.len() as u64
    }

    /// Whether nearly all device events start after their launch.
    pub(crate) fn do_clocks_agree(&self, notes: &Notes) -> bool {
        notes.count("launch_against_time") * 100 <= self.inside.len() as u64
    }
}
