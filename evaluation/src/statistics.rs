//! Medians and percentiles.

/// The value below which `part` (0 to 1) of the samples lie; 0 for none.
pub fn quantile(samples: &[f64], part: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let index = ((sorted.len() as f64 - 1.0) * part).round().max(0.0) as usize;
    sorted.get(index).copied().unwrap_or(0.0)
}

/// The middle one.
pub fn median(samples: &[f64]) -> f64 {
    quantile(samples, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_samples() {
        let samples = [5.0, 1.0, 3.0, 2.0, 4.0];
        assert_eq!(median(&samples), 3.0);
        assert_eq!(quantile(&samples, 0.0), 1.0);
        assert_eq!(quantile(&samples, 0.99), 5.0);
        assert_eq!(median(&[]), 0.0);
    }
}
