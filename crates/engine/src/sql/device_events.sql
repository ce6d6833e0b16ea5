-- One row per kernel, copy or fill on a device.
-- rank: Rank of the process that recorded it.
-- window: Capture cycle of the rank, from 0.
-- span_id: Id of the span in its trace.
-- track_id: Stream it is on.
-- device_id: Device, as recorded in the arguments.
-- stream_id: Stream, as recorded in the arguments.
-- start_ns: Start.
-- end_ns: End.
-- dur_ns: Length.
-- self_ns: Length without what runs inside, by the device's own clock where that is recorded.
-- position: Position of the event in the file, from 0.
-- kind: kernel, memcpy or memset.
-- class: compute, communication, memcpy or memset.
-- name: Name as recorded.
-- step: Step of its launch.
-- launch_id: The runtime call that launched it.
-- owner_id: Innermost operator or annotation that issued the launch.
-- operator_id: The operator it belongs to.
-- link: How the operator was found.
-- category: gemm, convolution, attention, elementwise, reduction, copy, communication or other.
-- comm_rule: For communication kernels, the rule that says so.
-- graph_launch: For events of a graph, which graph launch of the trace.
-- size_bytes: Bytes copied or filled.
-- memory_bandwidth_gb_per_s: Bandwidth of a copy, as recorded.
-- blocks_per_sm: Blocks of the grid per multiprocessor, as recorded.
-- est_achieved_occupancy_percent: Estimated occupancy, as recorded, 0 to 100.
SELECT
  rank,
  window,
  span_id,
  track_id,
  device_id,
  stream_id,
  start_ns,
  start_ns + dur_ns AS end_ns,
  dur_ns,
  self_ns,
  position,
  kind,
  CASE WHEN kind <> 'kernel' THEN kind WHEN comm_rule IS NULL THEN 'compute' ELSE 'communication' END AS class,
  name,
  step,
  launch_id,
  owner_id,
  operator_id,
  link,
  kernel_category AS category,
  comm_rule,
  graph_launch,
  size_bytes,
  memory_bandwidth_gb_per_s,
  blocks_per_sm,
  est_achieved_occupancy_percent
FROM spans
WHERE kind IN ('kernel', 'memcpy', 'memset') AND phase = 'X'
