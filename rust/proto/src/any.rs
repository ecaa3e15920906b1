//! Messages stored together with their names.

use prost::Message;

use crate::file::Any;

impl Any {
    /// Stores `message` under one of the names in [`type_url`](crate::type_url).
    pub fn pack(type_url: &str, message: &impl Message) -> Self {
        Self {
            type_url: type_url.to_owned(),
            value: message.encode_to_vec().into(),
        }
    }

    /// Whether the message has this name, one of those in [`type_url`](crate::type_url).
    ///
    /// Whatever stands before the last slash does not count; a name without a slash never matches.
    pub fn holds(&self, type_url: &str) -> bool {
        self.type_url
            .rfind('/')
            .is_some_and(|slash| &self.type_url[slash..] == type_url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::type_url;

    fn named(type_url: &str) -> Any {
        Any {
            type_url: type_url.to_owned(),
            ..Any::default()
        }
    }

    #[test]
    fn a_host_before_the_name_does_not_count() {
        assert!(named("/lance.encodings21.PageLayout").holds(type_url::PAGE_LAYOUT));
        assert!(named("type.example/lance.encodings21.PageLayout").holds(type_url::PAGE_LAYOUT));
    }

    #[test]
    fn a_name_needs_its_slash() {
        assert!(!named("lance.encodings21.PageLayout").holds(type_url::PAGE_LAYOUT));
        assert!(!named("").holds(type_url::PAGE_LAYOUT));
    }

    #[test]
    fn another_package_is_another_message() {
        assert!(!named("/lance.encodings.PageLayout").holds(type_url::PAGE_LAYOUT));
    }
}
