-- One row a runtime call that launched device work, with the earliest of its device events.
-- rank: Rank of the process that recorded it.
-- window: Which of the rank's recordings this is, from 0.
-- span_id: Number of the call in this source.
-- track_id: Thread it lies on.
-- start_ns: Start of the call.
-- end_ns: End of the call.
-- dur_ns: Length of the call.
-- name: Name of the function.
-- step: Step it belongs to.
-- graph_launch: For the launch of a graph, which graph launch of the source.
-- device_events: How many device events it launched.
-- device_total_ns: Time of all of them.
-- device_id: Device of the earliest of them.
-- stream_id: Stream of the earliest of them.
-- device_start_ns: Start of the earliest of them.
-- device_dur_ns: Length of the earliest of them.
-- latency_ns: From the start of the call to the start on the device; negative if the clocks disagree.
-- delay_ns: From the end of the call to the start on the device; 0 if that came first.
WITH device AS (
  SELECT
    rank,
    window,
    launch_id,
    count(*) AS device_events,
    sum(dur_ns) AS total_ns,
    min(graph_launch) AS graph_launch,
    first_value(device_id ORDER BY start_ns, position) AS device_id,
    first_value(stream_id ORDER BY start_ns, position) AS stream_id,
    min(start_ns) AS start_ns,
    first_value(dur_ns ORDER BY start_ns, position) AS dur_ns
  FROM device_events
  WHERE launch_id IS NOT NULL
  GROUP BY rank, window, launch_id
)
SELECT
  call.rank,
  call.window,
  call.span_id,
  call.track_id,
  call.start_ns,
  call.end_ns,
  call.dur_ns,
  call.name,
  call.step,
  device.graph_launch,
  device.device_events,
  device.total_ns AS device_total_ns,
  device.device_id,
  device.stream_id,
  device.start_ns AS device_start_ns,
  device.dur_ns AS device_dur_ns,
  device.start_ns - call.start_ns AS latency_ns,
  greatest(device.start_ns - call.end_ns, 0) AS delay_ns
FROM runtime_calls AS call
JOIN device
  ON device.rank = call.rank AND device.window = call.window AND device.launch_id = call.span_id
