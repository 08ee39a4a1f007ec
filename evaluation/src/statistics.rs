//! Medians, percentiles and ranges.

use serde::Serialize;

/// Several measurements of one thing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Spread {
    /// Zeros for no sample.
    pub fn of(samples: &[f64]) -> Self {
        Self {
            median: median(samples),
            least: quantile(samples, 0.0),
            most: quantile(samples, 1.0),
        }
    }

    /// The median, and the range where there is one.
    pub fn show(&self, show: impl Fn(f64) -> String) -> String {
        let (least, most) = (show(self.least), show(self.most));
        if least == most {
            return least;
        }
        format!("{} ({least} to {most})", show(self.median))
    }
}

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

    #[test]
    fn a_range_is_shown_where_there_is_one() {
        let show = |value: f64| format!("{value:.0} ms");
        assert_eq!(
            Spread::of(&[2.0, 9.0, 3.0]).show(show),
            "3 ms (2 ms to 9 ms)"
        );
        assert_eq!(Spread::of(&[2.1, 2.2]).show(show), "2 ms");
    }
}
