-- One row per call of a framework operator on the host.
-- rank: Rank of the process that recorded it.
-- window: Capture cycle of the rank, from 0.
-- span_id: Id of the span in its trace.
-- track_id: Thread it is on.
-- start_ns: Start.
-- end_ns: End.
-- dur_ns: Length.
-- self_ns: Duration minus operators and runtime calls below it.
-- depth: How many host spans enclose it.
-- name: Name of the operator.
-- step: Step it belongs to.
-- parent_op_id: Nearest enclosing operator.
-- parent_op_name: Name of that operator.
-- module_id: Nearest enclosing module call.
-- sequence_number: Autograd's number, shared by forward and backward.
-- forward_id: For backward operators, the forward operator.
-- input_dims: Shapes of the inputs, as a JSON list.
-- input_types: Types of the inputs, as a JSON list.
SELECT
  op.rank,
  op.window,
  op.span_id,
  op.track_id,
  op.start_ns,
  op.start_ns + op.dur_ns AS end_ns,
  op.dur_ns,
  op.self_ns,
  op.depth,
  op.name,
  op.step,
  op.parent_op_id,
  parent.name AS parent_op_name,
  op.module_id,
  op.sequence_number,
  op.forward_id,
  op.input_dims,
  op.input_types
FROM spans AS op
LEFT JOIN (SELECT rank, window, span_id, name FROM spans WHERE kind = 'op') AS parent
  ON parent.rank = op.rank AND parent.window = op.window AND parent.span_id = op.parent_op_id
WHERE op.kind = 'op' AND op.phase = 'X'
