//! What the devices of a trace can do, as far as advice depends on it.

use stepscope_model::Device;

/// Who made a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// Its runtime is CUDA.
    Nvidia,
    /// Its runtime is `ROCm`.
    Amd,
}

/// A format of numbers that tensor or matrix cores may compute in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberFormat {
    /// Half precision.
    Fp16,
    /// Half the bits, the range of fp32.
    Bf16,
    /// fp32 with the fraction of fp16.
    Tf32,
}

/// The devices. A run has one kind of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hardware {
    /// Who made them; none where neither their name nor the program tells.
    pub vendor: Option<Vendor>,
    /// What they call themselves.
    pub name: Option<String>,
    /// Major compute capability. AMD's runtime fills it with the number of the architecture, which means another thing.
    compute_major: Option<i64>,
}

/// Words of the names of devices, in lower case.
const NVIDIA: [&str; 5] = ["nvidia", "tesla", "quadro", "geforce", "titan"];
const AMD: [&str; 3] = ["amd", "radeon", "instinct"];
/// The first words of AMD's devices with matrix cores.
const AMD_MATRIX: [&str; 3] = ["mi1", "mi2", "mi3"];

impl Vendor {
    pub(crate) fn as_text(self) -> &'static str {
        match self {
            Self::Nvidia => "NVIDIA",
            Self::Amd => "AMD",
        }
    }

    /// What it calls the units that multiply matrices.
    pub(crate) fn matrix_units(self) -> &'static str {
        match self {
            Self::Nvidia => "tensor cores",
            Self::Amd => "matrix cores",
        }
    }
}

impl NumberFormat {
    pub(crate) fn as_text(self) -> &'static str {
        match self {
            Self::Fp16 => "fp16",
            Self::Bf16 => "bf16",
            Self::Tf32 => "TF32",
        }
    }
}

impl Hardware {
    /// Of the devices in the header; where they have no name, `calls` says whose runtime the program calls.
    #[must_use]
    pub fn of(devices: &[&Device], calls: Option<Vendor>) -> Self {
        let name = devices.iter().filter_map(|device| device.name.clone()).find(|name| !name.is_empty());
        let words = name.as_deref().map(words_of).unwrap_or_default();
        let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        let vendor = if has(&NVIDIA) {
            Some(Vendor::Nvidia)
        } else if has(&AMD) {
            Some(Vendor::Amd)
        } else {
            calls
        };
        Self { vendor, name, compute_major: devices.iter().find_map(|device| device.compute_major) }
    }

    /// Whether its tensor or matrix cores compute in that format. What is not known is no.
    #[must_use]
    pub fn computes(&self, format: NumberFormat) -> bool {
        match self.vendor {
            Some(Vendor::Nvidia) => {
                let least = if format == NumberFormat::Fp16 { 7 } else { 8 };
                self.compute_major.is_some_and(|major| major >= least)
            }
            // TF32 needs settings that differ from one generation to the next.
            Some(Vendor::Amd) => {
                let words = self.name.as_deref().map(words_of).unwrap_or_default();
                let is_model = |word: &String| {
                    let digits = word.trim_start_matches("mi").chars().take_while(char::is_ascii_digit).count();
                    digits >= 3 && AMD_MATRIX.iter().any(|start| word.starts_with(start))
                };
                format != NumberFormat::Tf32 && words.iter().any(is_model)
            }
            None => false,
        }
    }
}

fn words_of(name: &str) -> Vec<String> {
    let lower = name.to_ascii_lowercase();
    lower.split(|letter: char| !letter.is_ascii_alphanumeric()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_known_by_name_and_capability() {
        use NumberFormat::{Bf16, Fp16, Tf32};
        use Vendor::{Amd, Nvidia};
        let check = |name: &str, major: Option<i64>, calls, vendor, formats: &[NumberFormat]| {
            let device = Device { name: Some(name.to_owned()), compute_major: major, ..Device::default() };
            let hardware = Hardware::of(&[&device], calls);
            let computes = [Fp16, Bf16, Tf32].into_iter().filter(|format| hardware.computes(*format));
            assert_eq!((hardware.vendor, &computes.collect::<Vec<_>>()[..]), (vendor, formats), "{name}");
        };
        check("Tesla V100-SXM2-16GB", Some(7), None, Some(Nvidia), &[Fp16]);
        check("NVIDIA GeForce RTX 2080 Ti", Some(7), None, Some(Nvidia), &[Fp16]);
        check("Quadro GP100", Some(6), None, Some(Nvidia), &[]);
        check("NVIDIA A100-SXM4-80GB", Some(8), None, Some(Nvidia), &[Fp16, Bf16, Tf32]);
        // AMD's 9.4 is gfx94x, not what NVIDIA calls 9.0.
        check("AMD Instinct MI300X VF", Some(9), None, Some(Amd), &[Fp16, Bf16]);
        check("AMD Instinct MI100", Some(9), None, Some(Amd), &[Fp16, Bf16]);
        check("AMD Instinct MI250X", Some(9), None, Some(Amd), &[Fp16, Bf16]);
        check("AMD Instinct MI50", Some(9), None, Some(Amd), &[]);
        check("Radeon Instinct MI25", Some(9), None, Some(Amd), &[]);
        check("AMD Radeon Pro 580", Some(8), None, Some(Amd), &[]);
        check("AMD Radeon Graphics", Some(9), None, Some(Amd), &[]);
        // A name that is not there, or of another vendor.
        check("", Some(9), Some(Amd), Some(Amd), &[]);
        check("", Some(9), Some(Nvidia), Some(Nvidia), &[Fp16, Bf16, Tf32]);
        check("ARTEMIS", None, None, None, &[]);
        check("ARTEMIS", Some(9), None, None, &[]);
        // What a device calls itself says more than the runtime.
        check("AMD Instinct MI300X", Some(9), Some(Nvidia), Some(Amd), &[Fp16, Bf16]);
        check("NVIDIA A100", None, None, Some(Nvidia), &[]);
    }

    #[test]
    fn the_first_device_that_says_something_stands_for_all() {
        let device = |name: Option<&str>, compute_major| Device {
            name: name.map(str::to_owned),
            compute_major,
            ..Device::default()
        };
        let devices = [device(None, None), device(Some(""), None), device(Some("NVIDIA H100"), Some(9))];
        let hardware = Hardware::of(&devices.each_ref(), None);
        assert_eq!((hardware.vendor, hardware.name.as_deref()), (Some(Vendor::Nvidia), Some("NVIDIA H100")));
        assert!(hardware.computes(NumberFormat::Tf32));
        assert_eq!(Hardware::of(&[], None), Hardware::default());
    }
}
