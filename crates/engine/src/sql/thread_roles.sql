-- One row a thread whose part in the program follows from what ran on it.
-- rank: Rank of the process that recorded it.
-- window: Which of the rank's recordings this is, from 0.
-- track_id: Number of the track in this source.
-- process: pid as recorded.
-- thread: tid as recorded.
-- role: main thread, autograd thread, DataLoader worker or pin-memory thread.
-- role_from: What tells: step_marks, process_id, most_operators, backward_operators, thread_name, python_frames or pin_memory_operators.
WITH seen AS (
  SELECT
    rank,
    window,
    track_id,
    count(*) FILTER (WHERE kind = 'ann' AND starts_with(name, 'ProfilerStep#')) AS step_marks,
    count(*) FILTER (
      WHERE forward_id IS NOT NULL OR (kind = 'op' AND starts_with(name, 'autograd::engine::evaluate_function'))
    ) AS backward_ops,
    count(*) FILTER (WHERE kind = 'op' AND parent_op_id IS NULL) AS outermost_ops,
    count(*) FILTER (WHERE kind = 'op' AND parent_op_id IS NULL AND name = 'aten::pin_memory') AS pin_ops,
    count(*) FILTER (WHERE kind = 'py' AND ends_with(name, ': _pin_memory_loop')) AS pin_frames,
    count(*) FILTER (WHERE kind = 'py' AND ends_with(name, ': _worker_loop')) AS worker_frames
  FROM spans
  -- The loop of a thread is near the bottom of its stack.
  WHERE kind IN ('op', 'ann') OR (kind = 'py' AND depth < 10)
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
