//! What devices can compute at most, by name: dense matrix products on tensor or matrix cores (metrics, section 15).

/// A device whose peak is known.
#[derive(Debug)]
struct Peak {
    /// What its name contains, in lower case.
    name: &'static str,
    /// Operations a second.
    flops_per_s: f64,
    /// The type that the peak is for.
    dtype: &'static str,
}

/// Longer names stand before the names that they contain.
const PEAKS: [Peak; 24] = [
    peak("b300", 2250e12, "bf16"),
    peak("gb200", 2500e12, "bf16"),
    peak("b200", 2250e12, "bf16"),
    peak("gh200", 989e12, "bf16"),
    peak("h200", 989e12, "bf16"),
    peak("h100 pcie", 756e12, "bf16"),
    peak("h100 nvl", 835e12, "bf16"),
    peak("h100", 989e12, "bf16"),
    peak("h20", 148e12, "bf16"),
    peak("a100", 312e12, "bf16"),
    peak("a800", 312e12, "bf16"),
    peak("a40", 149.7e12, "bf16"),
    peak("a30", 165e12, "bf16"),
    peak("a10g", 70e12, "bf16"),
    peak("a10", 125e12, "bf16"),
    peak("l40s", 362e12, "bf16"),
    peak("l40", 181e12, "bf16"),
    peak("l4", 121e12, "bf16"),
    peak("v100", 125e12, "fp16"),
    peak("t4", 65e12, "fp16"),
    peak("mi300x", 1307e12, "bf16"),
    peak("mi325x", 1307e12, "bf16"),
    peak("mi250", 383e12, "bf16"),
    peak("mi210", 181e12, "bf16"),
];

const fn peak(name: &'static str, flops_per_s: f64, dtype: &'static str) -> Peak {
    Peak { name, flops_per_s, dtype }
}

/// The peak of a device, and the type it is for; none for a name that is not known, never that of another device.
pub(crate) fn peak_of(device: &str) -> Option<(f64, &'static str)> {
    let lower = device.to_ascii_lowercase();
    let words: Vec<&str> = lower.split(|letter: char| !letter.is_ascii_alphanumeric()).collect();
    let is_it = |peak: &&Peak| {
        // Whole words only: "a10" is not "a100", "l4" is not "l40s".
        peak.name.split(' ').all(|word| words.contains(&word))
    };
    PEAKS.iter().find(is_it).map(|peak| (peak.flops_per_s, peak.dtype))
}

#[cfg(test)]
mod tests {
    use super::peak_of;

    #[test]
    fn devices_are_told_apart_by_whole_words() {
        let peak = |name: &str| peak_of(name).map(|(flops, _)| flops / 1e12);
        assert_eq!(peak("NVIDIA A100-SXM4-80GB"), Some(312.0));
        assert_eq!(peak("Tesla V100-DGXS-32GB"), Some(125.0));
        assert_eq!(peak("NVIDIA H100 PCIe"), Some(756.0));
        assert_eq!(peak("NVIDIA H100 80GB HBM3"), Some(989.0));
        assert_eq!(peak("NVIDIA L40S"), Some(362.0));
        assert_eq!(peak("AMD Instinct MI300X"), Some(1307.0));
        assert_eq!(peak(""), None);
        assert_eq!(peak("NVIDIA A1000"), None);
    }
}
