//! The stand-in CouchDB.
