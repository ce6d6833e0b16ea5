-- One row per gap between two events of a stream, with what the stream waited for (metrics, section 8).
-- rank: Rank of the process that recorded it.
-- window: Capture cycle of the rank, from 0.
-- device_id: Device, as recorded.
-- stream_id: Stream, as recorded.
-- start_ns: Where the latest of all earlier events of the stream ends.
-- end_ns: Where the next event starts.
-- gap_ns: Duration of the gap.
-- next_span_id: The next event in `spans`.
-- step: Step of the next event.
-- waits_for: host_wait if the next event was launched after the gap began, kernel_wait for a shorter gap than 30 µs after an earlier launch, other for a longer one, unknown without a launch call.
WITH gaps AS (
  SELECT
    device.rank,
    device.window,
    device.device_id,
    device.stream_id,
    max(device.end_ns) OVER (
      PARTITION BY device.rank, device.window, device.device_id, device.stream_id
      ORDER BY device.start_ns, device.end_ns, device.position
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS start_ns,
    device.start_ns AS end_ns,
    device.span_id AS next_span_id,
    device.step,
    launch.start_ns AS launch_ns
  FROM device_events AS device
  LEFT JOIN (SELECT rank, window, span_id, start_ns FROM runtime_calls) AS launch
    ON launch.rank = device.rank AND launch.window = device.window AND launch.span_id = device.launch_id
)

SELECT
  rank,
  window,
  device_id,
  stream_id,
  start_ns,
  end_ns,
  end_ns - start_ns AS gap_ns,
  next_span_id,
  step,
  CASE
    WHEN launch_ns IS NULL THEN 'unknown'
    WHEN launch_ns > start_ns THEN 'host_wait'
    WHEN end_ns - start_ns < 30000 THEN 'kernel_wait'
    ELSE 'other'
  END AS waits_for
FROM gaps
WHERE end_ns > start_ns
