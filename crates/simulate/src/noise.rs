//! Small random differences that depend on nothing but their place.
//!
//! No state: a step can be played again, alone and on any thread, and everything in it takes as long as before.

/// A number in 0..1 for a place, the same one each time.
pub(crate) fn noise(seed: u64, place: [u64; 3]) -> f64 {
    let bits = place.iter().fold(mix(seed), |hash, part| mix(hash ^ part));
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// One step of `SplitMix64`, which turns near numbers into far ones.
pub(crate) fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::noise;

    #[test]
    fn noise_is_spread_and_repeatable() {
        let values: Vec<f64> = (0..1000).map(|place| noise(7, [0, 3, place])).collect();
        let mean = values.iter().sum::<f64>() / 1000.0;
        assert!((0.45..0.55).contains(&mean), "{mean}");
        assert!(values.iter().all(|value| (0.0..1.0).contains(value)));
        assert_eq!(noise(7, [0, 3, 5]).to_bits(), values[5].to_bits());
        assert_ne!(noise(8, [0, 3, 5]).to_bits(), values[5].to_bits());
    }
}
