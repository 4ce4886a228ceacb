//! What a record stores of a drill.

use super::*;
use crate::clock::SECOND_NS;

#[test]
fn commands_are_kept_without_secrets() {
    for (command, struck) in [
        ("kill -STOP $(cat pid)", "kill -STOP $(cat pid)"),
        ("curl -u admin:s3cret http://h/_up", "curl -u *** http://h/_up"),
        ("curl -uadmin:s3cret h", "curl -uadmin:*** h"),
        ("curl --user admin:s3cret h", "curl --user *** h"),
        ("curl 'http://ann:s3cret@h:1/x'", "curl 'http://ann:***@h:1/x'"),
        ("PGPASSWORD=s3cret psql", "PGPASSWORD=*** psql"),
        ("redis-cli -a s3cret --pass s3cret shutdown", "redis-cli -a *** --pass *** shutdown"),
        ("x --token=s3cret -v", "x --token=*** -v"),
        ("curl -H 'Authorization: Basic s3cret' h", "curl -H 'Authorization: ***"),
        ("a\nCookie: s3cret\nb", "a\nCookie: ***\nb"),
        ("ssh -i key host  'systemctl stop x'", "ssh -i key host  'systemctl stop x'"),
        ("", ""),
    ] {
        assert_eq!(strike_command(command), struck);
    }
}

#[test]
fn what_is_stored_of_a_drill_has_no_secret_and_is_not_run_again() {
    let commands = Breaks::Commands {
        stop: "curl -u a:s3cret h".to_owned(),
        start: "TOKEN=s3cret up".to_owned(),
    };
    let second = SECOND_NS;
    let times = DrillTimes {
        before_ns: 5 * second,
        broken_ns: second,
        after_ns: 6 * second,
        settle_ns: 0,
        limit_ns: second,
    };
    let plan = DrillPlan { breaks: commands, times };
    let stored = serde_json::to_value(&plan).expect("plain data");
    assert_eq!(stored["stop"], "curl -u *** h");
    assert_eq!(stored["start"], "TOKEN=*** up");
    assert_eq!(stored["breaks"], "commands");
    let read: DrillPlan = serde_json::from_value(stored).expect("a plan");
    assert_eq!((read.times, times.length_ns()), (times, 12 * second));
    let mut mistakes = Vec::new();
    check_again(Some(&read), &mut mistakes);
    assert!(mistakes[0].to_string().contains("commands that break a server are not taken from a"));
    check_again(None, &mut Vec::new());
}
