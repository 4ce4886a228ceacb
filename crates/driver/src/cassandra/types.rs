//! Types of columns, and their values on the wire.
//!
//! Source: "CQL BINARY PROTOCOL v4" of Apache Cassandra, sections 4.2.5.2 and 6.

use super::reader::Reader;
use crate::json::quote;
use serde_json::Value;
use std::net::IpAddr;
use time::format_description::well_known::Rfc3339;
use time::{Date, OffsetDateTime, Time};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Ascii,
    BigInt,
    Blob,
    Boolean,
    Counter,
    Date,
    Decimal,
    Double,
    Float,
    Inet,
    Int,
    SmallInt,
    Text,
    Time,
    Timestamp,
    TinyInt,
    Uuid,
    Varint,
    /// A list or a set.
    List(Box<Self>),
    Map(Box<Self>, Box<Self>),
    /// A user-defined type: its members.
    Members(Vec<(String, Self)>),
    Tuple(Vec<Self>),
    /// A type that is not known here.
    Other,
}

/// The deepest nesting of types: Cassandra's own have a few levels.
const MOST_DEPTH: u32 = 20;
/// The most decimal places that are written out.
const MOST_PLACES: i32 = 100;
/// Days before 1970 in a date's number, and the Julian day of 1970-01-01.
const EPOCH_DAYS: u32 = 1 << 31;
const EPOCH_JULIAN: i64 = 2_440_588;

impl Type {
    /// Reads a type; `None` if it is not one.
    pub(super) fn read(rest: &mut Reader<'_>, depth: u32) -> Option<Self> {
        if depth > MOST_DEPTH {
            return None;
        }
        let number = rest.short()?;
        let inner = |rest: &mut Reader<'_>| Self::read(rest, depth + 1);
        Some(match number {
            0x00 => rest.text().map(|_| Self::Other)?,
            0x01 => Self::Ascii,
            0x02 => Self::BigInt,
            0x03 => Self::Blob,
            0x04 => Self::Boolean,
            0x05 => Self::Counter,
            0x06 => Self::Decimal,
            0x07 => Self::Double,
            0x08 => Self::Float,
            0x09 => Self::Int,
            0x0b => Self::Timestamp,
            0x0c | 0x0f => Self::Uuid,
            0x0d => Self::Text,
            0x0e => Self::Varint,
            0x10 => Self::Inet,
            0x11 => Self::Date,
            0x12 => Self::Time,
            0x13 => Self::SmallInt,
            0x14 => Self::TinyInt,
            0x20 | 0x22 => Self::List(Box::new(inner(rest)?)),
            0x21 => Self::Map(Box::new(inner(rest)?), Box::new(inner(rest)?)),
            0x30 => {
                rest.skip_place()?;
                let count = rest.short()?;
                let member = |rest: &mut Reader<'_>| Some((rest.text()?.to_owned(), inner(rest)?));
                Self::Members((0..count).map(|_| member(rest)).collect::<Option<_>>()?)
            }
            0x31 => {
                let count = rest.short()?;
                Self::Tuple((0..count).map(|_| inner(rest)).collect::<Option<_>>()?)
            }
            _ => Self::Other,
        })
    }

    /// Whether values can be of this type.
    pub(super) fn is_known(&self) -> bool {
        match self {
            Self::Other => false,
            Self::List(inner) => inner.is_known(),
            Self::Map(key, value) => key.is_known() && value.is_known(),
            Self::Members(members) => members.iter().all(|(_, it)| it.is_known()),
            Self::Tuple(members) => members.iter().all(Self::is_known),
            _ => true,
        }
    }

    /// Appends the value in this text, which is a plain string or JSON. `None` if it is not of this
    /// type.
    pub(super) fn write(&self, bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
        if *self == Self::Blob {
            out.extend_from_slice(bytes);
            return Some(());
        }
        let text = std::str::from_utf8(bytes).ok()?;
        match self {
            Self::Ascii if !text.is_ascii() => return None,
            Self::Ascii | Self::Text => out.extend_from_slice(bytes),
            Self::BigInt | Self::Counter => {
                out.extend_from_slice(&text.parse::<i64>().ok()?.to_be_bytes());
            }
            Self::Boolean => out.push(u8::from(text.parse::<bool>().ok()?)),
            Self::Date => {
                let date = Date::parse(text, DATE).ok()?;
                let days = i64::from(date.to_julian_day()) - EPOCH_JULIAN + i64::from(EPOCH_DAYS);
                out.extend_from_slice(&u32::try_from(days).ok()?.to_be_bytes());
            }
            Self::Decimal => {
                let (whole, part) = text.split_once('.').unwrap_or((text, ""));
                out.extend_from_slice(&u32::try_from(part.len()).ok()?.to_be_bytes());
                write_varint(format!("{whole}{part}").parse().ok()?, out);
            }
            Self::Double => out.extend_from_slice(&text.parse::<f64>().ok()?.to_be_bytes()),
            Self::Float => out.extend_from_slice(&text.parse::<f32>().ok()?.to_be_bytes()),
            Self::Inet => match text.parse().ok()? {
                IpAddr::V4(address) => out.extend_from_slice(&address.octets()),
                IpAddr::V6(address) => out.extend_from_slice(&address.octets()),
            },
            Self::Int => out.extend_from_slice(&text.parse::<i32>().ok()?.to_be_bytes()),
            Self::SmallInt => out.extend_from_slice(&text.parse::<i16>().ok()?.to_be_bytes()),
            Self::Time => {
                let (hour, minute, second, nano) = Time::parse(text, TIME).ok()?.as_hms_nano();
                let seconds = u64::from(hour) * 3_600 + u64::from(minute) * 60 + u64::from(second);
                let nanos = seconds * 1_000_000_000 + u64::from(nano);
                out.extend_from_slice(&nanos.to_be_bytes());
            }
            Self::Timestamp => out.extend_from_slice(&moment(text)?.to_be_bytes()),
            Self::TinyInt => out.extend_from_slice(&text.parse::<i8>().ok()?.to_be_bytes()),
            Self::Uuid => {
                let digits: String = text.chars().filter(|it| *it != '-').collect();
                let bytes = const_hex::decode_to_array::<_, 16>(digits).ok()?;
                out.extend_from_slice(&bytes);
            }
            Self::Varint => write_varint(text.parse().ok()?, out),
            Self::List(_) | Self::Map(..) | Self::Members(_) | Self::Tuple(_) => {
                self.write_json(&serde_json::from_str(text).ok()?, out)?;
            }
            Self::Blob | Self::Other => return None,
        }
        Some(())
    }

    fn write_json(&self, value: &Value, out: &mut Vec<u8>) -> Option<()> {
        let inner = |of: &Self, value: &Value, out: &mut Vec<u8>| {
            let start = out.len();
            out.extend_from_slice(&u32::MAX.to_be_bytes());
            if !value.is_null() {
                of.write_json(value, out)?;
                let length = u32::try_from(out.len() - start - 4).ok()?;
                out[start..start + 4].copy_from_slice(&length.to_be_bytes());
            }
            Some(())
        };
        match (self, value) {
            (Self::List(of), Value::Array(values)) => {
                out.extend_from_slice(&u32::try_from(values.len()).ok()?.to_be_bytes());
                values.iter().try_for_each(|value| inner(of, value, out))
            }
            (Self::Map(key, of), Value::Object(values)) => {
                out.extend_from_slice(&u32::try_from(values.len()).ok()?.to_be_bytes());
                values.iter().try_for_each(|(name, value)| {
                    inner(key, &Value::from(name.as_str()), out)?;
                    inner(of, value, out)
                })
            }
            (Self::Members(members), Value::Object(values)) => {
                members.iter().try_for_each(|(name, of)| {
                    inner(of, values.get(name).unwrap_or(&Value::Null), out)
                })
            }
            (Self::Tuple(members), Value::Array(values)) if members.len() == values.len() => {
                members.iter().zip(values).try_for_each(|(of, value)| inner(of, value, out))
            }
            (_, Value::String(text)) => self.write(text.as_bytes(), out),
            (Self::List(_) | Self::Map(..) | Self::Members(_) | Self::Tuple(_), _) => None,
            (_, value) => self.write(value.to_string().as_bytes(), out),
        }
    }

    /// Appends a value as JSON. `None` if it is not of this type.
    pub(super) fn spell(&self, value: &[u8], out: &mut Vec<u8>) -> Option<()> {
        match self {
            Self::Ascii | Self::Text => quote(std::str::from_utf8(value).ok()?, out),
            Self::Blob => quote(&String::from_utf8_lossy(value), out),
            Self::BigInt | Self::Counter => plain(i64::from_be_bytes(value.try_into().ok()?), out),
            Self::Boolean => plain(*value.first()? != 0, out),
            Self::Date => {
                let days = u32::from_be_bytes(value.try_into().ok()?);
                let day = i64::from(days) - i64::from(EPOCH_DAYS) + EPOCH_JULIAN;
                let date = Date::from_julian_day(i32::try_from(day).ok()?).ok()?;
                quote(&date.format(DATE).ok()?, out);
            }
            Self::Decimal => {
                let (scale, digits) = value.split_first_chunk()?;
                quote(&decimal(read_varint(digits)?, i32::from_be_bytes(*scale)), out);
            }
            Self::Double => number(f64::from_be_bytes(value.try_into().ok()?), out),
            Self::Float => {
                let value = f32::from_be_bytes(value.try_into().ok()?);
                if value.is_finite() { plain(value, out) } else { quote(&value.to_string(), out) }
            }
            Self::Inet => {
                let four = <[u8; 4]>::try_from(value).map(IpAddr::from);
                let address = four.or_else(|_| <[u8; 16]>::try_from(value).map(IpAddr::from));
                quote(&address.ok()?.to_string(), out);
            }
            Self::Int => plain(i32::from_be_bytes(value.try_into().ok()?), out),
            Self::SmallInt => plain(i16::from_be_bytes(value.try_into().ok()?), out),
            Self::Time => {
                let nanos = u64::from_be_bytes(value.try_into().ok()?);
                let (seconds, nano) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
                let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
                quote(&format!("{hours:02}:{minutes:02}:{:02}.{nano:09}", seconds % 60), out);
            }
            Self::Timestamp => {
                let millis = i64::from_be_bytes(value.try_into().ok()?);
                let nanos = i128::from(millis) * 1_000_000;
                let at = OffsetDateTime::from_unix_timestamp_nanos(nanos).ok();
                match at.and_then(|at| at.format(&Rfc3339).ok()) {
                    Some(text) => quote(&text, out),
                    None => plain(millis, out),
                }
            }
            Self::TinyInt => plain(i8::from_be_bytes(value.try_into().ok()?), out),
            Self::Uuid => {
                let text = const_hex::encode(<[u8; 16]>::try_from(value).ok()?);
                let parts = [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]];
                quote(&parts.join("-"), out);
            }
            Self::Varint => plain(read_varint(value)?, out),
            Self::List(_) | Self::Map(..) | Self::Members(_) | Self::Tuple(_) => {
                self.spell_parts(value, out)?;
            }
            Self::Other => quote(&const_hex::encode(value), out),
        }
        Some(())
    }

    /// The same for a value that consists of others.
    fn spell_parts(&self, value: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let mut rest = Reader(value);
        match self {
            Self::List(of) => {
                let values = (0..rest.int()?).map(|_| Some((&**of, rest.value()?)));
                spell_list(values, out)
            }
            Self::Tuple(members) => {
                spell_list(members.iter().map(|of| Some((of, rest.value()?))), out)
            }
            Self::Map(key, of) => {
                let members = (0..rest.int()?).map(|_| {
                    let mut name = Vec::new();
                    key.spell(rest.value()??, &mut name)?;
                    let name = String::from_utf8(name).ok()?;
                    Some((name.trim_matches('"').to_owned(), &**of, rest.value()?))
                });
                spell_members(members, out)
            }
            Self::Members(known) => {
                // Values from before a member was added lack it.
                let members = known.iter().map(|(name, of)| {
                    let value = if rest.0.is_empty() { None } else { rest.value()? };
                    Some((name.clone(), of, value))
                });
                spell_members(members, out)
            }
            _ => None,
        }
    }

    /// Whether a value is read back exactly as it was written, so that documents with such values
    /// can be compared with what was written.
    pub(super) fn is_exact(&self) -> bool {
        match self {
            Self::Ascii
            | Self::BigInt
            | Self::Blob
            | Self::Boolean
            | Self::Double
            | Self::Int
            | Self::SmallInt
            | Self::Text
            | Self::TinyInt
            | Self::Varint => true,
            // Not exact: an empty list is stored as none at all.
            _ => false,
        }
    }
}

type Format<'a> = &'a [time::format_description::FormatItem<'a>];
const DATE: Format<'_> = time::macros::format_description!("[year]-[month]-[day]");
const TIME: Format<'_> =
    time::macros::format_description!("[hour]:[minute]:[second][optional [.[subsecond]]]");

/// Milliseconds since 1970: a number, or a date with a time as in RFC 3339.
fn moment(text: &str) -> Option<i64> {
    text.parse().ok().or_else(|| {
        let at = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        i64::try_from(at.unix_timestamp_nanos().div_euclid(1_000_000)).ok()
    })
}

fn plain(value: impl std::fmt::Display, out: &mut Vec<u8>) {
    out.extend_from_slice(value.to_string().as_bytes());
}

/// Appends a number, or a text for a number that JSON does not have.
fn number(value: f64, out: &mut Vec<u8>) {
    if value.is_finite() { plain(value, out) } else { quote(&value.to_string(), out) }
}

/// Appends a number in as few bytes as it needs.
fn write_varint(number: i128, out: &mut Vec<u8>) {
    let bytes = number.to_be_bytes();
    let sign = if number < 0 { 0xff } else { 0 };
    let spare = bytes.windows(2).take_while(|it| it[0] == sign && (it[1] ^ sign) & 0x80 == 0);
    out.extend_from_slice(&bytes[spare.count()..]);
}

fn read_varint(bytes: &[u8]) -> Option<i128> {
    let sign = if *bytes.first()? & 0x80 > 0 { 0xff } else { 0 };
    let mut all = [sign; 16];
    all[16_usize.checked_sub(bytes.len())?..].copy_from_slice(bytes);
    Some(i128::from_be_bytes(all))
}

fn decimal(digits: i128, scale: i32) -> String {
    let places = match scale {
        0 => return digits.to_string(),
        1..=MOST_PLACES => scale.unsigned_abs() as usize,
        _ => return format!("{digits}e{}", -i64::from(scale)),
    };
    let sign = if digits < 0 { "-" } else { "" };
    let text = format!("{:0>width$}", digits.unsigned_abs(), width = places + 1);
    let (whole, part) = text.split_at(text.len() - places);
    format!("{sign}{whole}.{part}")
}

/// A value of a list, and its type; `None` if the list is cut short.
type ListedValue<'a> = Option<(&'a Type, Option<&'a [u8]>)>;

fn spell_list<'a>(values: impl Iterator<Item = ListedValue<'a>>, out: &mut Vec<u8>) -> Option<()> {
    out.push(b'[');
    for (place, value) in values.enumerate() {
        let (of, value) = value?;
        if place > 0 {
            out.push(b',');
        }
        spell_or_null(of, value, out)?;
    }
    out.push(b']');
    Some(())
}

/// A member, its type and its value; `None` if the answer is cut short.
type NamedValue<'a> = Option<(String, &'a Type, Option<&'a [u8]>)>;

fn spell_members<'a>(
    members: impl Iterator<Item = NamedValue<'a>>,
    out: &mut Vec<u8>,
) -> Option<()> {
    out.push(b'{');
    for (place, member) in members.enumerate() {
        let (name, of, value) = member?;
        if place > 0 {
            out.push(b',');
        }
        quote(&name, out);
        out.push(b':');
        spell_or_null(of, value, out)?;
    }
    out.push(b'}');
    Some(())
}

fn spell_or_null(of: &Type, value: Option<&[u8]>, out: &mut Vec<u8>) -> Option<()> {
    let Some(value) = value else {
        out.extend_from_slice(b"null");
        return Some(());
    };
    of.spell(value, out)
}

#[cfg(test)]
#[path = "types_tests.rs"]
mod tests;
