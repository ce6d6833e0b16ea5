//! Threads, streams and lanes.

/// One row a track, busiest first within a source.
pub(crate) const SQL: &str = "
    SELECT rank, \"window\", track_id, type, process, coalesce(process_labels, process_name) AS process_name, thread, thread_name,
           device_id, stream_id, spans, first_ns, last_ns - first_ns AS extent_ns
    FROM tracks
    ORDER BY rank, \"window\", process_sort_index, thread_sort_index, track_id";
