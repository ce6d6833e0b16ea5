-- One row per span of any kind, with its class and the place of its lanes on the track.
-- rank: Rank of the process that recorded it.
-- window: Capture cycle of the rank, from 0.
-- span_id: Id of the span in its trace.
-- track_id: Thread, stream or lane it is on.
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
WITH classed AS (
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
    -- Below it is used once per column: a planner copies an expression to every use of its name.
    CASE
      WHEN kind IN ('memcpy', 'memset') THEN kind
      WHEN kind = 'kernel' THEN CASE WHEN comm_rule IS NULL THEN 'kernel' ELSE 'communication' END
      WHEN kind IN ('rt', 'sync') THEN 'runtime'
      WHEN kind = 'op' THEN CASE WHEN category = 'input_wait' THEN 'dataloader' ELSE 'cpu_exec' END
      WHEN kind = 'py' THEN 'python'
      WHEN kind = 'gpuann' THEN 'annotation'
      WHEN kind <> 'ann' THEN 'other'
      WHEN starts_with(name, 'enumerate(DataPipe)#') THEN 'dataloader'
      WHEN starts_with(name, 'enumerate(DataLoader)#') THEN
        CASE WHEN ends_with(name, '.__next__') THEN 'dataloader' ELSE 'cpu_exec' END
      -- With these the host itself does the transfer; spans such as nccl:all_reduce only enqueue it.
      WHEN name ~ '^(gloo|mpi|ucc):' THEN 'communication'
      -- The names that make an annotation of an operator, without the marks of steps: these annotations are work.
      WHEN name ~ '^(Optimizer\..*|(Distributed)?DataParallel\.forward|(nccl|xccl|hccl):.*)$' THEN 'cpu_exec'
      ELSE 'annotation'
    END AS class
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
  CASE CASE WHEN kind = 'sync' THEN 'wait' ELSE class END
    WHEN 'kernel' THEN 1
    WHEN 'memcpy' THEN 2
    WHEN 'memset' THEN 3
    WHEN 'communication' THEN 4
    WHEN 'runtime' THEN 5
    WHEN 'dataloader' THEN 6
    WHEN 'cpu_exec' THEN 7
    ELSE 8
  END AS priority,
  class
FROM classed
