-- One row per kernel, copy or fill on a device, with the names of what launched it.
-- rank: Rank of the process that recorded it.
-- window: Capture cycle of the rank, from 0.
-- span_id: Id of the device event in its trace.
-- track_id: Stream it is on.
-- start_ns: Start on the device.
-- end_ns: End on the device.
-- dur_ns: Duration on the device.
-- class: compute, communication, memcpy or memset.
-- name: Name of the device event.
-- step: Step of its launch.
-- launch_name: Name of the runtime call that launched it.
-- launch_track_id: Thread of that call.
-- launch_start_ns: Start of that call.
-- launch_dur_ns: Duration of that call.
-- delay_ns: From the start of the call to the start on the device.
-- owner_name: Innermost operator or annotation that issued the launch.
-- operator_id: The operator it belongs to.
-- operator_name: Name of that operator.
-- link: How the operator was found.
WITH host AS (
  SELECT rank, window, span_id, track_id, start_ns, dur_ns, kind, name
  FROM spans
  WHERE kind IN ('op', 'ann', 'rt')
)
SELECT
  device.rank,
  device.window,
  device.span_id,
  device.track_id,
  device.start_ns,
  device.end_ns,
  device.dur_ns,
  device.class,
  device.name,
  device.step,
  launch.name AS launch_name,
  launch.track_id AS launch_track_id,
  launch.start_ns AS launch_start_ns,
  launch.dur_ns AS launch_dur_ns,
  device.start_ns - launch.start_ns AS delay_ns,
  owner.name AS owner_name,
  device.operator_id,
  operator.name AS operator_name,
  device.link
FROM device_events AS device
LEFT JOIN host AS launch
  ON launch.kind = 'rt' AND launch.rank = device.rank AND launch.window = device.window
  AND launch.span_id = device.launch_id
LEFT JOIN host AS owner
  ON owner.kind IN ('op', 'ann') AND owner.rank = device.rank AND owner.window = device.window
  AND owner.span_id = device.owner_id
LEFT JOIN host AS operator
  ON operator.kind = 'op' AND operator.rank = device.rank AND operator.window = device.window
  AND operator.span_id = device.operator_id
