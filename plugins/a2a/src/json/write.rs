//! Writes JSON. A text that holds nothing to escape, as most do, is written in one go.

use std::fmt;

use serde::{
    Serialize, Serializer,
    ser::{
        Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};
use serde_json::{Error, Result};

/// Writes a value behind what is there.
///
/// # Errors
/// Where a key of a map is no text. What was written of the value stays.
pub(crate) fn write<T: Serialize + ?Sized>(value: &T, bytes: &mut Vec<u8>) -> Result<()> {
    value.serialize(Writer(bytes))
}

struct Writer<'a>(&'a mut Vec<u8>);

/// A list or an object under way.
struct Items<'a> {
    bytes: &'a mut Vec<u8>,
    /// Whether the next item is the first one.
    first: bool,
    close: &'static [u8],
}

fn text(bytes: &mut Vec<u8>, text: &str) -> Result<()> {
    if !is_plain(text.as_bytes()) {
        return serde_json::to_writer(bytes, text);
    }
    bytes.reserve(text.len() + 2);
    bytes.push(b'"');
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(b'"');
    Ok(())
}

/// Whether nothing has to be escaped; eight bytes are looked at together.
fn is_plain(text: &[u8]) -> bool {
    let (words, rest) = text.as_chunks();
    // The last word may overlap the one before.
    let (last, rest): (&[[u8; 8]], _) = match text.last_chunk() {
        Some(last) => (std::slice::from_ref(last), &[][..]),
        None => (&[], rest),
    };
    let words = words.iter().chain(last).map(|word| u64::from_le_bytes(*word));
    words.fold(0, |found, word| found | escaped(word)) == 0
        && !rest.iter().any(|byte| *byte < b' ' || matches!(byte, b'"' | b'\\'))
}

/// Not 0 if any of the eight bytes has to be escaped.
fn escaped(word: u64) -> u64 {
    const EACH: u64 = u64::MAX / 255;
    // The highest bit of each byte that is below `than`, up to the first one at least.
    let below = |word: u64, than: u8| word.wrapping_sub(EACH * u64::from(than)) & !word & (EACH << 7);
    let is = |byte: u8| below(word ^ (EACH * u64::from(byte)), 1);
    below(word, b' ') | is(b'"') | is(b'\\')
}

impl<'a> Writer<'a> {
    fn open(self, open: &[u8], close: &'static [u8]) -> Items<'a> {
        self.0.extend_from_slice(open);
        Items { bytes: self.0, first: true, close }
    }

    /// Opens `{"variant":` and what is inside of it.
    fn open_variant(self, variant: &str, open: &[u8], close: &'static [u8]) -> Result<Items<'a>> {
        self.0.push(b'{');
        text(self.0, variant)?;
        self.0.push(b':');
        Ok(self.open(open, close))
    }
}

/// What is written as `serde_json` has it.
macro_rules! plain {
    ($($method:ident: $of:ty,)*) => {
        $(fn $method(self, value: $of) -> Result<()> {
            serde_json::Serializer::new(self.0).$method(value)
        })*
    };
}

impl<'a> Serializer for Writer<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Items<'a>;
    type SerializeTuple = Items<'a>;
    type SerializeTupleStruct = Items<'a>;
    type SerializeTupleVariant = Items<'a>;
    type SerializeMap = Items<'a>;
    type SerializeStruct = Items<'a>;
    type SerializeStructVariant = Items<'a>;

    plain! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_i128: i128,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_u128: u128,
        serialize_f32: f32,
        serialize_f64: f64,
        serialize_char: char,
        serialize_bytes: &[u8],
    }

    fn serialize_str(self, value: &str) -> Result<()> {
        text(self.0, value)
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Result<()> {
        serde_json::Serializer::new(self.0).collect_str(value)
    }

    fn serialize_none(self) -> Result<()> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<()> {
        self.0.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<()> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<()> {
        text(self.0, variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<()> {
        let mut map = self.open(b"{", b"}");
        map.serialize_entry(variant, value)?;
        SerializeMap::end(map)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'a>> {
        Ok(self.open(b"[", b"]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Items<'a>> {
        Ok(self.open(b"[", b"]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items<'a>> {
        Ok(self.open(b"[", b"]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items<'a>> {
        self.open_variant(variant, b"[", b"]}")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Items<'a>> {
        Ok(self.open(b"{", b"}"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Items<'a>> {
        Ok(self.open(b"{", b"}"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items<'a>> {
        self.open_variant(variant, b"{", b"}}")
    }
}

impl Items<'_> {
    fn next(&mut self) -> Writer<'_> {
        if !std::mem::take(&mut self.first) {
            self.bytes.push(b',');
        }
        Writer(self.bytes)
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        value.serialize(self.next())
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<()> {
        text(self.next().0, name)?;
        self.value(value)
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.bytes.push(b':');
        value.serialize(Writer(self.bytes))
    }

    fn finish(self) -> Result<()> {
        self.bytes.extend_from_slice(self.close);
        Ok(())
    }
}

impl SerializeMap for Items<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        let bytes = self.next().0;
        let start = bytes.len();
        key.serialize(Writer(bytes))?;
        match bytes.get(start) {
            Some(b'"') => Ok(()),
            _ => Err(Error::custom("a key is no text")),
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.value(value)
    }

    fn end(self) -> Result<()> {
        self.finish()
    }
}

/// The lists, which differ in names only.
macro_rules! items {
    ($($list:ident::$method:ident,)*) => {
        $(impl $list for Items<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
                self.item(value)
            }

            fn end(self) -> Result<()> {
                self.finish()
            }
        })*
    };
}

items! {
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
}

/// The objects whose names are known.
macro_rules! fields {
    ($($object:ident,)*) => {
        $(impl $object for Items<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<()> {
                self.field(name, value)
            }

            fn end(self) -> Result<()> {
                self.finish()
            }
        })*
    };
}

fields! { SerializeStruct, SerializeStructVariant, }

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn written<T: Serialize + ?Sized>(value: &T) -> String {
        let mut bytes = Vec::new();
        write(value, &mut bytes).expect("it is written");
        String::from_utf8(bytes).expect("it is text")
    }

    #[derive(Serialize)]
    struct Pair(u8, Option<char>);

    #[derive(Serialize)]
    struct Unit;

    #[derive(Serialize)]
    enum Kind {
        Plain,
        New(f64),
        Two(i64, bool),
        Named { a: &'static str, b: Unit },
    }

    #[test]
    fn every_shape_is_written_as_serde_json_writes_it() {
        let kinds = (
            Kind::Plain,
            Kind::New(f64::NAN),
            Kind::Two(-1, true),
            Kind::Named { a: "x\"y", b: Unit },
            [Pair(1, Some('\n')), Pair(2, None)],
            BTreeMap::from([("k\u{1}", vec![1.5_f32]), ("l", Vec::new())]),
            format_args!("{}", "q\\"),
        );
        assert_eq!(written(&kinds), serde_json::to_string(&kinds).unwrap());
        let value = json!({"a": [1, -2, 1.5, null, true, "t\u{7f}ä\t"], "b": {}, "": [], "c": u64::MAX});
        assert_eq!(written(&value), value.to_string());
    }

    #[test]
    fn a_key_that_is_no_text_is_refused() {
        let map = BTreeMap::from([(1, 2)]);
        assert!(write(&map, &mut Vec::new()).is_err());
    }

    #[test]
    fn every_byte_is_looked_at_wherever_it_is() {
        for byte in 0..128_u8 {
            for length in 1..20 {
                for at in 0..length {
                    let mut text = vec![b'a'; length];
                    text[at] = byte;
                    let escaped = byte < b' ' || matches!(byte, b'"' | b'\\');
                    assert_eq!(is_plain(&text), !escaped, "{byte} at {at} of {length}");
                }
            }
        }
        assert!(is_plain("ä€𝄞 and text that is no ASCII: \u{7f}".as_bytes()));
        assert!(is_plain(b""));
    }

    proptest! {
        #[test]
        fn any_text_is_written_as_serde_json_writes_it(text in any::<String>()) {
            prop_assert_eq!(written(&text), serde_json::to_string(&text).expect("it is written"));
        }
    }
}
