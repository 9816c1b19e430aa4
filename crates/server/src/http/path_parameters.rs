//! The parameters in the path of a request, by the names that its route gives them.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

#[derive(Debug, Clone, Copy)]
pub(crate) struct PathParameters<'a> {
    pub(crate) route: &'static str,
    pub(crate) path: &'a str,
}

impl<'a> PathParameters<'a> {
    /// The parameter as it stands in the path, with its escapes.
    pub(crate) fn raw(self, name: &str) -> Option<&'a str> {
        let mut segments = self.route.split('/').zip(self.path.split('/'));
        segments.find_map(|(pattern, segment)| {
            // A profile is `/@{username}`.
            let (prefix, parameter) = pattern.split_once('{')?;
            (parameter.strip_suffix('}') == Some(name)).then(|| segment.strip_prefix(prefix))?
        })
    }

    /// The parameter; `None` if it is not UTF-8.
    pub(crate) fn decoded(self, name: &str) -> Option<Cow<'a, str>> {
        percent_decode_str(self.raw(name)?).decode_utf8().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_by_the_names_in_the_route() {
        for (route, path, name, expected) in [
            ("/posts/{post_id}/likes", "/posts/17/likes", "post_id", Some("17")),
            ("/photos/{photo_id}/{size}", "/photos/0199/64x64", "photo_id", Some("0199")),
            ("/photos/{photo_id}/{size}", "/photos/0199/64x64", "size", Some("64x64")),
            ("/@{username}/feed.atom", "/@ada/feed.atom", "username", Some("ada")),
            ("/users/{username}", "/users/%61da", "username", Some("ada")),
            ("/users/{username}", "/users/%ff", "username", None),
            ("/users/{username}", "/users/ada", "post_id", None),
            ("/posts", "/posts", "post_id", None),
            ("(none)", "/join/abcd-efgh", "username", None),
        ] {
            let found = PathParameters { route, path }.decoded(name);
            assert_eq!(found.as_deref(), expected, "{route} {path} {name}");
        }
    }
}
