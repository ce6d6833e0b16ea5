use super::SOURCE_COLUMNS;
use crate::schema::{
    Column,
    ColumnType::{I32, I64, Text},
    Table,
};

/// The timeline's levels of detail.
pub static TILES: Table = Table {
    name: "tiles",
    doc: "The timeline's levels of detail: one row for the spans of a lane that start in one bucket of time. A span as \
          long as a bucket has a separate row. Tracks and levels with few spans per bucket have no rows.",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 10] = [
    Column::required("track_id", I32, "Thread, stream or lane it is on."),
    Column::required("level", I32, "Level of detail: buckets are 4 to the power of this nanoseconds wide."),
    Column::required("lane", I32, "Lane of the track, from the top."),
    Column::required("start_ns", I64, "Start of the first of the spans."),
    Column::required("end_ns", I64, "End of the last of the spans."),
    Column::required("busy_ns", I64, "Time in which any of the spans goes on."),
    Column::required("count", I64, "Number of the spans."),
    Column::required("class", Text, "Class that most of their time belongs to."),
    Column::required("span_id", I64, "The longest of the spans."),
    Column::optional("name", Text, "Name of the longest."),
];
