//! The servers named by the user: any one that answers will do.

use super::connection::Setback;
use std::time::Duration;

/// How long each of several seeds may take. They are asked for little.
const MOST_TIME: Duration = Duration::from_secs(3);

/// Asks the seeds, one after the other, within `timeout_ns` in total. A silent seed leaves time for
/// the others: hosts of a quorum often run no HBase server and drop whatever is sent there.
///
/// # Errors
/// Returns the error of the first seed if none answers.
pub(super) async fn first_of<T>(
    seeds: &[String],
    timeout_ns: u64,
    ask: impl AsyncFn(&str) -> Result<T, Setback>,
) -> Result<T, Setback> {
    let share = Duration::from_nanos(timeout_ns / (seeds.len() as u64 + 1));
    let each = if seeds.len() > 1 { share.min(MOST_TIME) } else { share };
    let mut first = None;
    for seed in seeds {
        let silent = |_| Err(Setback::NotYet(format!("no answer from {seed} in {each:.1?}")));
        match tokio::time::timeout(each, ask(seed)).await.unwrap_or_else(silent) {
            Ok(found) => return Ok(found),
            Err(trouble) => {
                first.get_or_insert(trouble);
            }
        }
    }
    Err(first.unwrap_or_else(|| Setback::NotYet("no server is named".to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hbase::connection::Lost;
    use crate::op::Failure;

    async fn asked(seeds: &[&str]) -> Result<String, Setback> {
        let seeds: Vec<_> = seeds.iter().map(|seed| (*seed).to_owned()).collect();
        let found = first_of(&seeds, 8_000_000_000, async |seed| match seed {
            "silent" => std::future::pending().await,
            "refuses" => Err(Lost::new(Failure::Connect, "no").into()),
            other => Ok(other.to_owned()),
        });
        tokio::time::timeout(Duration::from_secs(8), found).await.expect("in time")
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_seed_leaves_time_for_the_others() {
        assert_eq!(asked(&["silent", "refuses", "silent", "a", "b"]).await, Ok("a".to_owned()));
        assert!(matches!(asked(&["refuses", "silent"]).await, Err(Setback::Lost(_))));
        let expected = Setback::NotYet("no answer from silent in 2.7s".to_owned());
        assert_eq!(asked(&["silent", "refuses"]).await, Err(expected));
        let expected = Setback::NotYet("no answer from silent in 4.0s".to_owned());
        assert_eq!(asked(&["silent"]).await, Err(expected));
    }
}
