//! What `data_dictionary.cumulative_user_stats` counts of logins that were refused, and of clients that vanished.

use super::{connect, options, run, start, value, wait_until};
use squall_client::Client;

#[test]
fn refused_logins_and_lost_clients_are_counted_by_user() {
    let server = start();
    let mut root = connect(&server);
    run(&mut root, "CREATE USER ann IDENTIFIED BY 'right'");
    let stats = |columns: &str, user: &str| {
        format!("SELECT CONCAT_WS(' ', {columns}) FROM data_dictionary.cumulative_user_stats WHERE username = '{user}'")
    };
    for user in ["ann", "ann", "nobody"] {
        let mut wrong = options(&server);
        (wrong.user, wrong.password) = (user.to_owned(), "wrong".to_owned());
        assert!(Client::connect(&wrong).is_err());
    }
    // Names that no account has are not kept.
    assert_eq!(
        value(&mut root, "SELECT GROUP_CONCAT(username ORDER BY 1) FROM data_dictionary.cumulative_user_stats"),
        "ann,root"
    );
    assert_eq!(value(&mut root, &stats("denied_connections, lost_connections, rows_fetched", "ann")), "2 0 0");
    let mut right = options(&server);
    (right.user, right.password) = ("ann".to_owned(), "right".to_owned());
    let mut ann = Client::connect(&right).expect("the right password");
    assert_eq!(value(&mut ann, "SELECT 1 UNION SELECT 2"), "1");
    // No good-bye.
    drop(ann);
    wait_until("the client is lost", || value(&mut root, &stats("lost_connections", "ann")) == "1");
    assert_eq!(value(&mut root, &stats("denied_connections, rows_fetched", "ann")), "2 2");
    assert_eq!(
        value(&mut root, &stats("bytes_received > 20, bytes_sent > 20, connected_time_sec < 600", "ann")),
        "1 1 1"
    );
}
