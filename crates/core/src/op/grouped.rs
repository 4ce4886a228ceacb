//! Whole numbers as people read them.

/// A whole number with its digits in groups of three, with `,` between them in any locale.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_in_groups_of_three() {
        assert_eq!([0, 999].map(grouped), ["0", "999"]);
        assert_eq!([1_000, 12_345, 374_240_177].map(grouped), ["1,000", "12,345", "374,240,177"]);
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }
}
