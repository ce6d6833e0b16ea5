-- One row per thread whose part in the program follows from what ran on it.
-- rank: Rank of the process that recorded it.
-- window: Capture cycle of the rank, from 0.
-- track_id: Id of the track in its trace.
-- process: pid as recorded.
-- thread: tid as recorded.
-- role: main thread, autograd thread, DataLoader worker or pin-memory thread.
-- role_from: Evidence for the role: step_marks, process_id, most_operators, backward_operators, thread_name, python_frames or pin_memory_operators.
WITH of_steps AS (
  -- The first steps suffice; a long trace is not read to its end.
  SELECT
    rank,
    window,
    track_id,
    CASE WHEN kind = 'ann' AND starts_with(name, 'ProfilerStep#') THEN 1 ELSE 0 END AS step_marks,
    CASE
      WHEN forward_id IS NOT NULL OR (kind = 'op' AND starts_with(name, 'autograd::engine::evaluate_function')) THEN 1
      ELSE 0
    END AS backward_ops,
    CASE WHEN kind = 'op' AND parent_op_id IS NULL THEN 1 ELSE 0 END AS outermost_ops,
    CASE WHEN kind = 'op' AND parent_op_id IS NULL AND name = 'aten::pin_memory' THEN 1 ELSE 0 END AS pin_ops,
    0 AS pin_frames,
    0 AS worker_frames
  FROM spans
  WHERE step < 4 AND kind IN ('op', 'ann')
),

-- The loop of a thread is near the bottom of its stack, and older than the steps.
of_frames AS (
  SELECT
    rank,
    window,
    track_id,
    0 AS step_marks,
    0 AS backward_ops,
    0 AS outermost_ops,
    0 AS pin_ops,
    CASE WHEN ends_with(name, ': _pin_memory_loop') THEN 1 ELSE 0 END AS pin_frames,
    CASE WHEN ends_with(name, ': _worker_loop') THEN 1 ELSE 0 END AS worker_frames
  FROM spans
  WHERE kind = 'py' AND depth < 10 AND (ends_with(name, ': _pin_memory_loop') OR ends_with(name, ': _worker_loop'))
),

seen AS (
  SELECT
    rank,
    window,
    track_id,
    sum(step_marks) AS step_marks,
    sum(backward_ops) AS backward_ops,
    sum(outermost_ops) AS outermost_ops,
    sum(pin_ops) AS pin_ops,
    sum(pin_frames) AS pin_frames,
    sum(worker_frames) AS worker_frames
  FROM (SELECT * FROM of_steps UNION ALL SELECT * FROM of_frames)
  GROUP BY rank, window, track_id
),

threads AS (
  SELECT
    seen.*,
    track.process,
    track.thread,
    CASE
      -- Where the profiler marks steps, the program's loop runs.
      WHEN step_marks > 0 THEN 'step_marks'
      WHEN coalesce(thread_name, '') ~ 'pt_(autograd|data)' THEN NULL
      -- Linux gives the first thread of a process the number of the process.
      WHEN outermost_ops > 0 AND track.thread = track.process THEN 'process_id'
      WHEN outermost_ops > 0 AND backward_ops = 0 AND pin_ops = 0 AND pin_frames = 0 AND worker_frames = 0
        THEN 'most_operators'
    END AS main_from,
    CASE
      WHEN coalesce(thread_name, '') ~ 'pt_(autograd|data_pin|data_worker)' THEN 'thread_name'
      WHEN pin_frames > 0 OR worker_frames > 0 THEN 'python_frames'
      WHEN backward_ops > 0 THEN 'backward_operators'
      WHEN pin_ops > 0 THEN 'pin_memory_operators'
    END AS other_from,
    CASE
      WHEN coalesce(thread_name, '') LIKE '%pt_data_pin%' OR pin_frames > 0 THEN 'pin-memory thread'
      WHEN coalesce(thread_name, '') LIKE '%pt_data_worker%' OR worker_frames > 0 THEN 'DataLoader worker'
      WHEN coalesce(thread_name, '') LIKE '%pt_autograd%' OR backward_ops > 0 THEN 'autograd thread'
      ELSE 'pin-memory thread'
    END AS other
  FROM seen
  INNER JOIN tracks AS track
    ON track.rank = seen.rank AND track.window = seen.window AND track.track_id = seen.track_id
  WHERE track.type = 'thread'
),

-- A process has one main thread: the surest sign decides, then the most operators.
ranked AS (
  SELECT
    *,
    row_number() OVER (
      PARTITION BY rank, window, process
      ORDER BY
        CASE main_from WHEN 'step_marks' THEN 0 WHEN 'process_id' THEN 1 WHEN 'most_operators' THEN 2 ELSE 3 END,
        step_marks DESC,
        outermost_ops DESC,
        track_id
    ) AS place
  FROM threads
)

SELECT
  rank,
  window,
  track_id,
  process,
  thread,
  CASE WHEN place = 1 AND main_from IS NOT NULL THEN 'main thread' ELSE other END AS role,
  CASE WHEN place = 1 AND main_from IS NOT NULL THEN main_from ELSE other_from END AS role_from
FROM ranked
WHERE (place = 1 AND main_from IS NOT NULL) OR other_from IS NOT NULL
