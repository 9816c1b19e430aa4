//! What owners can set for the instance: its description, who may join, and quotas.

use std::collections::BTreeMap;

use model::{Refusal, Registration, Role, ValidationError, has_visible};

use crate::logo::{LOGO_KEY, Logo};

/// The settings of an instance. An absent text is not shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    pub name: Option<String>,
    pub description: Option<String>,
    pub rules: Option<String>,
    pub contact: Option<String>,
    /// Must be accepted to join.
    pub terms: Option<String>,
    /// A colour such as `#b8442f`.
    pub accent: Option<String>,
    pub logo: Option<Logo>,
    pub registration: Registration,
    /// Whether members may invite others.
    pub member_invitations: bool,
    pub member_quota: Quota,
    pub moderator_quota: Quota,
}

/// An instance whose owners have set nothing.
impl Default for Instance {
    fn default() -> Self {
        Self::from_values(&BTreeMap::new())
    }
}

/// What a user of a role may store and do; `None` is unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quota {
    /// The size of all photos.
    pub bytes: Option<u64>,
    pub posts_per_day: Option<u64>,
    pub likes_per_minute: Option<u64>,
}

impl Instance {
    /// The name, or that of the software if none is set.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("Pinhole")
    }

    /// As it is set: `on` or `off`.
    pub(crate) fn member_invitations(&self) -> &'static str {
        if self.member_invitations { "on" } else { "off" }
    }

    /// Whether this value changes who may join.
    pub(crate) fn changes_registration(&self, key: &str, value: &str) -> bool {
        match key {
            "registration" => value != self.registration.as_str(),
            "member_invitations" => value != self.member_invitations(),
            _ => false,
        }
    }

    /// The quota of a role; owners have none.
    pub fn quota(&self, role: Role) -> Quota {
        match role {
            Role::Member => self.member_quota,
            Role::Moderator => self.moderator_quota,
            Role::Owner => Quota::default(),
        }
    }

    pub(crate) fn from_values(values: &BTreeMap<String, String>) -> Self {
        // A text without a visible character may be from before the rule against it.
        let text = |key: &str| values.get(key).filter(|text| has_visible(text)).cloned();
        // Values were validated when they were set; one that a newer version wrote counts as unset.
        let number = |key: &str| values.get(key).and_then(|value| value.parse().ok());
        let quota = |role: &str| Quota {
            bytes: number(&format!("{role}_bytes")),
            posts_per_day: number(&format!("{role}_posts_per_day")),
            likes_per_minute: number(&format!("{role}_likes_per_minute")),
        };
        Self {
            name: text("name"),
            description: text("description"),
            rules: text("rules"),
            contact: text("contact"),
            terms: text("terms"),
            accent: text("accent"),
            logo: values.get(LOGO_KEY).and_then(|value| Logo::from_value(value).ok()),
            // A value of a newer version must not open what an owner has closed.
            registration: values
                .get("registration")
                .map_or(Registration::Open, |word| word.parse().unwrap_or(Registration::Closed)),
            member_invitations: values.get("member_invitations").is_some_and(|value| value == "on"),
            member_quota: quota("member"),
            moderator_quota: quota("moderator"),
        }
    }
}

/// The keys that can be set, each with the check of its value.
pub(crate) const KEYS: [(&str, Check); 14] = [
    ("name", |value| line(value, 60)),
    ("description", |value| text(value, 500)),
    ("rules", |value| text(value, 5_000)),
    ("contact", |value| line(value, 200)),
    ("terms", |value| text(value, 10_000)),
    ("accent", colour),
    ("registration", |value| value.parse::<Registration>().map(drop)),
    ("member_invitations", switch),
    ("member_bytes", number),
    ("member_posts_per_day", |value| number_to(value, MAX_POSTS_PER_DAY)),
    ("member_likes_per_minute", number),
    ("moderator_bytes", number),
    ("moderator_posts_per_day", |value| number_to(value, MAX_POSTS_PER_DAY)),
    ("moderator_likes_per_minute", number),
];

pub(crate) type Check = fn(&str) -> Result<(), ValidationError>;

fn text(value: &str, max: usize) -> Result<(), ValidationError> {
    let chars = value.chars().count();
    if chars > max {
        let rule = format!("it has {chars} characters; {max} are allowed");
        return Err(ValidationError::refused(Refusal::TooLong, rule).with_limit(max as u64));
    }
    if value.contains('\0') {
        return Err(ValidationError::refused(Refusal::ControlCharacters, "it contains a NUL character"));
    }
    let blank = || ValidationError::refused(Refusal::Blank, "it has no visible character");
    if has_visible(value) { Ok(()) } else { Err(blank()) }
}

fn line(value: &str, max: usize) -> Result<(), ValidationError> {
    if value.contains(char::is_control) {
        let rule = "it contains line breaks or control characters";
        return Err(ValidationError::refused(Refusal::ControlCharacters, rule));
    }
    text(value, max)
}

fn colour(value: &str) -> Result<(), ValidationError> {
    let digits = value.strip_prefix('#').unwrap_or_default();
    if digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        Ok(())
    } else {
        Err(ValidationError::refused(Refusal::NotAColour, "a colour has the form #b8442f"))
    }
}

fn switch(value: &str) -> Result<(), ValidationError> {
    if matches!(value, "on" | "off") { Ok(()) } else { Err("expected on or off".into()) }
}

/// Posts of a day are counted one by one.
pub(crate) const MAX_POSTS_PER_DAY: u64 = 10_000;

fn number(value: &str) -> Result<(), ValidationError> {
    number_to(value, 1_000_000_000_000_000)
}

fn number_to(value: &str, max: u64) -> Result<(), ValidationError> {
    match value.parse::<u64>() {
        Ok(number) if (1..=max).contains(&number) => Ok(()),
        _ => {
            let rule = format!("expected a whole number from 1 to {max}, or nothing for no limit");
            Err(ValidationError::refused(Refusal::OutOfRange, rule).with_limit(max))
        }
    }
}

/// Checks a setting of another instance.
pub fn check_instance_setting(key: &str, value: &str) -> Result<(), ValidationError> {
    let checked = match KEYS.iter().find(|(known, _)| *known == key) {
        _ if key == LOGO_KEY => Logo::from_value(value).map(drop).map_err(ValidationError::new),
        Some((_, check)) => check(value),
        None => return Err(ValidationError::new(format!("key: there is no setting {key:?}"))),
    };
    match checked {
        // From before the rule against it; it counts as unset.
        Err(rule) if rule.refusal == Some(Refusal::Blank) => Ok(()),
        _ => checked.map_err(|rule| ValidationError { message: format!("{key}: {rule}"), ..rule }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_checked_and_unknown_ones_close_the_registration() {
        let check = |key: &str, value: &str| KEYS.iter().find(|(known, _)| *known == key).unwrap().1(value);
        for (key, value) in
            [("name", "Birds"), ("accent", "#B8442f"), ("registration", "approval"), ("member_bytes", "1")]
        {
            assert_eq!(check(key, value), Ok(()), "{key} {value}");
        }
        for (key, value) in [
            ("name", "two\nlines"),
            ("name", "\u{3164}\u{200b}"),
            ("description", " "),
            ("accent", "red"),
            ("accent", "#12345"),
            ("registration", "maybe"),
            ("member_bytes", "0"),
            ("member_bytes", "-1"),
            ("member_invitations", "yes"),
        ] {
            assert!(check(key, value).is_err(), "{key} {value}");
        }
        let of =
            |word: &str| Instance::from_values(&[("registration".into(), word.into())].into()).registration;
        assert_eq!((of("invitation"), of("by-lottery")), (Registration::Invitation, Registration::Closed));
        assert_eq!(Instance::from_values(&BTreeMap::new()).registration, Registration::Open);
    }
}
