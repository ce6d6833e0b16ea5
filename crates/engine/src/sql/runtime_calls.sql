-- One row per call into the device's runtime or driver.
-- rank: Rank of the process that recorded it.
-- window: Capture cycle of the rank, from 0.
-- span_id: Id of the span in its trace.
-- track_id: Thread it is on.
-- start_ns: Start.
-- end_ns: End.
-- dur_ns: Length.
-- self_ns: Duration minus the calls below it.
-- name: Name of the function.
-- step: Step it belongs to.
-- parent_op_id: Nearest enclosing operator.
-- correlation: Correlation id, shared with its device events.
SELECT
  rank,
  window,
  span_id,
  track_id,
  start_ns,
  start_ns + dur_ns AS end_ns,
  dur_ns,
  self_ns,
  name,
  step,
  parent_op_id,
  correlation
FROM spans
WHERE kind = 'rt' AND phase = 'X'
