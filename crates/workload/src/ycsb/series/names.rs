//! Names made of letters, in ascending order.

/// Letters in ascending order: `A` to `Z`, then `a` to `z`.
const LETTERS: &[u8; 52] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The number of different names with this many letters, up to the limit of the type.
pub(super) fn different(length: u64) -> u64 {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    (LETTERS.len() as u64).saturating_pow(length)
}

/// The first `count` names of `length` letters, as YCSB's `IncrementingPrintableStringGenerator`
/// makes them: `AAA`, `AAB` and so on.
pub(super) fn first(count: u64, length: u64) -> Vec<String> {
    (0..count).map(|number| name(number, length as usize)).collect()
}

fn name(mut number: u64, length: usize) -> String {
    let mut name = vec![LETTERS[0]; length];
    for letter in name.iter_mut().rev() {
        *letter = LETTERS[(number % LETTERS.len() as u64) as usize];
        number /= LETTERS.len() as u64;
    }
    name.into_iter().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_letter_counts_first() {
        let names = first(106, 2);
        assert_eq!(names[..2], ["AA", "AB"]);
        assert_eq!(names[51..54], ["Az", "BA", "BB"]);
        assert_eq!(names[105], "CB");
        assert_eq!((different(1), different(2), different(200)), (52, 2704, u64::MAX));
    }
}
