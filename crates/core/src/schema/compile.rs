//! A template compiled to a flat program: literal text, a value, literal text, a value.

use super::bounded::{Bounded, quoted};
use super::shape::Shape;
use super::template::Template;
use super::value::{BOOLEAN_MAX, FLOAT_MAX, INTEGER_MAX, NUMBER_WINDOW, boolean, float, integer};
use super::words::{Dictionary, STRING_DRAWS, STRING_MAX, STRING_WINDOW};
use crate::generate::Stream;
use std::ops::Range;

/// Literal bytes per step; longer text takes several steps. Most names are shorter.
const TEXT: usize = 32;
/// The room that one step may write to, including bytes beyond its text.
pub(super) const WINDOW: usize = TEXT + STRING_WINDOW;

/// The value that a step writes after its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Nothing,
    Boolean,
    Integer,
    Float,
    String,
    /// The bounded value with this index.
    Bounded(u32),
}

impl Value {
    /// The longest text, in bytes.
    fn max_len(self, bounded: &[Bounded]) -> usize {
        match self {
            Self::Bounded(index) => bounded[index as usize].max_len(),
            Self::Nothing => 0,
            Self::Boolean => BOOLEAN_MAX,
            Self::Integer => INTEGER_MAX,
            Self::Float => FLOAT_MAX,
            Self::String => STRING_MAX,
        }
    }

    /// The number of draws it takes. This is constant, so that every value's position in the stream
    /// is known.
    const fn draws(self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Boolean | Self::Integer | Self::Float | Self::Bounded(_) => 1,
            Self::String => STRING_DRAWS,
        }
    }
}

/// Text in a fixed amount of room, so that copying it takes two moves, followed by one value.
#[derive(Clone, Debug)]
struct TextAndValue {
    text: [u8; TEXT],
    len: u8,
    value: Value,
}

/// The steps for one top-level entry.
#[derive(Clone, Debug)]
struct EntrySteps {
    /// The first step, and the one after the last.
    steps: Range<usize>,
    /// The number of draws for the entries before it.
    skip: u64,
}

/// A compiled template: all of a document except the opening brace and the given members.
#[derive(Clone, Debug)]
pub(super) struct Program {
    steps: Vec<TextAndValue>,
    /// The limits of values.
    bounded: Vec<Bounded>,
    /// One per top-level entry, in order; the steps after the last one close the document.
    parts: Vec<EntrySteps>,
    max_len: usize,
}

impl Program {
    pub(super) fn new(template: &Template) -> Self {
        let mut compiler = Compiler::default();
        let mut parts = Vec::with_capacity(template.entries().len());
        for (i, (name, shape)) in template.entries().iter().enumerate() {
            let (first, skip) = (compiler.steps.len(), compiler.draws);
            compiler.member(i, name, shape);
            parts.push(EntrySteps { steps: first..compiler.steps.len(), skip });
        }
        compiler.text.push(b'}');
        compiler.step(Value::Nothing);
        let Compiler { steps, bounded, .. } = compiler;
        let lens = steps.iter().map(|step| usize::from(step.len) + step.value.max_len(&bounded));
        Self { max_len: lens.sum(), parts, steps, bounded }
    }

    pub(super) fn entries(&self) -> usize {
        self.parts.len()
    }

    /// The room needed to run the program, in bytes, including bytes written beyond the text.
    pub(super) fn room(&self) -> usize {
        self.max_len + WINDOW
    }

    /// Writes every entry from one stream, and the closing brace; returns the length.
    ///
    /// The length of `out` must be [`Program::room`].
    pub(super) fn run(&self, words: &Dictionary, state: u64, out: &mut [u8]) -> usize {
        self.steps(0..self.steps.len(), words, Stream::new(state, 0), out)
    }

    /// Like [`Program::run`], but draws each entry from its own stream, which `state` returns for
    /// the entry's number.
    pub(super) fn run_parts(
        &self,
        words: &Dictionary,
        state: impl Fn(usize) -> u64,
        out: &mut [u8],
    ) -> usize {
        let mut at = 0;
        for (i, part) in self.parts.iter().enumerate() {
            let stream = Stream::new(state(i), part.skip);
            at += self.steps(part.steps.clone(), words, stream, &mut out[at..]);
        }
        let rest = self.parts.last().map_or(0, |part| part.steps.end);
        at + self.steps(rest..self.steps.len(), words, Stream::new(0, 0), &mut out[at..])
    }

    fn steps(
        &self,
        range: Range<usize>,
        words: &Dictionary,
        stream: Stream,
        out: &mut [u8],
    ) -> usize {
        // Without bounded values the loop has no calls, and keeps everything in registers.
        if self.bounded.is_empty() {
            self.each::<false>(&self.steps[range], words, stream, out)
        } else {
            self.each::<true>(&self.steps[range], words, stream, out)
        }
    }

    /// The hot loop: about 10 to 30 steps per document. `BOUNDED` says whether values may be
    /// bounded.
    #[inline(never)]
    fn each<const BOUNDED: bool>(
        &self,
        steps: &[TextAndValue],
        words: &Dictionary,
        mut stream: Stream,
        out: &mut [u8],
    ) -> usize {
        let mut at = 0;
        for step in steps {
            let Some(window) = out.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<WINDOW>())
            else {
                debug_assert!(false, "the room was too small");
                break;
            };
            let Some(front) = window.first_chunk_mut::<TEXT>() else { break };
            *front = step.text;
            let len = usize::from(step.len).min(TEXT);
            let rest = &mut window[len..];
            let written = match step.value {
                Value::Nothing => 0,
                Value::String => {
                    let draws = [stream.draw(), stream.draw()];
                    rest.first_chunk_mut::<STRING_WINDOW>().map_or(0, |w| words.string(draws, w))
                }
                Value::Bounded(index) if BOUNDED => {
                    let (bounded, draw) = (&self.bounded[index as usize], stream.draw());
                    rest.first_chunk_mut().map_or(0, |window| bounded.write(draw, window))
                }
                number => {
                    let draw = stream.draw();
                    rest.first_chunk_mut::<NUMBER_WINDOW>().map_or(0, |w| match number {
                        Value::Boolean => boolean(draw, w),
                        Value::Integer => integer(draw, w),
                        _ => float(draw, w),
                    })
                }
            };
            at += len + written;
        }
        at
    }
}

/// Collects literal text until a value ends the step.
#[derive(Default)]
struct Compiler {
    text: Vec<u8>,
    steps: Vec<TextAndValue>,
    bounded: Vec<Bounded>,
    draws: u64,
}

impl Compiler {
    /// Ends the step: the text so far, then a value.
    fn step(&mut self, value: Value) {
        let text = std::mem::take(&mut self.text);
        let whole = text.len().saturating_sub(1) / TEXT;
        for (i, piece) in text.chunks(TEXT).enumerate() {
            let value = if i == whole { value } else { Value::Nothing };
            let mut step = TextAndValue { text: [b' '; TEXT], len: piece.len() as u8, value };
            step.text[..piece.len()].copy_from_slice(piece);
            self.steps.push(step);
        }
        self.draws += value.draws();
    }

    fn member(&mut self, place: usize, name: &str, shape: &Shape) {
        if place > 0 {
            self.text.push(b',');
        }
        self.text.extend_from_slice(quoted(name).as_bytes());
        self.text.push(b':');
        self.shape(shape);
    }

    fn bounded(&mut self, bounded: Bounded) {
        self.bounded.push(bounded);
        self.step(Value::Bounded(self.bounded.len() as u32 - 1));
    }

    fn shape(&mut self, shape: &Shape) {
        match shape {
            Shape::Null => self.text.extend_from_slice(b"null"),
            Shape::Boolean => self.step(Value::Boolean),
            Shape::Integer => self.step(Value::Integer),
            Shape::Float => self.step(Value::Float),
            Shape::String => {
                self.text.push(b'"');
                self.step(Value::String);
                self.text.push(b'"');
            }
            Shape::Range(least, most) => self.bounded(Bounded::Range(*least, *most)),
            Shape::OneOf(texts) => self.bounded(Bounded::one_of(texts)),
            Shape::Array(elements) => {
                self.text.push(b'[');
                for (i, element) in elements.iter().enumerate() {
                    if i > 0 {
                        self.text.push(b',');
                    }
                    self.shape(element);
                }
                self.text.push(b']');
            }
            Shape::Object(entries) => {
                self.text.push(b'{');
                for (i, (name, shape)) in entries.iter().enumerate() {
                    self.member(i, name, shape);
                }
                self.text.push(b'}');
            }
        }
    }
}
