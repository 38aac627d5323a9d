//! Free JSON and times in protobuf. Its numbers are doubles: whole ones become whole again as far as a double is
//! exact, and greater ones are rounded (A2A v1.0, section 5.7).

use std::time::Duration;

use prost_types::{ListValue, Struct, Timestamp, value::Kind};
use serde_json::{Map, Number, Value};

use crate::json::{Path, Problems};

/// Up to here, every whole number has a double of its own.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads an object; absent is empty.
pub(super) fn read_object(of: Option<Struct>, path: Path<'_>, problems: &mut Problems) -> Map<String, Value> {
    let fields = of.map(|of| of.fields).unwrap_or_default();
    fields
        .into_iter()
        .map(|(name, value)| {
            let value = read_value(value, Path::Field(&path, &name), problems);
            (name, value)
        })
        .collect()
}

/// Reads a value; `null` stands for one that is wrong, until that is told.
pub(super) fn read_value(of: prost_types::Value, path: Path<'_>, problems: &mut Problems) -> Value {
    match of.kind {
        Some(Kind::NullValue(_)) => Value::Null,
        Some(Kind::BoolValue(flag)) => Value::Bool(flag),
        Some(Kind::StringValue(text)) => Value::String(text),
        Some(Kind::NumberValue(number)) => match read_number(number) {
            Some(number) => Value::Number(number),
            None => {
                problems.add(path, "is a number that JSON has no form for");
                Value::Null
            }
        },
        Some(Kind::StructValue(object)) => Value::Object(read_object(Some(object), path, problems)),
        Some(Kind::ListValue(list)) => {
            let values = list.values.into_iter().enumerate();
            values.map(|(at, value)| read_value(value, Path::Index(&path, at), problems)).collect()
        }
        // "Absence of any variant indicates an error" (google/protobuf/struct.proto).
        None => {
            problems.add(path, "is a value of no kind");
            Value::Null
        }
    }
}

fn read_number(number: f64) -> Option<Number> {
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole, and far below 2^63")]
        return Some((number as i64).into());
    }
    Number::from_f64(number)
}

/// Writes an object; an empty one is absent.
pub(super) fn write_object(of: &Map<String, Value>) -> Option<Struct> {
    (!of.is_empty()).then(|| write_fields(of))
}

/// Writes an object, an empty one too.
pub(super) fn write_fields(of: &Map<String, Value>) -> Struct {
    Struct { fields: of.iter().map(|(name, value)| (name.clone(), write_value(value))).collect() }
}

/// Writes a value.
pub(super) fn write_value(of: &Value) -> prost_types::Value {
    let kind = match of {
        Value::Null => Kind::NullValue(0),
        Value::Bool(flag) => Kind::BoolValue(*flag),
        Value::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or_default()),
        Value::String(text) => Kind::StringValue(text.clone()),
        Value::Array(list) => Kind::ListValue(ListValue { values: list.iter().map(write_value).collect() }),
        Value::Object(object) => Kind::StructValue(write_fields(object)),
    };
    prost_types::Value { kind: Some(kind) }
}

/// Reads a time since the Unix epoch.
pub(super) fn read_time(of: Timestamp, path: Path<'_>, problems: &mut Problems) -> Option<Duration> {
    let time = match (u64::try_from(of.seconds), u32::try_from(of.nanos)) {
        (Ok(seconds), Ok(nanos)) if nanos < 1_000_000_000 => Some(Duration::new(seconds, nanos)),
        _ => None,
    };
    if time.is_none() {
        problems.add(path, "is not a time from 1970 on");
    }
    time
}

/// Writes a time since the Unix epoch, to the millisecond as JSON has it: all bindings say the same (section 5.1).
pub(super) fn write_time(of: Duration) -> Timestamp {
    Timestamp {
        seconds: of.as_secs().try_into().unwrap_or(i64::MAX),
        nanos: (of.subsec_millis() * 1_000_000).try_into().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_come_back_and_whole_numbers_whole() {
        let value = json!({
            "a": [1, -2, 1.5, 9_007_199_254_740_991_i64, 1e300], "b": {"c": null, "d": true}, "e": "text", "f": {}, "g": [],
        });
        let mut problems = Problems::default();
        assert_eq!(read_value(write_value(&value), Path::Root, &mut problems), value);
        assert!(problems.none(()).is_ok());
        assert_eq!(write_object(&Map::new()), None);
    }

    #[test]
    fn what_json_cannot_say_is_told_with_its_place() {
        let number = |number| prost_types::Value { kind: Some(Kind::NumberValue(number)) };
        let list = ListValue { values: vec![number(1.0), number(f64::NAN), number(f64::INFINITY)] };
        let list = prost_types::Value { kind: Some(Kind::ListValue(list)) };
        let none = prost_types::Value { kind: None };
        let of = Struct { fields: [("l".into(), list), ("n".into(), none)].into_iter().collect() };
        let mut problems = Problems::default();
        read_object(Some(of), Path::Field(&Path::Root, "metadata"), &mut problems);
        let failure = problems.none(()).expect_err("problems");
        let fields: Vec<&str> = failure.violations.iter().map(|it| it.field.as_str()).collect();
        assert_eq!(fields, ["metadata.l[1]", "metadata.l[2]", "metadata.n"]);
    }

    #[test]
    fn times_are_written_to_the_millisecond_and_refused_before_1970() {
        let mut problems = Problems::default();
        let time = Duration::new(1_761_647_400, 7_000_001);
        let shown = Duration::new(1_761_647_400, 7_000_000);
        assert_eq!(read_time(write_time(time), Path::Root, &mut problems), Some(shown));
        for (seconds, nanos) in [(-1, 0), (1, -1), (1, 1_000_000_000)] {
            assert_eq!(read_time(Timestamp { seconds, nanos }, Path::Root, &mut problems), None);
        }
        assert_eq!(problems.none(()).expect_err("problems").violations.len(), 3);
    }
}
