//! Student's t distribution (NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.6.4).

use statrs::distribution::{ContinuousCDF, StudentsT};

fn law(freedom: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, freedom).ok()
}

/// The probability of a t at least this far from zero, with `freedom` degrees of freedom; 1 if
/// either is not a number, or there are no degrees of freedom.
pub fn two_sided(t: f64, freedom: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    law(freedom).filter(|_| !t.is_nan()).map_or(1.0, |law| 2.0 * law.sf(t.abs()))
}

/// The t that is exceeded, to either side, with probability `alarms`; infinite without degrees of
/// freedom.
pub fn t_quantile(alarms: f64, freedom: f64) -> f64 {
    law(freedom).map_or(f64::INFINITY, |law| law.inverse_cdf(1.0 - alarms / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The t with 5 % of the distribution farther out, from the e-Handbook's table (1.3.6.7.2).
    #[test]
    fn the_t_of_a_table() {
        for (freedom, critical) in
            [(1.0, 12.706), (2.0, 4.303), (5.0, 2.571), (11.0, 2.201), (30.0, 2.042)]
        {
            let chance = two_sided(critical, freedom);
            assert!((chance - 0.05).abs() < 5e-5, "{freedom}: {chance}");
            let t = t_quantile(0.05, freedom);
            assert!((t - critical).abs() < 6e-4, "{freedom}: {t}");
        }
        assert!((two_sided(f64::INFINITY, 5.0), two_sided(f64::NAN, 5.0)) == (0.0, 1.0));
        assert!((two_sided(2.0, 0.0), t_quantile(0.05, 0.0)) == (1.0, f64::INFINITY));
    }
}
