//! From a device event to the call that launched it, and on to the operator (metrics, section 4).
//!
//! Calls and events are sorted by correlation and joined; events whose call, or who themselves, name an operator by
//! External id are sorted by it and joined with the operators. Both sides come from files if they are large.

use std::sync::Arc;

use stepscope_model::args::SpanArgColumn;
use stepscope_model::{KernelCategory, Kind};

use super::evidence::{CommRule, Link};
use super::graph::{GraphEvent, GraphPlace, number_launches};
use super::launches::{Launch, LaunchCall, LaunchedEvent, Launches};
use super::nest::Nested;
use super::stream::Span;
use crate::collect::categories::category_of;
use crate::collect::names::NameFacts;
use crate::collect::record::{SpanId, TrackId};
use crate::error::IngestError;
use crate::spill::row::row;
use crate::spill::scratch::Scratch;
use crate::spill::sorter::{Reader, Sorted, Sorter};
use crate::threads::both;

row! {
    /// A runtime call that may have launched something.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    Call {
        correlation: i64,
        start: i64,
        position: u64,
        id: SpanId,
        track: TrackId,
        /// 0 for none.
        external_id: i64,
        /// First span above it that is no call, and the operator that this is or belongs to.
        above: Option<SpanId>,
        above_operator: Option<SpanId>,
        module: Option<SpanId>,
        above_communicates: bool,
        /// What the operator above it says of the kernels that it launches.
        operator_category: Option<KernelCategory>,
        can_launch: bool,
        launches_graph: bool,
    }
}

row! {
    /// An event on a device.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    DeviceEvent {
        /// 0 for none.
        correlation: i64,
        id: SpanId,
        start: i64,
        end: i64,
        position: u64,
        /// 0 for none.
        external_id: i64,
        device: Option<i64>,
        stream: Option<i64>,
        graph_node: Option<i64>,
        signs: Signs,
    }
}

row! {
    /// What a device event says itself about what it is: communication, and otherwise what.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    Signs {
        is_kernel: bool,
        names_collective: bool,
        is_hlo_collective: bool,
        has_name: bool,
        /// It names its operator in the framework itself.
        has_framework_op: bool,
        is_added_by_name: bool,
        category: Option<KernelCategory>,
    }
}

row! {
    /// An operator or an annotation, by its External id.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    Owner {
        external_id: i64,
        id: SpanId,
        track: TrackId,
        operator: Option<SpanId>,
        communicates: bool,
        operator_category: Option<KernelCategory>,
    }
}

row! {
    /// What is known of a device event in the end.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    LinkRow {
        id: SpanId,
        start: i64,
        end: i64,
        launch: Option<SpanId>,
        launch_start: i64,
        owner: Option<SpanId>,
        operator: Option<SpanId>,
        module: Option<SpanId>,
        link: Link,
        comm_rule: Option<CommRule>,
        category: KernelCategory,
        is_in_graph: bool,
        /// It names its operator in the framework itself.
        has_framework_op: bool,
        /// Its time belongs to the operator that it names, and to none if it names none.
        is_added_by_name: bool,
        /// It has a correlation, so that its launch call would be known if it had been recorded.
        has_correlation: bool,
    }
}

row! {
    /// The time of a device event, by the operator it belongs to.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    OperatorTime { operator: SpanId, id: SpanId, dur: i64, }
}

row! {
    /// A device event that names its operator by an id.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    Lookup { external_id: i64, row: LinkRow, launch_track: TrackId, signs: Signs, }
}

/// What linking found out about the source as a whole.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkCounts {
    /// Device events whose owner by id and owner by nesting belong to different operators.
    pub disagreements: u64,
    /// Correlations that more than one runtime call carries.
    pub shared_correlations: u64,
    /// Launches whose earliest device event starts before the call: the two clocks disagree.
    pub device_before_launch: u64,
}

/// The device events of a source and what they belong to, in the order of the table.
pub(crate) struct Links {
    pub rows: Sorted<LinkRow>,
    pub operator_times: Sorted<OperatorTime>,
    pub launches: Sorted<Launch>,
    pub graph_places: Sorted<GraphPlace>,
    pub counts: LinkCounts,
}

/// Everything that takes part in linking, as it comes.
#[derive(Debug)]
pub(crate) struct LinkInputs {
    calls: Sorter<Call>,
    events: Sorter<DeviceEvent>,
    owners: Sorter<Owner>,
    scratch: Arc<Scratch>,
}

impl LinkInputs {
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self {
            calls: Sorter::new(scratch),
            events: Sorter::new(scratch),
            owners: Sorter::new(scratch),
            scratch: Arc::clone(scratch),
        }
    }

    /// Takes the next span. In some formats device work names its operator, and launch calls are no part of one.
    pub(crate) fn add(
        &mut self,
        span: &Span<'_>,
        nested: &Nested,
        work_names_operators: bool,
    ) -> Result<(), IngestError> {
        let Span { id, key, record } = span;
        let head = &record.head;
        let external_id = head.external_id.unwrap_or(0);
        match head.kind {
            Kind::Runtime => {
                let Some(correlation) = head.correlation else { return Ok(()) };
                self.calls.push(Call {
                    correlation,
                    start: key.start,
                    position: key.position,
                    id: *id,
                    track: key.track,
                    external_id,
                    above: nested.above.map(|above| above.id),
                    above_operator: nested.above.and_then(|above| above.operator),
                    module: nested.module,
                    above_communicates: nested
                        .above
                        .is_some_and(|above| above.facts.has(NameFacts::COMMUNICATION_OWNER)),
                    operator_category: nested.above.and_then(|above| above.operator_facts.operator_category()),
                    can_launch: head.facts.has(NameFacts::LAUNCH),
                    launches_graph: head.facts.has(NameFacts::GRAPH_LAUNCH),
                })
            }
            Kind::Op | Kind::Annotation if external_id != 0 => {
                let (operator, operator_facts) = if head.kind == Kind::Op {
                    (Some(*id), head.facts)
                } else {
                    (nested.parent_op, nested.parent_op_facts)
                };
                let communicates = head.facts.has(NameFacts::COMMUNICATION_OWNER);
                let operator_category = operator_facts.operator_category();
                let track = key.track;
                self.owners.push(Owner { external_id, id: *id, track, operator, communicates, operator_category })
            }
            kind if kind.is_device() => self.events.push(DeviceEvent {
                correlation: head.correlation.unwrap_or(0),
                id: *id,
                start: key.start,
                end: key.end(),
                position: key.position,
                external_id,
                device: record.integer(SpanArgColumn::device_id),
                stream: record.integer(SpanArgColumn::stream_id),
                graph_node: record.integer(SpanArgColumn::graph_node_id),
                signs: Signs {
                    is_kernel: kind == Kind::Kernel,
                    names_collective: head.names_collective,
                    is_hlo_collective: head.facts.has(NameFacts::HLO_COLLECTIVE),
                    has_name: head.facts.has(NameFacts::COMMUNICATION_KERNEL),
                    has_framework_op: record.text(SpanArgColumn::framework_op).is_some(),
                    is_added_by_name: work_names_operators,
                    category: head.facts.kernel_category(),
                },
            }),
            _ => Ok(()),
        }
    }

    /// Links every device event.
    pub(crate) fn link(self) -> Result<Links, IngestError> {
        let mut linker = Linker {
            rows: Sorter::new(&self.scratch),
            operator_times: Sorter::new(&self.scratch),
            lookups: Sorter::new(&self.scratch),
            graph_events: Sorter::new(&self.scratch),
            launches: Launches::new(&self.scratch),
            counts: LinkCounts::default(),
        };
        let (calls, events) = both(|| self.calls.finish(), || self.events.finish());
        let (calls, events) = (calls?, events?);
        linker.join_calls(&calls, &events)?;
        drop((calls, events));
        linker.join_owners(self.owners, &self.scratch)?;
        let graph_places = number_launches(linker.graph_events, &self.scratch)?;
        let (rows, operator_times) = both(|| linker.rows.finish(), || linker.operator_times.finish());
        let counts = LinkCounts { device_before_launch: linker.launches.device_before_launch, ..linker.counts };
        let launches = linker.launches.finish()?;
        Ok(Links { rows: rows?, operator_times: operator_times?, launches, graph_places, counts })
    }
}

struct Linker {
    rows: Sorter<LinkRow>,
    operator_times: Sorter<OperatorTime>,
    lookups: Sorter<Lookup>,
    graph_events: Sorter<GraphEvent>,
    launches: Launches,
    counts: LinkCounts,
}

impl Linker {
    fn join_calls(&mut self, calls: &Sorted<Call>, events: &Sorted<DeviceEvent>) -> Result<(), IngestError> {
        let mut groups = CallGroups::new(calls)?;
        let mut events = events.reader()?;
        while let Some(event) = events.next_key()? {
            if event.correlation != 0 && groups.correlation() != Some(event.correlation) {
                self.launches.end_correlation()?;
                self.counts.shared_correlations += groups.advance_to(event.correlation)?;
            }
            let launch = groups.launch_of(&event);
            if let Some(launch) = launch {
                let call = LaunchCall { id: launch.id, start: launch.start, is_graph: launch.launches_graph };
                self.launches.push(
                    call,
                    LaunchedEvent {
                        start: event.start,
                        position: event.position,
                        dur: event.end - event.start,
                        device: event.device,
                        stream: event.stream,
                    },
                );
            }
            self.take(&event, launch)?;
        }
        self.launches.end_correlation()?;
        self.counts.shared_correlations += groups.advance_to(i64::MAX)?;
        Ok(())
    }

    fn take(&mut self, event: &DeviceEvent, launch: Option<&Call>) -> Result<(), IngestError> {
        let owner = launch.and_then(|launch| launch.above);
        let comm_rule = event.signs.rule(launch.is_some_and(|launch| launch.above_communicates));
        let row = LinkRow {
            id: event.id,
            start: event.start,
            end: event.end,
            launch: launch.map(|launch| launch.id),
            launch_start: launch.map_or(0, |launch| launch.start),
            owner,
            operator: launch.and_then(|launch| launch.above_operator),
            module: launch.and_then(|launch| launch.module),
            link: match (owner, launch) {
                (Some(_), _) => Link::Nesting,
                (None, Some(_)) => Link::LaunchOutsideAnySpan,
                (None, None) => Link::NoLaunchCall,
            },
            comm_rule,
            category: event.signs.category(comm_rule, launch.and_then(|launch| launch.operator_category)),
            is_in_graph: launch.is_some_and(|launch| launch.launches_graph),
            has_framework_op: event.signs.has_framework_op,
            is_added_by_name: event.signs.is_added_by_name,
            has_correlation: event.correlation != 0,
        };
        if let Some(launch) = launch.filter(|launch| launch.launches_graph) {
            self.graph_events.push(GraphEvent {
                launch_start: launch.start,
                launch_position: launch.position,
                start: event.start,
                position: event.position,
                id: event.id,
                launch: launch.id,
                node: event.graph_node,
            })?;
        }
        // Recordings of 2022 to 2024 write the correlation into External id, so an id that equals it says nothing.
        let of_launch = launch.map_or(0, |launch| launch.external_id);
        let external_id = if of_launch == 0 { event.external_id } else { of_launch };
        if external_id == 0 || external_id == event.correlation {
            return self.push(row);
        }
        let launch_track = launch.map_or(0, |launch| launch.track);
        self.lookups.push(Lookup { external_id, row, launch_track, signs: event.signs })
    }

    fn join_owners(&mut self, owners: Sorter<Owner>, scratch: &Arc<Scratch>) -> Result<(), IngestError> {
        if self.lookups.count() == 0 {
            return Ok(());
        }
        let lookups = std::mem::replace(&mut self.lookups, Sorter::new(scratch));
        let (lookups, owners) = both(|| lookups.finish(), || owners.finish());
        let (lookups, owners) = (lookups?, owners?);
        let (mut lookups, mut owners) = (lookups.reader()?, owners.reader()?);
        let mut next = owners.next_key()?;
        let mut current: Option<(i64, Option<Owner>)> = None;
        while let Some(lookup) = lookups.next_key()? {
            // An id that several carry says nothing.
            while let Some(owner) = next.filter(|owner| owner.external_id <= lookup.external_id) {
                let is_known = current.is_some_and(|(id, _)| id == owner.external_id);
                current = Some((owner.external_id, (!is_known).then_some(owner)));
                next = owners.next_key()?;
            }
            let owner = current.filter(|(id, _)| *id == lookup.external_id).and_then(|(_, owner)| owner);
            let owner = owner.filter(|owner| lookup.row.launch.is_none() || owner.track == lookup.launch_track);
            let row = owner.map_or(lookup.row, |owner| self.owned(&lookup, &owner));
            self.push(row)?;
        }
        Ok(())
    }

    fn push(&mut self, row: LinkRow) -> Result<(), IngestError> {
        if let Some(operator) = row.operator.filter(|_| !row.is_added_by_name) {
            self.operator_times.push(OperatorTime { operator, id: row.id, dur: row.end - row.start })?;
        }
        self.rows.push(row)
    }

    fn owned(&mut self, lookup: &Lookup, owner: &Owner) -> LinkRow {
        let by_nesting = &lookup.row;
        self.counts.disagreements += u64::from(by_nesting.launch.is_some() && owner.operator != by_nesting.operator);
        let comm_rule = lookup.signs.rule(owner.communicates);
        let category = lookup.signs.category(comm_rule, owner.operator_category);
        let (id, operator) = (Some(owner.id), owner.operator);
        LinkRow { owner: id, operator, link: Link::ExternalId, comm_rule, category, ..*by_nesting }
    }
}

impl Signs {
    /// What the event is, once it is known what launched it.
    fn category(self, comm_rule: Option<CommRule>, by_operator: Option<KernelCategory>) -> KernelCategory {
        category_of(self.is_kernel, comm_rule.is_some(), self.category, by_operator)
    }

    /// What is communication (metrics, section 9): metadata, the operation of the compiled program, the span that
    /// launched it, and then the kernel's name.
    fn rule(self, owner_communicates: bool) -> Option<CommRule> {
        if !self.is_kernel {
            None
        } else if self.names_collective {
            Some(CommRule::CollectiveName)
        } else if self.is_hlo_collective {
            Some(CommRule::Hlo)
        } else if owner_communicates {
            Some(CommRule::Owner)
        } else {
            self.has_name.then_some(CommRule::Name)
        }
    }
}

/// Reads calls by correlation.
struct CallGroups<'a> {
    reader: Reader<'a, Call>,
    next: Option<Call>,
    /// Calls of one correlation, in the order of their starts.
    group: Vec<Call>,
}

impl<'a> CallGroups<'a> {
    fn new(calls: &'a Sorted<Call>) -> Result<Self, IngestError> {
        let mut reader = calls.reader()?;
        let next = reader.next_key()?;
        Ok(Self { reader, next, group: Vec::new() })
    }

    fn correlation(&self) -> Option<i64> {
        self.group.first().map(|call| call.correlation)
    }

    /// Goes to the group of `correlation`, or the first one behind it. Gives how many of the groups on the way have
    /// several calls.
    fn advance_to(&mut self, correlation: i64) -> Result<u64, IngestError> {
        let mut shared = 0;
        while self.correlation().is_none_or(|reached| reached < correlation) {
            self.group.clear();
            let Some(first) = self.next else { break };
            while let Some(call) = self.next.filter(|call| call.correlation == first.correlation) {
                self.group.push(call);
                self.next = self.reader.next_key()?;
            }
            shared += u64::from(self.group.len() > 1);
            if self.group.iter().any(|call| call.can_launch) {
                self.group.retain(|call| call.can_launch);
            }
        }
        Ok(shared)
    }

    /// The call that launched an event. If several share its correlation: of those that can launch, the latest one that
    /// starts no later than the event, else the latest.
    fn launch_of(&self, event: &DeviceEvent) -> Option<&Call> {
        if event.correlation == 0 || self.correlation() != Some(event.correlation) {
            return None;
        }
        let not_later = self.group.partition_point(|call| call.start <= event.start);
        not_later.checked_sub(1).map_or(self.group.last(), |index| self.group.get(index))
    }
}
