-- One row per allocation or free, with the level of its device's memory after it and what happened to its block.
-- rank: Rank of the process that recorded it.
-- window: Capture cycle of the rank, from 0.
-- device: cpu or an allocator of the host, gpu0 or xla0 and so on, or the number of its type and its own.
-- track_id: Thread that allocated or freed.
-- ts_ns: When; null where only the order is recorded.
-- event_index: The profiler's own number of the event; -1 when it has none.
-- position: Position of the event in the file, from 0.
-- size_bytes: Bytes: positive for an allocation, negative for a free; without a size, a free has that of the allocation before it at its address, else 0.
-- level_bytes: Sum of the bytes of the device since the trace began.
-- total_allocated_bytes: Bytes in use on the device after it; null in old traces.
-- total_reserved_bytes: Bytes held by the allocator after it; null in old traces.
-- address: Address of the block; null in old traces.
-- size_before_bytes: Bytes of the event before it at this address; null when there is none.
-- size_after_bytes: Bytes of the event after it at this address; null when there is none.
-- operator_id: Innermost operator of the thread at that time.
WITH events AS (
  SELECT
    rank,
    window,
    CASE
      WHEN device_type = 0 THEN coalesce(allocator, 'cpu')
      WHEN device_type = 9 THEN concat('xla', coalesce(CAST(device_id AS varchar), 'None'))
      WHEN device_type IN (1, 6) THEN concat('gpu', coalesce(CAST(device_id AS varchar), 'None'))
      ELSE concat('type', coalesce(CAST(device_type AS varchar), 'None'), ':', coalesce(CAST(device_id AS varchar), 'None'))
    END AS device,
    track_id,
    ts_ns,
    coalesce(event_index, -1) AS event_index,
    position,
    action,
    size_bytes,
    total_allocated_bytes,
    total_reserved_bytes,
    address,
    operator_id
  FROM memory_events
  -- Snapshots also tell when a free has completed, and what the allocator asks the device for.
  WHERE action IS NULL OR action IN ('alloc', 'free', 'free_requested')
),
sized AS (
  SELECT
    rank,
    window,
    device,
    track_id,
    ts_ns,
    event_index,
    position,
    -- Allocators of TPUs free an address without saying how much was there.
    coalesce(
      size_bytes,
      CASE WHEN action = 'free' THEN -greatest(lag(size_bytes) OVER (
        PARTITION BY rank, window, device, address ORDER BY ts_ns, event_index, position
      ), 0) END,
      0
    ) AS size_bytes,
    total_allocated_bytes,
    total_reserved_bytes,
    address,
    operator_id
  FROM events
)
SELECT
  rank,
  window,
  device,
  track_id,
  ts_ns,
  event_index,
  position,
  size_bytes,
  sum(size_bytes) OVER (PARTITION BY rank, window, device ORDER BY ts_ns, event_index, position) AS level_bytes,
  total_allocated_bytes,
  total_reserved_bytes,
  address,
  lag(size_bytes) OVER (
    -- Events that change nothing are apart, so that they do not come between.
    PARTITION BY rank, window, device, address, size_bytes = 0 ORDER BY ts_ns, event_index, position
  ) AS size_before_bytes,
  lead(size_bytes) OVER (
    PARTITION BY rank, window, device, address, size_bytes = 0 ORDER BY ts_ns, event_index, position
  ) AS size_after_bytes,
  operator_id
FROM sized
