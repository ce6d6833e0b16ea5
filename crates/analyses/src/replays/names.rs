//! What the names of spans and events say, as far as rules depend on it.

/// A kernel that does what one elementwise operator or one reduction asks for: not one that a compiler made.
pub(super) fn is_fusible(kernel: &str) -> bool {
    !kernel.starts_with("triton_") && (kernel.contains("elementwise_kernel") || kernel.contains("reduce_kernel"))
}

/// A copy from the device to itself.
pub(super) fn is_copy_on_device(copy: &str) -> bool {
    copy.contains("DtoD") || copy.contains("Device -> Device")
}

/// An operator that makes another type or layout of what is there.
pub(super) fn is_cast(operator: &str) -> bool {
    ["aten::_to_copy", "aten::contiguous", "aten::clone"].contains(&operator)
}

/// A copy to the device from memory that the system does not move.
pub(super) fn is_pinned_copy_to_device(copy: &str) -> bool {
    copy.contains("HtoD") && !copy.contains("Pageable")
}

/// An operator that needs a value of the device on the host.
pub(super) fn is_scalar_read(operator: &str) -> bool {
    ["aten::item", "aten::_local_scalar_dense", "aten::nonzero"].contains(&operator)
}

/// An operator that does nothing but read a value of the device on the host.
pub(super) fn is_item(operator: &str) -> bool {
    ["aten::item", "aten::_local_scalar_dense"].contains(&operator)
}

/// A runtime call that takes memory or gives it back.
pub(super) fn is_allocator_call(call: &str) -> bool {
    let is_runtime = ["cuda", "hip", "cu"].iter().any(|prefix| call.starts_with(prefix));
    is_runtime && ["Malloc", "MemAlloc", "MemFree", "HostAlloc", "Free"].iter().any(|part| call.contains(part))
}

/// An annotation of a loader that gives a batch.
pub(super) fn is_loader(annotation: &str) -> bool {
    annotation.starts_with("enumerate(Data")
}

/// A span that compiles code, or loads it onto the device.
pub(super) fn is_compiling(span: &str) -> bool {
    ["dynamo_timed", "ModuleLoad", "LibraryLoadData", "backend_compile", "::Compile"]
        .iter()
        .any(|part| span.contains(part))
}

/// An annotation of communication that the host does itself.
pub(super) fn is_host_collective(annotation: &str) -> bool {
    ["gloo:", "mpi:", "ucc:"].iter().any(|backend| annotation.starts_with(backend))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(is_so: fn(&str) -> bool, those: &[&str], others: &[&str]) {
        for (names, want) in [(those, true), (others, false)] {
            for name in names {
                assert_eq!(is_so(name), want, "{name}");
            }
        }
    }

    #[test]
    fn kernels_and_copies_are_known_by_name() {
        let add = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>";
        let sum = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>";
        let many = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<T>";
        check(is_fusible, &[add, sum], &["triton_poi_fused_elementwise_kernel_0", "ampere_sgemm", many]);
        check(is_copy_on_device, &["Memcpy DtoD (Device -> Device)"], &["Memcpy HtoD (Pinned -> Device)"]);
        check(
            is_pinned_copy_to_device,
            &["Memcpy HtoD (Pinned -> Device)", "CopyHostToDevice HtoD"],
            &["Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH (Device -> Pinned)"],
        );
    }

    #[test]
    fn operators_and_calls_are_known_by_name() {
        check(is_cast, &["aten::_to_copy", "aten::clone"], &["aten::copy_", "aten::to"]);
        check(is_scalar_read, &["aten::item", "aten::nonzero"], &["aten::is_nonzero", "item"]);
        check(
            is_allocator_call,
            &["cudaMalloc", "hipFree", "cudaHostAlloc", "cuMemAlloc_v2", "cudaFreeHost"],
            &["cudaLaunchKernel", "aten::Free", "cudaMemcpyAsync"],
        );
        check(
            is_compiling,
            &[
                "_compile.compile_inner (dynamo_timed)",
                "cuModuleLoadData",
                "cuLibraryLoadData",
                "hipModuleLoad",
                "backend_compile_and_load",
                "PjRtCpuClient::Compile",
            ],
            &["Torch-Compiled Region: 0/0", "CompiledFunction"],
        );
        check(is_loader, &["enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"], &["DataLoader"]);
        check(is_host_collective, &["gloo:all_reduce", "mpi:send"], &["nccl:all_reduce"]);
    }
}
