//! Reads properties as numbers and flags, and collects all mistakes.

use super::Properties;
use std::fmt;
use std::ops::RangeInclusive;

/// A mistake in a property: its name, what is wrong, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyError {
    /// The property's name.
    pub property: String,
    /// What is wrong with it.
    pub problem: String,
    /// What to do.
    pub cure: String,
}

impl fmt::Display for PropertyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { property, problem, cure } = self;
        write!(f, "{property}: {problem}; {cure}")
    }
}

/// Reads values. For an invalid one, it records a mistake and returns the default.
#[derive(Debug)]
pub struct PropertyReader<'a> {
    properties: &'a Properties,
    errors: Vec<PropertyError>,
}

impl<'a> PropertyReader<'a> {
    /// A reader of these properties.
    pub const fn new(properties: &'a Properties) -> Self {
        Self { properties, errors: Vec::new() }
    }

    /// All properties.
    pub const fn all(&self) -> &'a Properties {
        self.properties
    }

    /// Returns `value`, unless there were mistakes.
    ///
    /// # Errors
    /// Returns all mistakes.
    pub fn end<T>(self, value: T) -> Result<T, Vec<PropertyError>> {
        if self.errors.is_empty() { Ok(value) } else { Err(self.errors) }
    }

    /// Records a mistake.
    pub fn wrong(&mut self, name: &str, problem: impl Into<String>, cure: &str) {
        let (property, cure) = (name.to_owned(), cure.to_owned());
        self.errors.push(PropertyError { property, problem: problem.into(), cure });
    }

    /// The text as written.
    pub fn text(&self, name: &str, default: &str) -> String {
        self.properties.get(name).unwrap_or(default).to_owned()
    }

    /// A whole number, if the property is set.
    pub fn optional(&mut self, name: &str) -> Option<u64> {
        self.parsed(name, "give a whole number, 0 or more", |text| text.parse().ok())
    }

    /// A whole number.
    pub fn whole(&mut self, name: &str, default: u64) -> u64 {
        self.optional(name).unwrap_or(default)
    }

    /// A whole number in a range.
    pub fn within(&mut self, name: &str, default: u64, range: RangeInclusive<u64>) -> u64 {
        let value = self.whole(name, default);
        if range.contains(&value) {
            return value;
        }
        let (least, most) = range.into_inner();
        self.wrong(name, format!("{value} is out of range"), &format!("give {least} to {most}"));
        default
    }

    /// A finite number, 0 or more.
    pub fn number(&mut self, name: &str, default: f64) -> f64 {
        let read = |text: &str| text.parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0);
        self.parsed(name, "give a number, 0 or more", read).unwrap_or(default)
    }

    /// A number from 0 to 1.
    pub fn fraction(&mut self, name: &str, default: f64) -> f64 {
        let read = |text: &str| text.parse().ok().filter(|x| (0.0..=1.0).contains(x));
        self.parsed(name, "give a number from 0 to 1", read).unwrap_or(default)
    }

    /// `true` or `false`.
    pub fn flag(&mut self, name: &str, default: bool) -> bool {
        let read = |text: &str| text.to_ascii_lowercase().parse().ok();
        self.parsed(name, "give true or false", read).unwrap_or(default)
    }

    /// The result of `read` for the value. `None` if there is no value, or it is invalid.
    pub fn parsed<T>(
        &mut self,
        name: &str,
        cure: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.properties.get(name)?;
        let value = read(text);
        if value.is_none() {
            self.wrong(name, format!("{text:?} is not valid"), cure);
        }
        value
    }
}
