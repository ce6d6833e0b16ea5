-- One row per collective of a rank on its device, as in `metrics`; `all_collectives` has those of the host too.
-- rank: Rank of the process that recorded it.
-- window: Capture cycle of the rank, from 0.
-- process_group: Name of the process group; null when it was not recorded.
-- group_id: Id of the process group, from its name and ranks: equal on all of its ranks.
-- ordinal: Position among the collectives of its group on this rank, in the order of their launches, from 0; null when it cannot be compared with other ranks.
-- seq: Sequence number, as recorded.
-- step: Step of its launch.
-- collective: all_reduce, all_gather, reduce_scatter, broadcast… or unknown.
-- start_ns: Start of the kernel.
-- dur_ns: Duration: transfer, and waiting for the other ranks.
-- launch_ns: Start of the call that launched it; null when that was before the trace began.
-- span_id: The kernel.
-- position: Position of its event in the file, from 0.
-- device_id: Device of the kernel.
-- stream_id: Stream of the kernel.
-- kernel: Name of the kernel.
-- process_group_ranks: Ranks of the process group, as recorded.
-- group_size: Ranks in the process group.
-- dtype: Element type, as recorded.
-- message_bytes: Bytes of the message on this rank, as nccl-tests count them.
-- bytes_from: Where the bytes come from: metadata or input shapes.
-- bytes_missing: Why the bytes are not known.
-- named_by: What names the collective: kernel, span, span_name or kernel_name.
SELECT
  rank,
  window,
  process_group,
  group_id,
  ordinal,
  seq,
  step,
  collective,
  start_ns,
  dur_ns,
  launch_ns,
  span_id,
  position,
  device_id,
  stream_id,
  kernel,
  process_group_ranks,
  group_size,
  dtype,
  message_bytes,
  bytes_from,
  bytes_missing,
  named_by
FROM all_collectives
WHERE NOT is_host
