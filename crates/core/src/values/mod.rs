//! Values that change from request to request: how they are written in a plan, where they come
//! from, and how they are filled in.
//!
//! A text has holes such as `{{key}}`. A driver cuts it into [`Pieces`] once; for each request a
//! workload draws the [`Values`] of its holes, and the pieces are joined. Knows nothing about
//! drivers.

mod column;
mod data;
mod pieces;
mod skew;
mod sources;
mod written;

pub use data::{Data, DataPlan, Order};
pub use pieces::{Holes, MalformedHole, Pieces, Values, parts};
pub use skew::Skew;
pub use sources::{
    After, Draw, MOST_DOCUMENTS, Problem, SourceCard, ValueSource, cards, is_value, json_at,
    problem, source,
};
pub use written::Written;
