-- One row a span of any kind, with its class and the place of its lanes on the track.
-- rank: Rank of the process that recorded it.
-- window: Which of the rank's recordings this is, from 0.
-- span_id: Number of the span in this source.
-- track_id: Thread, stream or lane it lies on.
-- start_ns: Start.
-- end_ns: End.
-- dur_ns: Length.
-- kind: Kind of work.
-- phase: X complete, B begin and end, b asynchronous, i or n instant.
-- name: Name as recorded.
-- depth: How many spans of its family enclose it.
-- lane_group: Which lanes of its track it is drawn in, from the top: 0 Python, 1 marks of the device, 2 work, 3 other, 4 waits and overhead.
-- priority: Place of the class in the breakdown of step time; 8 when it has none there.
-- class: kernel, memcpy, memset, communication, runtime, dataloader, cpu_exec, other, python or annotation.
WITH ranked AS (
  SELECT
    rank,
    window,
    span_id,
    track_id,
    start_ns,
    start_ns + dur_ns AS end_ns,
    dur_ns,
    kind,
    phase,
    name,
    depth,
    CASE
      WHEN kind = 'kernel' AND comm_rule IS NULL THEN 1
      WHEN kind = 'memcpy' THEN 2
      WHEN kind = 'memset' THEN 3
      WHEN kind = 'kernel' THEN 4
      WHEN kind = 'rt' THEN 5
      WHEN kind NOT IN ('op', 'ann') THEN 8
      WHEN name ~ '^(enumerate\(DataLoader\)#.*\.__next__|enumerate\(DataPipe\)#.*)$' THEN 6
      -- With these the host itself does the transfer; spans such as nccl:all_reduce only enqueue it.
      WHEN name ~ '^(gloo|mpi|ucc):' THEN 4
      WHEN kind = 'op' THEN 7
      -- The names that make an annotation of an operator, without the marks of steps: these annotations are work.
      WHEN name ~ '^(enumerate\(DataLoader\)#.*|Optimizer\..*|(Distributed)?DataParallel\.forward|(nccl|xccl|hccl):.*)$' THEN 7
      ELSE 8
    END AS priority
  FROM spans
)
SELECT
  rank,
  window,
  span_id,
  track_id,
  start_ns,
  end_ns,
  dur_ns,
  kind,
  phase,
  name,
  depth,
  CASE
    WHEN kind = 'py' THEN 0
    WHEN kind IN ('gpuann', 'window', 'range') THEN 1
    WHEN kind IN ('op', 'ann', 'rt', 'kernel', 'memcpy', 'memset') THEN 2
    WHEN kind IN ('sync', 'overhead') THEN 4
    ELSE 3
  END AS lane_group,
  priority,
  CASE
    WHEN priority = 1 THEN 'kernel'
    WHEN priority = 2 THEN 'memcpy'
    WHEN priority = 3 THEN 'memset'
    WHEN priority = 4 THEN 'communication'
    WHEN priority = 5 OR kind = 'sync' THEN 'runtime'
    WHEN priority = 6 THEN 'dataloader'
    WHEN priority = 7 THEN 'cpu_exec'
    WHEN kind = 'py' THEN 'python'
    WHEN kind IN ('ann', 'gpuann') THEN 'annotation'
    ELSE 'other'
  END AS class
FROM ranked
