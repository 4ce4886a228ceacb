//! An operation that the plan defines: the sources of its values, and what it needs from others.
//! Does not know when it comes.

use crate::op::OpKind;
use crate::values::{After, Problem, Skew, ValueSource};

/// An operation that the plan defines, as needed by workloads.
#[derive(Debug)]
pub struct OwnOperation {
    /// Its kind.
    pub kind: OpKind,
    /// The sources of its values, in the order of its holes.
    pub(super) values: Vec<Box<dyn ValueSource>>,
    /// How each stored document that a request is about is chosen.
    pub(super) skews: Vec<Skew>,
    /// How many requests there are values for, if limited.
    pub(super) rows: Option<u64>,
    /// The operation that makes the value it needs.
    pub(super) after: Option<After>,
    /// Whether its requests make a value that others can use.
    pub(super) makes: bool,
    /// Whether no other connection may change the first document while a request is in flight.
    pub(super) holds: bool,
    /// The steps, if it is a sequence; empty if it is a single request.
    pub(super) steps: Vec<OpKind>,
    /// The names under which it saves values of the answer, in the order of the answer.
    pub(super) saves: Vec<String>,
}

impl OwnOperation {
    /// An operation with these values.
    ///
    /// # Errors
    /// Returns an error if a document would be chosen in two ways, or the operation needs the
    /// values of two others.
    pub fn new(kind: OpKind, values: Vec<Box<dyn ValueSource>>) -> Result<Self, Problem> {
        let documents = values.iter().map(|value| value.documents()).max().unwrap_or(0);
        let mut skews = vec![None; documents];
        for value in &values {
            let (Some(skew), Some(last)) = (value.skew(), value.documents().checked_sub(1)) else {
                continue;
            };
            if skews[last].replace(skew).is_some_and(|other| other != skew) {
                let problem = format!("{{{{key#{}}}}} is to be chosen in two ways", last + 1);
                return Err((
                    problem,
                    "give both the same distribution, or two numbers".to_owned(),
                ));
            }
        }
        let mut afters = values.iter().filter_map(|value| value.after());
        let after = afters.next();
        if afters.any(|other| Some(other) != after) {
            let problem = "it takes what was made in two ways".to_owned();
            return Err((problem, "leave all but one {{made …}} or {{taken …}} out".to_owned()));
        }
        let makes = values.iter().any(|value| value.makes());
        let skews = skews.into_iter().map(Option::unwrap_or_default).collect();
        let rows = values.iter().filter_map(|value| value.rows()).min();
        let (steps, saves) = (Vec::new(), Vec::new());
        Ok(Self { kind, values, skews, rows, after, makes, holds: false, steps, saves })
    }

    /// A sequence of other operations.
    pub fn sequence(kind: OpKind, steps: Vec<OpKind>) -> Self {
        Self {
            kind,
            values: Vec::new(),
            skews: Vec::new(),
            rows: None,
            after: None,
            makes: false,
            holds: false,
            steps,
            saves: Vec::new(),
        }
    }

    /// Sets the names under which it saves values of the answer.
    #[must_use]
    pub fn saving(self, saves: Vec<String>) -> Self {
        Self { saves, ..self }
    }

    /// The names under which it saves values of the answer.
    pub fn saves(&self) -> &[String] {
        &self.saves
    }

    /// The steps, if it is a sequence; empty if it is a single request.
    pub fn steps(&self) -> &[OpKind] {
        &self.steps
    }

    /// Whether it may run out of values, or needs those of another operation.
    pub const fn may_end(&self) -> bool {
        self.rows.is_some() || self.after.is_some()
    }

    /// Sets whether no other connection may change the first document while a request is in flight.
    #[must_use]
    pub fn holding(self, holds: bool) -> Self {
        Self { holds, ..self }
    }

    /// The operation that makes the value it needs, if it needs one.
    pub fn after(&self) -> Option<OpKind> {
        self.after.map(|after| after.kind)
    }

    /// Whether its requests make a value that others can use.
    pub const fn makes(&self) -> bool {
        self.makes
    }

    /// The sources of its values.
    pub fn values(&self) -> impl Iterator<Item = &dyn ValueSource> {
        self.values.iter().map(|value| &**value)
    }
}
