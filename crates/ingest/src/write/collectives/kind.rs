//! What follows from names and types alone: which collective it is, how large an element is, and how its bandwidth
//! compares with that of the wire.

use serde_json::Value as Json;

/// Parts of names, and the collective that they mean. The first one that fits counts.
const NAMES: [(&str, &str); 12] = [
    ("allreduce", "all_reduce"),
    ("reducescatter", "reduce_scatter"),
    ("allgather", "all_gather"),
    ("alltoall", "all_to_all"),
    ("sendrecv", "send_recv"),
    ("broadcast", "broadcast"),
    ("reduce", "reduce"),
    ("send", "send"),
    ("recv", "recv"),
    ("gather", "gather"),
    ("scatter", "scatter"),
    ("barrier", "barrier"),
];

/// How many kinds there are, with that of names that say nothing.
pub(super) const KINDS: usize = NAMES.len() + 1;

/// Libraries whose calls are annotated as `nccl:all_reduce`.
const BACKENDS: [&str; 3] = ["nccl:", "xccl:", "hccl:"];

/// The collective that a name speaks of, however it is spelled.
pub(super) fn collective(name: &str) -> Option<&'static str> {
    let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    NAMES.into_iter().find(|(part, _)| letters.contains(part)).map(|(_, collective)| collective)
}

/// The place of a name's collective among the kinds.
pub(super) fn place(name: &str) -> usize {
    let found = collective(name);
    NAMES.iter().position(|(_, collective)| Some(*collective) == found).unwrap_or(NAMES.len())
}

/// Whether a span is the call of a library that transfers on the device.
pub(super) fn is_backend_call(name: &str) -> bool {
    BACKENDS.iter().any(|backend| name.starts_with(backend))
}

/// Bus bandwidth by algorithm bandwidth, as nccl-tests define it: what a link carries for each byte of the message.
#[must_use]
pub fn bus_factor(collective: &str, ranks: Option<i64>) -> Option<f64> {
    let others = || ranks.filter(|&ranks| ranks != 0).map(|ranks| (ranks - 1) as f64 / ranks as f64);
    match collective {
        "broadcast" | "reduce" | "send_recv" | "send" | "recv" => Some(1.0),
        "all_reduce" => others().map(|share| 2.0 * share),
        "all_gather" | "reduce_scatter" | "all_to_all" | "gather" | "scatter" => others(),
        _ => None,
    }
}

/// Size of an element, by the names that frameworks and libraries have for its type.
pub(super) fn element_bytes(dtype: &str) -> Option<i64> {
    let lower = dtype.to_ascii_lowercase();
    match lower.strip_prefix("c10::").unwrap_or(&lower) {
        "double" | "float64" | "long" | "long int" | "int64" | "unsigned long" | "uint64" | "complex64" => Some(8),
        "float" | "float32" | "int" | "int32" | "unsigned int" | "uint32" => Some(4),
        "half" | "float16" | "bfloat16" | "short" | "int16" => Some(2),
        "char" | "signed char" | "int8" | "byte" | "unsigned char" | "uint8" | "bool" | "float8_e4m3fn"
        | "float8_e5m2" | "float8_e4m3fnuz" | "float8_e5m2fnuz" => Some(1),
        _ => None,
    }
}

/// The first type of a call that is one of elements, from its types as a JSON list.
pub(super) fn first_dtype(input_types: &str) -> Option<String> {
    let types: Vec<String> = serde_json::from_str(input_types).ok()?;
    types.into_iter().find(|dtype| element_bytes(dtype).is_some())
}

/// Bytes of all tensors of a call, from its shapes and types as JSON lists. None if any part is not known.
pub(super) fn bytes_of_inputs(input_dims: &str, input_types: &str) -> Option<i64> {
    let shapes: Vec<Json> = serde_json::from_str(input_dims).ok()?;
    let types: Vec<Json> = serde_json::from_str(input_types).ok()?;
    if shapes.len() != types.len() {
        return None;
    }
    let mut bytes = 0_i64;
    for (shape, dtype) in shapes.iter().zip(&types) {
        let shape = shape.as_array()?;
        // Scalars and what is not a tensor have an empty shape.
        if shape.is_empty() {
            continue;
        }
        let size = element_bytes(dtype.as_str()?)?;
        let tensor = shape.iter().try_fold(size, |product, length| product.checked_mul(length.as_i64()?))?;
        bytes = bytes.checked_add(tensor)?;
    }
    (bytes != 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{bus_factor, bytes_of_inputs, collective, element_bytes, is_backend_call};

    #[test]
    fn names_are_recognized_in_any_spelling() {
        for (name, want) in [
            ("nccl:all_reduce", Some("all_reduce")),
            ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", Some("all_reduce")),
            ("_allgather_base", Some("all_gather")),
            ("reduce_scatter_tensor_coalesced", Some("reduce_scatter")),
            ("ncclKernel_SendRecv_RING_SIMPLE", Some("send_recv")),
            ("all_to_allv", Some("all_to_all")),
            ("nccl:recv 0<-1", Some("recv")),
            // A plain reduce is told after the names that contain it, a gather after all_gather.
            ("ncclDevKernel_Reduce_Sum", Some("reduce")),
            ("nccl:gather", Some("gather")),
            ("wait", None),
            ("", None),
        ] {
            assert_eq!(collective(name), want, "{name}");
        }
    }

    #[test]
    fn calls_of_backends_are_annotated() {
        assert!(["nccl:all_reduce", "xccl:send", "hccl:broadcast"].into_iter().all(is_backend_call));
        assert!(!["c10d::allreduce_", "gloo:all_reduce", "my nccl: wrapper", ""].into_iter().any(is_backend_call));
    }

    #[test]
    fn a_wire_carries_more_or_less_than_the_message() {
        for (collective, ranks, want) in [
            ("all_reduce", Some(4), Some(1.5)),
            ("all_gather", Some(4), Some(0.75)),
            ("all_to_all", Some(1), Some(0.0)),
            ("broadcast", None, Some(1.0)),
            // The number of ranks is not known, or makes no sense.
            ("all_reduce", None, None),
            ("reduce_scatter", Some(0), None),
            ("barrier", Some(8), None),
            ("unknown", Some(8), None),
        ] {
            assert_eq!(bus_factor(collective, ranks), want, "{collective} of {ranks:?}");
        }
    }

    #[test]
    fn sizes_of_elements() {
        for (dtype, want) in [
            ("BFloat16", Some(2)),
            ("c10::BFloat16", Some(2)),
            ("long int", Some(8)),
            ("Float8_e4m3fn", Some(1)),
            ("c10::Float8_e5m2fnuz", Some(1)),
            ("QInt7", None),
            ("", None),
        ] {
            assert_eq!(element_bytes(dtype), want, "{dtype}");
        }
    }

    #[test]
    fn bytes_of_the_tensors_of_a_call() {
        for (dims, types, want) in [
            ("[[2,3],[]]", r#"["float","Scalar"]"#, Some(24)),
            ("[[2,3],[5]]", r#"["c10::Half","double"]"#, Some(52)),
            // A list of tensors is a shape of shapes.
            ("[[[2,3],[4]]]", r#"["float"]"#, None),
            ("[[2,3],[4]]", r#"["float","TensorList"]"#, None),
            ("[[2,3]]", r#"["float","float"]"#, None),
            // Nothing that could be counted, and a product beyond 64 bits.
            ("[[],[]]", r#"["Scalar","Scalar"]"#, None),
            ("[[0,3]]", r#"["float"]"#, None),
            ("[[4294967296,4294967296]]", r#"["float"]"#, None),
            ("{}", "[]", None),
        ] {
            assert_eq!(bytes_of_inputs(dims, types), want, "{dims} {types}");
        }
    }
}
