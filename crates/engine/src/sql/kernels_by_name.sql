-- One row per kernel name of a trace.
-- rank: Rank of the process that recorded it.
-- window: Capture cycle of the rank, from 0.
-- name: Name of the kernel.
-- class: compute or communication.
-- calls: How often it ran.
-- total_ns: Time on the device, summed.
-- min_ns: Shortest run.
-- max_ns: Longest run.
-- mean_ns: Mean run.
SELECT
  rank,
  window,
  name,
  class,
  count(*) AS calls,
  sum(self_ns) AS total_ns,
  min(self_ns) AS min_ns,
  max(self_ns) AS max_ns,
  avg(self_ns) AS mean_ns
FROM device_events
WHERE kind = 'kernel'
GROUP BY rank, window, name, class
