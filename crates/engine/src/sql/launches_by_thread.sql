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
WITH linked AS (
  SELECT backward.rank, backward.window, backward.track_id, backward.start_ns, forward.track_id AS for_track_id
  FROM (
    SELECT rank, window, track_id, start_ns, forward_id FROM spans WHERE kind = 'op' AND forward_id IS NOT NULL
  ) AS backward
  INNER JOIN (SELECT rank, window, span_id, track_id FROM spans WHERE kind = 'op') AS forward
    ON forward.rank = backward.rank AND forward.window = backward.window AND forward.span_id = backward.forward_id
  WHERE forward.track_id <> backward.track_id
),

links AS (
  SELECT *, row_number() OVER (PARTITION BY rank, window, track_id ORDER BY start_ns, for_track_id) AS number
  FROM linked
),

moments AS (
  SELECT rank, window, track_id, start_ns, span_id, step, device_events, device_total_ns, NULL AS link
  FROM launches
  UNION ALL
  SELECT rank, window, track_id, start_ns, NULL, NULL, NULL, NULL, number FROM links
),

-- Counted rather than looked up: `last_value` over so many rows takes ten times as long.
passed AS (
  SELECT
    *,
    count(link) OVER (
      PARTITION BY rank, window, track_id ORDER BY start_ns, span_id NULLS FIRST
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS links
  FROM moments
)

-- The latest link at or before a launch; before the first link of a thread, that one.
SELECT
  launch.rank,
  launch.window,
  launch.span_id,
  launch.start_ns,
  launch.track_id,
  link.for_track_id,
  launch.step,
  launch.device_events,
  launch.device_total_ns
FROM (SELECT * FROM passed WHERE span_id IS NOT NULL) AS launch
LEFT JOIN links AS link
  ON link.rank = launch.rank AND link.window = launch.window AND link.track_id = launch.track_id
    AND link.number = greatest(launch.links, 1)
