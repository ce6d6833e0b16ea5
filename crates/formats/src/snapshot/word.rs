//! Words that snapshots are made of, as numbers: members are found by comparing bytes.

macro_rules! words {
    ($($name:ident $text:literal)+) => {
        /// A text that is in many snapshots.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Word {
            $($name,)+
        }

        impl Word {
            /// The word for a text.
            pub(super) fn of(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$name),)+
                    _ => None,
                }
            }

            /// Its text.
            pub(super) fn as_text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }
        }
    };
}

words! {
    Segments "segments"
    DeviceTraces "device_traces"
    AllocatorSettings "allocator_settings"
    ExternalAnnotations "external_annotations"
    Device "device"
    Address "address"
    TotalSize "total_size"
    AllocatedSize "allocated_size"
    ActiveSize "active_size"
    RequestedSize "requested_size"
    Stream "stream"
    SegmentType "segment_type"
    SegmentPoolId "segment_pool_id"
    IsExpandable "is_expandable"
    Frames "frames"
    Blocks "blocks"
    Size "size"
    State "state"
    History "history"
    RealSize "real_size"
    Action "action"
    Addr "addr"
    DeviceFree "device_free"
    TimeUs "time_us"
    CompileContext "compile_context"
    UserMetadata "user_metadata"
    InternalMetadata "internal_metadata"
    PoolId "pool_id"
    Category "category"
    Filename "filename"
    Line "line"
    Name "name"
    Stage "stage"
    Start "START"
    End "END"
    ActiveAllocated "active_allocated"
    ActivePendingFree "active_pending_free"
    ActiveAwaitingFree "active_awaiting_free"
    Inactive "inactive"
    Small "small"
    Large "large"
    Alloc "alloc"
    Free "free"
    FreeRequested "free_requested"
    FreeCompleted "free_completed"
    SegmentAlloc "segment_alloc"
    SegmentFree "segment_free"
    SegmentMap "segment_map"
    SegmentUnmap "segment_unmap"
    OutOfMemory "oom"
    Snapshot "snapshot"
    Annotate "annotate"
    NotApplicable "N/A"
    Unknown "??"
    Empty ""
}
