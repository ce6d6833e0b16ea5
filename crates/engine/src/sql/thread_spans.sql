-- One row per span of any kind, with the names of the thread or stream it is on.
-- rank: Rank of the process that recorded it.
-- window: Capture cycle of the rank, from 0.
-- span_id: Id of the span in its trace.
-- track_id: Thread, stream or lane it is on.
-- track_type: thread, stream or async.
-- process: pid as recorded.
-- thread: tid as recorded.
-- process_name: Name of the process.
-- thread_name: Name of the thread or stream.
-- start_ns: Start.
-- end_ns: End.
-- dur_ns: Length.
-- self_ns: Duration minus its children.
-- depth: How many spans of its family enclose it.
-- kind: Kind of work.
-- category: Category as recorded.
-- name: Name as recorded.
-- step: Step it belongs to.
SELECT
  span.rank,
  span.window,
  span.span_id,
  span.track_id,
  track.type AS track_type,
  track.process,
  track.thread,
  track.process_name,
  track.thread_name,
  span.start_ns,
  span.start_ns + span.dur_ns AS end_ns,
  span.dur_ns,
  span.self_ns,
  span.depth,
  span.kind,
  span.category,
  span.name,
  span.step
FROM spans AS span
LEFT JOIN tracks AS track
  ON track.rank = span.rank AND track.window = span.window AND track.track_id = span.track_id
