//! Names of stats: each gets a number that is the same in all planes, and those that mean something to the reader have
//! fixed ones.

use hashbrown::HashMap;

use super::metadata::Metadata;

/// Number of a name.
pub(super) type NameId = u32;

macro_rules! known_names {
    ($($id:ident, $recorded:literal, $argument:literal;)+) => {
        /// Names that mean something: the number of each is its place.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub(super) enum Known { $($id),+ }

        const RECORDED: &[&str] = &[$($recorded),+];
        const ARGUMENTS: &[&str] = &[$($argument),+];
    };
}

// As it is recorded, and as the argument is called.
known_names! {
    Correlation, "correlation_id", "correlation";
    StepNumber, "step_num", "step_num";
    InputStage, "_ipl_stage_name", "_ipl_stage_name";
    HloOp, "hlo_op", "hlo_op";
    HloCategory, "hlo_category", "hlo_category";
    Program, "program_id", "program_id";
    Run, "run_id", "run_id";
    DeviceOffset, "device_offset_ps", "device_offset_ps";
    DeviceDuration, "device_duration_ps", "device_duration_ps";
    KernelDetails, "kernel_details", "kernel_details";
    CopyDetails, "memcpy_details", "memcpy_details";
    FillDetails, "memset_details", "memset_details";
    OldFillDetails, "Memset_details", "memset_details";
    TfOp, "tf_op", "tf_op";
    Name, "name", "name";
    Annotation, "annotation", "annotation";
    CounterValue, "counter_value", "value";
    Allocator, "allocator_name", "allocator_name";
    DeviceOrdinal, "device_ordinal", "device_ordinal";
    IndexOnHost, "index_on_host", "index_on_host";
    AllocationBytes, "allocation_bytes", "allocation_bytes";
    BytesReserved, "bytes_reserved", "bytes_reserved";
    BytesAllocated, "bytes_allocated", "bytes_allocated";
    Address, "addr", "addr";
    // Not recorded as stats, but made of them.
    FrameworkOp, "\0framework_op", "framework_op";
    DeviceStart, "\0device_start_ns", "device_start_ns";
    DeviceLength, "\0device_dur_ns", "device_dur_ns";
    LongName, "\0long_name", "long_name";
    Registers, "\0registers", "registers per thread";
    Grid, "\0grid", "grid";
    Block, "\0block", "block";
    SharedMemory, "\0shared", "shared memory";
    BlocksPerCore, "\0blocks_per_core", "blocks per SM";
    Occupancy, "\0occupancy", "theoretical_occupancy_percent";
    Bytes, "\0bytes", "bytes";
    CopyKind, "\0copy_kind", "kind";
}

/// The names of a file.
#[derive(Debug)]
pub(super) struct Names {
    ids: HashMap<String, NameId>,
    /// How each is called as an argument.
    arguments: Vec<String>,
    /// Numbers of the stats of the current plane.
    by_stat: HashMap<i64, NameId>,
}

impl Names {
    pub(super) fn new() -> Self {
        let ids = RECORDED.iter().enumerate().map(|(id, name)| ((*name).to_owned(), id as NameId)).collect();
        let arguments = ARGUMENTS.iter().map(|name| (*name).to_owned()).collect();
        Self { ids, arguments, by_stat: HashMap::new() }
    }

    /// Takes the names of the stats of a plane.
    pub(super) fn enter_plane(&mut self, metadata: &Metadata) {
        self.by_stat.clear();
        for (&stat, name) in &metadata.stat_names {
            let id = self.id(name);
            self.by_stat.insert(stat, id);
        }
    }

    /// The name of a stat of the current plane; its number where the file has none.
    #[inline]
    pub(super) fn of_stat(&mut self, stat: i64) -> NameId {
        if let Some(&id) = self.by_stat.get(&stat) {
            return id;
        }
        let id = self.id(&stat.to_string());
        self.by_stat.insert(stat, id);
        id
    }

    /// What an argument is called.
    pub(super) fn argument(&self, id: NameId) -> &str {
        &self.arguments[id as usize]
    }

    fn id(&mut self, name: &str) -> NameId {
        let next = self.arguments.len() as NameId;
        *self.ids.entry_ref(name).or_insert_with(|| {
            self.arguments.push(name.to_owned());
            next
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_have_fixed_numbers() {
        let mut names = Names::new();
        assert_eq!(names.id("correlation_id"), Known::Correlation as NameId);
        assert_eq!(names.id("addr"), Known::Address as NameId);
        assert_eq!(names.argument(Known::CopyKind as NameId), "kind");
        assert_eq!(names.argument(names.ids["\0grid"]), "grid");
        let other = names.id("other");
        assert_eq!(names.argument(other), "other");
        assert_eq!(names.id("other"), other);
        let unnamed = names.of_stat(77);
        assert_eq!(names.argument(unnamed), "77");
    }
}
