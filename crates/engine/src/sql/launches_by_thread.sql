-- One row per launch, with the thread that calls and the thread that autograd works for.
-- rank: Rank of the process that recorded it.
-- window: Capture cycle of the rank, from 0.
-- span_id: The call in `spans`.
-- start_ns: Start of the call.
-- track_id: Thread of the call.
-- for_track_id: On an autograd thread, the thread that ran the forward operators of its latest linked operator; else null.
-- step: Step of the call.
-- device_events: How many device events it launched.
-- device_total_ns: Time of all of them.
WITH links AS (
  SELECT backward.rank, backward.window, backward.track_id, backward.start_ns, forward.track_id AS for_track_id
  FROM (
    SELECT rank, window, track_id, start_ns, forward_id FROM spans WHERE kind = 'op' AND forward_id IS NOT NULL
  ) AS backward
  INNER JOIN (SELECT rank, window, span_id, track_id FROM spans WHERE kind = 'op') AS forward
    ON forward.rank = backward.rank AND forward.window = backward.window AND forward.span_id = backward.forward_id
  WHERE forward.track_id <> backward.track_id
),

moments AS (
  SELECT rank, window, track_id, start_ns, span_id, step, device_events, device_total_ns, CAST(NULL AS INT) AS for_track_id
  FROM launches
  UNION ALL
  SELECT rank, window, track_id, start_ns, NULL, NULL, NULL, NULL, for_track_id FROM links
),

-- The latest link at or before a launch; before the first link of a thread, that one.
known AS (
  SELECT
    *,
    last_value(for_track_id) IGNORE NULLS OVER (
      PARTITION BY rank, window, track_id ORDER BY start_ns, span_id NULLS FIRST
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS latest_track_id,
    first_value(for_track_id) IGNORE NULLS OVER (
      PARTITION BY rank, window, track_id ORDER BY start_ns, span_id NULLS FIRST
      ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
    ) AS first_track_id
  FROM moments
)

SELECT
  rank,
  window,
  span_id,
  start_ns,
  track_id,
  coalesce(latest_track_id, first_track_id) AS for_track_id,
  step,
  device_events,
  device_total_ns
FROM known
WHERE span_id IS NOT NULL
