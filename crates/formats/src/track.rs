//! Tracks and programs that a reader tells of before the events that refer to them.

/// A track of events. Events refer to it by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Track<'a> {
    /// Its number, dense from 0.
    pub number: u32,
    /// What it is.
    pub kind: TrackKind,
    /// Process or device that it belongs to.
    pub process: &'a str,
    /// Thread, stream or line of it.
    pub thread: &'a str,
    /// Name of the process.
    pub process_name: Option<&'a str>,
    /// What a device calls itself.
    pub process_labels: Option<&'a str>,
    /// Name of the thread, stream or line.
    pub thread_name: Option<&'a str>,
    /// Device that its events run on.
    pub device_id: Option<i64>,
    /// Stream of the device.
    pub stream_id: Option<i64>,
    /// Changes of memory on it are in the order of the file, whatever their times.
    pub keeps_order: bool,
    /// Device work on it nests, so that what a span encloses is not its own time.
    pub device_work_nests: bool,
}

/// What a track is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrackKind {
    /// A thread of the host.
    #[default]
    Thread,
    /// A stream of a device.
    Stream,
    /// Anything else: marks of a device, lanes of asynchronous work.
    Async,
}

/// A program that was compiled for a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program<'a> {
    /// Its number in the recording.
    pub id: i64,
    /// Its name.
    pub name: &'a str,
    /// Bytes of its description in the recording.
    pub bytes: u64,
}
