//! The index of tags.

use model::{FeedStart, Limit, Message, PostEdit, PostFilter, PostId, UserId};
use store::{CreateOutcome, Exclusions, NewPost, Store};

use crate::test_database::{NOW, TestDatabase, feed, new_post, photo};

pub(crate) async fn tags_follow_the_message_of_their_post(db: TestDatabase) {
    let ada = db.user("ada").await.id;
    let (first, second) =
        (post(&db, ada, 1, "#One #two, (#one)").await, post(&db, ada, 2, "#TWO #2 #３ü").await);
    assert_eq!(tagged(&db.store, "one").await, [first]);
    assert_eq!(tagged(&db.store, "two").await, [second, first]);
    assert_eq!(tagged(&db.store, "３ü").await, [second]);
    edit(&db, ada, first, Some("#three")).await;
    for (tag, posts) in [("one", &[][..]), ("two", &[second]), ("three", &[first])] {
        assert_eq!(tagged(&db.store, tag).await, posts, "{tag}");
    }
    edit(&db, ada, first, None).await;
    db.store.delete_post(second, None, NOW, None).await.unwrap();
    assert_eq!(db.count("SELECT count(*) FROM post_tags").await, 0);
}

pub(crate) async fn posts_from_before_the_index_are_indexed(db: TestDatabase) {
    let ada = db.user("ada").await.id;
    let first = post(&db, ada, 1, "#one").await;
    post(&db, ada, 2, "none").await;
    let (third, last) = (post(&db, ada, 3, "1 # 2").await, post(&db, ada, 4, "#one #two").await);
    db.execute_directly(
        "DELETE FROM post_tags; INSERT INTO post_tags SELECT '', id FROM posts WHERE message LIKE '%#%'",
    )();
    let db = db.reopen().await;
    assert!(tagged(&db.store, "one").await.is_empty());
    // An edit indexes the post as well.
    edit(&db, ada, last, Some("#two #four")).await;
    let left = db.store.posts_without_tags(9).await.unwrap();
    assert_eq!(left, [third, first]);
    assert_eq!(db.store.posts_without_tags(1).await.unwrap(), [third]);
    // Twice, as two nodes may do it. One that is deleted meanwhile is no error.
    db.store.delete_post(third, None, NOW, None).await.unwrap();
    for post in left.iter().chain(&left) {
        db.store.index_tags(*post).await.unwrap();
    }
    assert!(db.store.posts_without_tags(9).await.unwrap().is_empty());
    for (tag, posts) in [("one", &[first][..]), ("two", &[last]), ("four", &[last])] {
        assert_eq!(tagged(&db.store, tag).await, posts, "{tag}");
    }
    assert_eq!(db.count("SELECT count(*) FROM post_tags").await, 3);
}

/// During a rolling upgrade, nodes of the earlier version do not write tags.
#[tokio::test]
async fn posts_that_a_node_of_an_earlier_version_writes_are_marked() {
    let db = TestDatabase::on_postgres().await;
    let ada = db.user("ada").await.id;
    let (first, second) = (post(&db, ada, 1, "#old").await, post(&db, ada, 2, "#old").await);
    db.execute_directly("UPDATE posts SET message = '#new' WHERE id = 1")();
    db.execute_directly("UPDATE posts SET message = NULL WHERE id = 2")();
    db.execute_directly(
        "INSERT INTO photos (id, width, height, placeholder, bytes, created_at)
             VALUES ('00000000-0000-0000-0000-000000000001', 1, 1, '\\x01', 1, 5);
         INSERT INTO posts (user_id, photo_id, width, height, placeholder, message, like_count, created_at)
             SELECT 1, id, 1, 1, '\\x01', '#new', 0, 5 FROM photos WHERE created_at = 5",
    )();
    let third = PostId(3);
    let left = db.store.posts_without_tags(9).await.unwrap();
    assert_eq!(left, [third, second, first]);
    for post in left {
        db.store.index_tags(post).await.unwrap();
    }
    assert_eq!(tagged(&db.store, "new").await, [third, first]);
    assert_eq!(db.count("SELECT count(*) FROM post_tags").await, 2);
}

async fn post(db: &TestDatabase, author: UserId, number: u8, message: &str) -> PostId {
    db.store.claim_photo(photo(number).id, NOW).await.unwrap();
    let mut new: NewPost = new_post(author, number, None);
    new.content.message = Message::parse(message.to_owned()).unwrap();
    match db.store.create_post(new).await.unwrap() {
        CreateOutcome::New(post) => post.id,
        other => panic!("{other:?}"),
    }
}

async fn edit(db: &TestDatabase, author: UserId, post: PostId, message: Option<&str>) {
    let message = message.and_then(|text| Message::parse(text.to_owned()).unwrap());
    let edit = PostEdit { message: Some(message), ..PostEdit::default() };
    db.store.edit_post(post, author, edit).await.unwrap();
}

pub(crate) async fn tagged(store: &Store, tag: &str) -> Vec<PostId> {
    let filter = PostFilter::Tagged(tag.parse().unwrap());
    let (start, limit) = (FeedStart::Offset(0), Limit::default());
    let page = feed(store, None, filter, start, limit, &Exclusions::default()).await;
    page.posts.iter().map(|post| post.id).collect()
}
