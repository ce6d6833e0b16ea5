-- One row a span on the host or on a device, with its class in the breakdown of step time.
-- rank: Rank of the process that recorded it.
-- window: Which of the rank's recordings this is, from 0.
-- span_id: Number of the span in this source.
-- start_ns: Start.
-- end_ns: End.
-- kind: op, ann, rt, kernel, memcpy or memset.
-- name: Name as recorded.
-- priority: Place of the class; an instant belongs to the active class with the lowest.
-- class: kernel, memcpy, memset, communication, runtime, dataloader, cpu_exec or, for a mere label, other.
WITH ranked AS (
  SELECT
    rank,
    window,
    span_id,
    start_ns,
    start_ns + dur_ns AS end_ns,
    kind,
    name,
    CASE
      WHEN kind = 'kernel' AND comm_rule IS NULL THEN 1
      WHEN kind = 'memcpy' THEN 2
      WHEN kind = 'memset' THEN 3
      WHEN kind = 'kernel' THEN 4
      WHEN kind = 'rt' THEN 5
      WHEN name ~ '^(enumerate\(DataLoader\)#.*\.__next__|enumerate\(DataPipe\)#.*)$' THEN 6
      -- With these the host itself does the transfer; spans such as nccl:all_reduce only enqueue it.
      WHEN name ~ '^(gloo|mpi|ucc):' THEN 4
      WHEN kind = 'op' THEN 7
      -- The names that make an annotation of an operator, without the marks of steps: these annotations are work.
      WHEN name ~ '^(enumerate\(DataLoader\)#.*|Optimizer\..*|(Distributed)?DataParallel\.forward|(nccl|xccl|hccl):.*)$' THEN 7
      ELSE 8
    END AS priority
  FROM spans
  WHERE kind IN ('op', 'ann', 'rt', 'kernel', 'memcpy', 'memset') AND phase = 'X'
)
SELECT
  rank,
  window,
  span_id,
  start_ns,
  end_ns,
  kind,
  name,
  priority,
  CASE priority
    WHEN 1 THEN 'kernel'
    WHEN 2 THEN 'memcpy'
    WHEN 3 THEN 'memset'
    WHEN 4 THEN 'communication'
    WHEN 5 THEN 'runtime'
    WHEN 6 THEN 'dataloader'
    WHEN 7 THEN 'cpu_exec'
    ELSE 'other'
  END AS class
FROM ranked
