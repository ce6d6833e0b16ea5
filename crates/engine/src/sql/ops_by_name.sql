-- One row per operator name of a trace.
-- rank: Rank of the process that recorded it.
-- window: Capture cycle of the rank, from 0.
-- name: Name of the operator.
-- calls: How often it was called.
-- host_self_ns: Time on the host minus operators and runtime calls below it, summed.
-- host_total_ns: Time on the host, summed.
-- device_events: Kernels, copies and fills that belong to it.
-- device_self_ns: Their time on the device, summed.
WITH device AS (
  SELECT rank, window, operator_id, count(*) AS events, sum(dur_ns) AS dur_ns
  FROM device_events
  WHERE operator_id IS NOT NULL
  GROUP BY rank, window, operator_id
)
SELECT
  op.rank,
  op.window,
  op.name,
  count(*) AS calls,
  sum(op.self_ns) AS host_self_ns,
  sum(op.dur_ns) AS host_total_ns,
  coalesce(sum(device.events), 0) AS device_events,
  coalesce(sum(device.dur_ns), 0) AS device_self_ns
FROM spans AS op
LEFT JOIN device
  ON device.rank = op.rank AND device.window = op.window AND device.operator_id = op.span_id
WHERE op.kind = 'op' AND op.phase = 'X'
GROUP BY op.rank, op.window, op.name
