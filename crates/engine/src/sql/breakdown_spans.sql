-- One row per span on the host or on a device, with its class in the breakdown of step time.
-- rank: Rank of the process that recorded it.
-- window: Capture cycle of the rank, from 0.
-- span_id: Id of the span in its trace.
-- start_ns: Start.
-- end_ns: End.
-- kind: op, ann, rt, kernel, memcpy or memset.
-- name: Name as recorded.
-- priority: Place of the class; an instant belongs to the active class with the lowest.
-- class: kernel, memcpy, memset, communication, runtime, dataloader, cpu_exec or, for a mere label, other.
SELECT
  rank,
  window,
  span_id,
  start_ns,
  end_ns,
  kind,
  name,
  priority,
  CASE WHEN priority = 8 THEN 'other' ELSE class END AS class
FROM timeline_spans
WHERE kind IN ('op', 'ann', 'rt', 'kernel', 'memcpy', 'memset') AND phase = 'X'
