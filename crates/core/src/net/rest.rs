//! Pauses that grow with each consecutive failure, so that an unavailable server is not flooded.

use std::time::Duration;

/// The first pause.
const FIRST: Duration = Duration::from_millis(10);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(1);

/// The pause after this many consecutive failures: none, then 10 ms, doubling each time up to a
/// second.
pub fn rest_after(failures: u32) -> Duration {
    let Some(doublings) = failures.checked_sub(1) else { return Duration::ZERO };
    (FIRST * (1 << doublings.min(7))).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_second() {
        let ms = |failures| rest_after(failures).as_millis();
        let pauses: Vec<_> = (0..10).map(ms).collect();
        assert_eq!(pauses, [0, 10, 20, 40, 80, 160, 320, 640, 1_000, 1_000]);
        assert_eq!(ms(u32::MAX), 1_000);
    }
}
