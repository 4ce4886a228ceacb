//! Tests runs that ask for indexes, with servers that have them and with some that do not.

use super::*;

/// The outcome of opening a run that asks for indexes, and the requests that the server receives.
async fn indexed(
    rest: &str,
    existing: Existing,
    change: impl FnOnce(&mut ServerData),
) -> (Result<(), String>, Vec<String>) {
    let (address, kept) = server();
    change(&mut kept.lock().unwrap());
    let asked = asked(&format!("mongodb://{address}/db{rest}"), existing);
    let opened = MongoPlan::check(&asked).unwrap().open(&opening(false)).await;
    let heard = kept.lock().unwrap().heard.clone();
    (opened.map(|_| ()).map_err(|error| error.to_string()), heard)
}

#[tokio::test]
async fn indexes_are_there_before_the_first_document_or_there_is_no_run() {
    let (opened, heard) = indexed("?index=a,-b&index=c", Existing::No, |_| ()).await;
    assert_eq!(opened, Ok(()));
    let expected = ["buildInfo", "listCollections", "create", "createIndexes", "listIndexes"];
    assert_eq!(heard, expected);
    // One server forgets the indexes, and one refuses them: what was created is removed.
    let (refused, heard) = indexed("?index=a,-b", Existing::No, |it| it.forgets = true).await;
    let message = refused.unwrap_err();
    assert!(
        message.contains("has no index a,-b") && message.contains("createIndex({"),
        "{message}"
    );
    assert_eq!(heard.last().map(String::as_str), Some("drop"), "{heard:?}");
    let (refused, heard) = indexed("?index=refused", Existing::No, |_| ()).await;
    let message = refused.unwrap_err();
    assert!(
        message.contains("cannot index refused: ") && message.contains("index that"),
        "{message}"
    );
    assert_eq!(heard.last().map(String::as_str), Some("drop"), "{heard:?}");
}

#[tokio::test]
async fn an_existing_collection_must_have_the_indexes() {
    let there = |indexes: Vec<Document>| {
        move |kept: &mut ServerData| {
            kept.documents.insert("k".to_owned(), doc! {"_id": "k"});
            kept.indexes = indexes;
        }
    };
    let right = there(vec![doc! {"key": {"a": 1, "b": -1}, "name": "theirs"}]);
    let (opened, heard) = indexed("/x?index=a,-b", Existing::Yes, right).await;
    assert_eq!(opened, Ok(()));
    assert_eq!(heard, ["buildInfo", "listCollections", "listIndexes"]);
    let other = there(vec![doc! {"key": {"b": -1, "a": 1}, "name": "theirs"}]);
    let (refused, heard) = indexed("/x?index=a,-b", Existing::Yes, other).await;
    let message = refused.unwrap_err();
    assert!(message.contains("collection db.x has no index a,-b; create it first"), "{message}");
    assert!(!heard.iter().any(|it| it == "drop" || it == "createIndexes"), "{heard:?}");
}
