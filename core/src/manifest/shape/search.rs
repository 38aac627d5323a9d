//! Where else in a kind a key is legal.

use super::Shape;

const SEARCH_DEPTH: usize = 8;

pub(super) fn places_of(shape: &Shape, key: &str, path: &mut String, depth: usize, places: &mut Vec<String>) {
    if depth > SEARCH_DEPTH {
        return;
    }
    match shape {
        Shape::List(item) | Shape::Filled(item) => {
            within(path, "[]", |path| places_of(item, key, path, depth + 1, places));
        }
        Shape::MapOf(value) => within(path, ".<name>", |path| places_of(value, key, path, depth + 1, places)),
        Shape::Maybe(inner) => places_of(inner, key, path, depth, places),
        Shape::Either(options) => {
            options.iter().for_each(|option| places_of(option, key, path, depth, places));
        }
        Shape::Record(fields) => {
            for field in fields.fields {
                if field.name == key && !places.contains(path) {
                    places.push(path.clone());
                }
                let step = if path.is_empty() { field.name.to_owned() } else { format!(".{}", field.name) };
                within(path, &step, |path| places_of(&field.shape, key, path, depth + 1, places));
            }
        }
        _ => {}
    }
}

fn within(path: &mut String, step: &str, body: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push_str(step);
    body(path);
    path.truncate(length);
}

// Nearest first: fewest steps from one place to the other.
pub(super) fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split('.').collect(), b.split('.').collect());
    let shared = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    a.len() + b.len() - 2 * shared
}
