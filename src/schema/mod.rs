//! Document templates and the documents made from them.
