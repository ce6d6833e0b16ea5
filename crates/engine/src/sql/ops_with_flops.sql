-- One row per call of an operator whose FLOPs follow from its recorded shapes. Calls below one another count the same work again.
-- rank: Rank of the process that recorded it.
-- window: Capture cycle of the rank, from 0.
-- span_id: Id of the span in its trace.
-- parent_op_id: Nearest enclosing operator.
-- start_ns: Start.
-- dur_ns: Length.
-- position: Position of the event in the file, from 0.
-- name: Name of the operator.
-- step: Step it belongs to.
-- input_dims: Shapes of the inputs, as a JSON list.
-- flops: What the call computes; a multiply and an add are two.
SELECT
  rank,
  window,
  span_id,
  parent_op_id,
  start_ns,
  dur_ns,
  position,
  name,
  step,
  input_dims,
  op_flops(name, input_dims, concrete_inputs) AS flops
FROM spans
WHERE kind = 'op' AND phase = 'X' AND input_dims IS NOT NULL
  AND name IN (
    'aten::mm', 'aten::addmm', 'aten::bmm', 'aten::baddbmm', 'aten::linear',
    'aten::convolution', 'aten::_convolution', 'aten::convolution_overrideable', 'aten::convolution_backward',
    'aten::scaled_dot_product_attention', 'aten::_scaled_dot_product_flash_attention',
    'aten::_scaled_dot_product_efficient_attention', 'aten::_scaled_dot_product_cudnn_attention',
    'aten::_scaled_dot_product_flash_attention_backward', 'aten::_scaled_dot_product_efficient_attention_backward',
    'aten::_scaled_dot_product_cudnn_attention_backward',
    'aten::_scaled_dot_product_flash_attention_for_cpu',
    'aten::_scaled_dot_product_flash_attention_for_cpu_backward',
    'aten::_scaled_dot_product_fused_attention_overrideable',
    'aten::_scaled_dot_product_fused_attention_overrideable_backward'
  )
  AND op_flops(name, input_dims, concrete_inputs) > 0
