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
  sum(dur_ns) AS total_ns,
  min(dur_ns) AS min_ns,
  max(dur_ns) AS max_ns,
  avg(dur_ns) AS mean_ns
FROM device_events
WHERE kind = 'kernel'
GROUP BY rank, window, name, class
