//! Documents: pure functions of a seed, a key and a version.

use super::compile::Program;
use super::ids::Naming;
use super::template::Template;
use super::words::Dictionary;
use crate::generate::{below, mix, scramble};
use crate::op::{Fields, Key};
use std::fmt;

/// Up to this many entries, their versions are determined without allocating.
const FEW: usize = 64;

/// The purpose of each stream derived from the seed.
#[derive(Clone, Copy)]
enum Purpose {
    Words,
    Kinds,
    Values,
    Picks,
}

/// All documents of a run, made on demand and always the same.
///
/// Owns the dictionary (32,768 words made from the seed) and the compiled templates; created once
/// and shared by all threads.
pub struct Documents {
    words: Dictionary,
    programs: Vec<Program>,
    /// The sum of the weights up to and including each template.
    weights: Vec<u64>,
    kinds: u64,
    values: u64,
    picks: u64,
    naming: Naming,
}

impl Documents {
    /// Prepares documents of the given templates, with probabilities proportional to their weights.
    ///
    /// A template of weight 0 is never used, unless all weights are 0: then the first one is.
    /// Without any template, documents have no entries of their own. The plan should refuse both.
    pub fn new(seed: u64, templates: Vec<(Template, u32)>) -> Self {
        let derived = |purpose: Purpose| mix(seed, purpose as u64, 0);
        let mut sum = 0;
        let weights = templates.iter().map(|&(_, weight)| {
            sum += u64::from(weight);
            sum
        });
        Self {
            weights: weights.collect(),
            words: Dictionary::new(derived(Purpose::Words)),
            programs: templates.into_iter().map(|(template, _)| Program::new(&template)).collect(),
            kinds: derived(Purpose::Kinds),
            values: derived(Purpose::Values),
            picks: derived(Purpose::Picks),
            naming: Naming::default(),
        }
    }

    /// The same documents, with identifiers other than their numbers.
    pub fn named(self, naming: Naming) -> Self {
        Self { naming, ..self }
    }

    /// Appends the identifier of the document with this number.
    #[inline]
    pub fn write_id(&self, key: Key, out: &mut Vec<u8>) {
        self.naming.write(key, out);
    }

    /// The index of the document's template, in the order given to [`Documents::new`].
    #[inline]
    pub fn kind_of(&self, key: Key) -> usize {
        let [.., _, sum] = self.weights[..] else { return 0 };
        let draw = below(scramble(self.kinds ^ key), sum);
        let kind = self.weights.partition_point(|&upto| upto <= draw);
        if sum == 0 { 0 } else { kind }
    }

    /// A version of the document with this number, to be written on demand.
    #[inline]
    pub const fn document(&self, key: Key, version: u32) -> Document<'_> {
        Document { documents: self, key, version }
    }

    /// Appends one document to `out`, as a JSON object without white space.
    ///
    /// `members` is the text of the first members, such as `"_id":"17"`; it may be empty. The rest
    /// is a pure function of the seed, `key` and `version`. In version 0 every value is new; each
    /// later version is the one before it with new values for one top-level entry, chosen
    /// uniformly: Iron Cushion's rule for updates.
    pub fn write(&self, key: Key, version: u32, members: &[u8], out: &mut Vec<u8>) {
        out.push(b'{');
        out.extend_from_slice(members);
        let Some(program) = self.programs.get(self.kind_of(key)) else {
            return out.push(b'}');
        };
        if !members.is_empty() && program.entries() > 0 {
            out.push(b',');
        }
        let start = out.len();
        out.resize(start + program.room(), 0);
        let room = &mut out[start..];
        let state = scramble(self.values ^ key);
        let length = if version == 0 || program.entries() == 0 {
            program.run(&self.words, state, room)
        } else {
            self.write_version(program, key, version, state, room)
        };
        out.truncate(start + length);
    }

    /// Writes a version after the first: each entry from the stream of the version that last
    /// changed it.
    fn write_version(
        &self,
        program: &Program,
        key: Key,
        version: u32,
        state: u64,
        room: &mut [u8],
    ) -> usize {
        let mut few = [0; FEW];
        let mut many = Vec::new();
        let entries = program.entries();
        let versions = if entries <= FEW {
            &mut few[..entries]
        } else {
            many.resize(entries, 0);
            &mut many[..]
        };
        self.entry_versions(key, version, versions);
        let stream_of = |entry: usize| match versions[entry] {
            0 => state,
            later => scramble(state ^ u64::from(later)),
        };
        program.run_parts(&self.words, stream_of, room)
    }

    /// For each entry, the latest version up to `version` that changed it, or 0 if none did.
    ///
    /// Goes back only until every entry is known: about `n ln n` steps for n entries (the coupon
    /// collector's problem), however many versions there are. `entries` must initially be all
    /// zeros.
    fn entry_versions(&self, key: Key, version: u32, entries: &mut [u32]) {
        let state = scramble(self.picks ^ key);
        let mut unknown = entries.len();
        for earlier in (1..=version).rev() {
            let draw = scramble(state ^ u64::from(earlier));
            let picked = &mut entries[below(draw, entries.len() as u64) as usize];
            if *picked == 0 {
                *picked = earlier;
                unknown -= 1;
                if unknown == 0 {
                    break;
                }
            }
        }
    }
}

/// One version of one document.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    documents: &'a Documents,
    key: Key,
    version: u32,
}

impl Fields for Document<'_> {
    #[inline]
    fn write(self, first: &[u8], out: &mut Vec<u8>) {
        self.documents.write(self.key, self.version, first, out);
    }
}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Documents").field("programs", &self.programs).finish_non_exhaustive()
    }
}
