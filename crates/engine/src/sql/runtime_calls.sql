-- One row per call into the device's runtime or driver.
-- rank: Rank of the process that recorded it.
-- window: Which of the rank's recordings this is, from 0.
-- span_id: Number of the span in this source.
-- track_id: Thread it lies on.
-- start_ns: Start.
-- end_ns: End.
-- dur_ns: Length.
-- self_ns: Length less the calls below it.
-- name: Name of the function.
-- step: Step it belongs to.
-- parent_op_id: Nearest enclosing operator.
-- correlation: Number that it shares with its device events.
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
