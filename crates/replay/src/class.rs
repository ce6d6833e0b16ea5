//! What a piece of a critical path goes to, and what kinds of edges there are (A4, A5).

/// The class of a piece of a critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PathClass {
    /// Kernels that compute.
    Kernel,
    /// Copies.
    Memcpy,
    /// Fills.
    Memset,
    /// Kernels that communicate, and transfers that the host does itself.
    Communication,
    /// Calls into the device's runtime.
    Runtime,
    /// Waiting for the data loader.
    Dataloader,
    /// Operators on the host.
    CpuExec,
    /// Host time that no span explains, Python above all.
    Other,
    /// From a launch call to the start on the device.
    LaunchDelay,
    /// Between two events of a device.
    DeviceGap,
    /// From the end of what was awaited to the return of the call.
    SyncDelay,
    /// From one thread to another.
    Handoff,
    /// Beyond what is usual, while other streams of the device were busy.
    Contention,
    /// Beyond what is usual, with no cause in the trace.
    Unexplained,
    /// Several ranks only: ranks that begin at different times.
    RankSkew,
}

impl PathClass {
    /// Every class, in the order of documents.
    pub const ALL: [Self; 15] = [
        Self::Kernel,
        Self::Memcpy,
        Self::Memset,
        Self::Communication,
        Self::Runtime,
        Self::Dataloader,
        Self::CpuExec,
        Self::Other,
        Self::LaunchDelay,
        Self::DeviceGap,
        Self::SyncDelay,
        Self::Handoff,
        Self::Contention,
        Self::Unexplained,
        Self::RankSkew,
    ];

    /// Whether it is work of a device, not a delay and not the host.
    #[must_use]
    pub fn is_device_work(self) -> bool {
        matches!(self, Self::Kernel | Self::Memcpy | Self::Memset | Self::Communication)
    }

    /// The name in JSON and in tables.
    #[must_use]
    pub fn as_text(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Memcpy => "memcpy",
            Self::Memset => "memset",
            Self::Communication => "communication",
            Self::Runtime => "runtime",
            Self::Dataloader => "dataloader",
            Self::CpuExec => "cpu_exec",
            Self::Other => "other",
            Self::LaunchDelay => "launch_delay",
            Self::DeviceGap => "device_gap",
            Self::SyncDelay => "sync_delay",
            Self::Handoff => "handoff",
            Self::Contention => "contention",
            Self::Unexplained => "unexplained",
            Self::RankSkew => "rank_skew",
        }
    }
}

/// Why a point in time cannot come before another one. In the order in which ties between edges are decided (A5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EdgeKind {
    /// A device event runs.
    Dur,
    /// A collective ends on a rank when all have arrived and the transfer is done.
    Join,
    /// A rank has arrived at a collective.
    Arrive,
    /// A thread goes on.
    Order,
    /// Another thread takes over.
    Handoff,
    /// A call launches an event.
    Launch,
    /// The host stages a copy from pageable memory.
    Staging,
    /// The event before on the stream has ended.
    Stream,
    /// The event before on the stream has begun, and runs on.
    Overlap,
    /// An event of another stream has ended.
    Cross,
    /// A call returns when what it awaits has ended.
    Sync,
    /// The launch queue has a place again.
    Queue,
    /// What a waiting call costs itself.
    Own,
    /// A thread, or a rank in a collective, waited: this never holds longer than what was waited for.
    Idle,
}

impl EdgeKind {
    /// Every kind, in the order of ties.
    pub const ALL: [Self; 14] = [
        Self::Dur,
        Self::Join,
        Self::Arrive,
        Self::Order,
        Self::Handoff,
        Self::Launch,
        Self::Staging,
        Self::Stream,
        Self::Overlap,
        Self::Cross,
        Self::Sync,
        Self::Queue,
        Self::Own,
        Self::Idle,
    ];

    /// The name in JSON and in tables.
    #[must_use]
    pub fn as_text(self) -> &'static str {
        match self {
            Self::Dur => "dur",
            Self::Join => "join",
            Self::Arrive => "arrive",
            Self::Order => "order",
            Self::Handoff => "handoff",
            Self::Launch => "launch",
            Self::Staging => "staging",
            Self::Stream => "stream",
            Self::Overlap => "overlap",
            Self::Cross => "cross",
            Self::Sync => "sync",
            Self::Queue => "queue",
            Self::Own => "own",
            Self::Idle => "idle",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_in_the_order_of_the_enums() {
        assert!(PathClass::ALL.is_sorted() && EdgeKind::ALL.is_sorted());
        assert!(PathClass::ALL.into_iter().enumerate().all(|(place, class)| class as usize == place));
    }
}
