//! Events of the YAML scanner to trees.

use std::collections::HashMap;
use std::sync::Arc;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use super::scalar::{parse_float, parse_int, resolve_plain};
use super::{Entry, Map, Node, Style, Value};
use crate::diagnostic::{Diagnostic, Location, Report, Source};

/// Deepest nesting of lists and maps.
const MAX_DEPTH: usize = 64;
/// Most nodes that aliases and merge keys may add to one file.
const MAX_EXPANDED: usize = 50_000;
/// Problems after which reading one file stops.
const MAX_PROBLEMS: usize = 64;

/// Parses a source into the trees of its documents; an empty file has none.
///
/// Documents that hold nothing are dropped. The trees are complete when the report has no error.
pub fn parse(source: &Arc<Source>) -> (Vec<Node>, Report) {
    let mut builder = Builder {
        offsets: Offsets::of(source.text()),
        source,
        stack: Vec::new(),
        anchors: HashMap::new(),
        expanded: 0,
        restarted: false,
        documents: Vec::new(),
        report: Report::new(),
    };
    if let Err(diagnostic) = builder.run() {
        builder.report.push(diagnostic);
    }
    (builder.documents, builder.report)
}

enum Frame {
    List {
        items: Vec<Node>,
        start: Span,
        anchor: usize,
    },
    Map {
        entries: Vec<Entry>,
        seen: HashMap<Arc<str>, usize>,
        key: Option<(Node, bool)>,
        merges: Vec<Node>,
        start: Span,
        anchor: usize,
    },
}

struct Builder<'s> {
    source: &'s Arc<Source>,
    offsets: Offsets,
    stack: Vec<Frame>,
    anchors: HashMap<usize, (Node, usize)>,
    expanded: usize,
    restarted: bool,
    documents: Vec<Node>,
    report: Report,
}

impl Builder<'_> {
    fn run(&mut self) -> Result<(), Diagnostic> {
        let text = self.source.text().clone();
        let mut parser = Parser::new_from_str(&text);
        while let Some(next) = parser.next_event() {
            let (event, span) =
                next.map_err(|error| self.scan_error(error.marker().index(), error.info()))?;
            if self.report.iter().len() > MAX_PROBLEMS {
                return Ok(());
            }
            match event {
                Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {}
                Event::StreamEnd => break,
                Event::Alias(id) => {
                    let node = self.expand(id, span)?;
                    self.add(node, false)?;
                }
                Event::Scalar(text, style, anchor, tag) => {
                    let plain = matches!(style, ScalarStyle::Plain);
                    let node = self.scalar(&text, plain, tag.as_deref(), span);
                    self.anchor(anchor, &node);
                    self.add(node, plain)?;
                }
                Event::SequenceStart(anchor, tag) => {
                    self.check_tag(tag.as_deref(), "seq", span);
                    self.open(Frame::List { items: Vec::new(), start: span, anchor }, span)?;
                }
                Event::MappingStart(anchor, tag) => {
                    self.check_tag(tag.as_deref(), "map", span);
                    let frame = Frame::Map {
                        entries: Vec::new(),
                        seen: HashMap::new(),
                        key: None,
                        merges: Vec::new(),
                        start: span,
                        anchor,
                    };
                    self.open(frame, span)?;
                }
                Event::SequenceEnd | Event::MappingEnd => self.close(span)?,
            }
        }
        Ok(())
    }

    fn at(&self, span: Span) -> Location {
        let start = self.offsets.byte(span.start.index());
        let end = self.offsets.byte(span.end.index()).max(start);
        Location::new(self.source.clone(), start..end)
    }

    // Collections end where the next token begins; without this, a label would reach into the next key's line.
    fn at_trimmed(&self, start: Span, end: Span) -> Location {
        let from = self.offsets.byte(start.start.index());
        let to = self.offsets.byte(end.end.index()).max(from);
        let text = self.source.text().get(from..to).unwrap_or_default();
        Location::new(self.source.clone(), from..from + text.trim_end().len())
    }

    fn open(&mut self, frame: Frame, span: Span) -> Result<(), Diagnostic> {
        if self.stack.len() >= MAX_DEPTH {
            let message = format!("nested too deeply: more than {MAX_DEPTH} levels");
            return Err(Diagnostic::error("mas::yaml::too_deep", &self.at(span), message));
        }
        self.stack.push(frame);
        Ok(())
    }

    fn close(&mut self, end: Span) -> Result<(), Diagnostic> {
        let (value, start, anchor) = match self.stack.pop() {
            Some(Frame::List { items, start, anchor }) => (Value::List(items), start, anchor),
            Some(Frame::Map { mut entries, mut seen, merges, start, anchor, .. }) => {
                for merge in merges {
                    self.merge(merge, &mut entries, &mut seen)?;
                }
                (Value::Map(Map::new(entries)), start, anchor)
            }
            None => return Ok(()),
        };
        let node = Node::collection(value, self.at_trimmed(start, end));
        self.anchor(anchor, &node);
        self.add(node, false)
    }

    fn add(&mut self, node: Node, plain: bool) -> Result<(), Diagnostic> {
        let at_root = self.stack.len() == 1;
        let (report, restarted) = (&mut self.report, &mut self.restarted);
        match self.stack.last_mut() {
            None => {
                if !node.is_null() {
                    self.documents.push(node);
                }
            }
            Some(Frame::List { items, .. }) => items.push(node),
            Some(Frame::Map { entries, seen, key, merges, .. }) => match key.take() {
                None => *key = Some((node, plain)),
                Some((key, plain)) => {
                    if !key.is_scalar() {
                        report.push(
                            Diagnostic::error(
                                "mas::yaml::key",
                                &key.at,
                                format!("a key must be a name, found {}", key.noun()),
                            )
                            .help("quote the value if it begins with `[` or `{`"),
                        );
                        return Ok(());
                    }
                    if plain && key.text() == "<<" {
                        merges.push(node);
                        return Ok(());
                    }
                    let name = key.shared_text();
                    if name.starts_with(|c: char| c.is_whitespace() && !c.is_ascii()) {
                        let message = "the line begins with a non-breaking or other odd space, which is not indentation";
                        report.push(
                            Diagnostic::error("mas::yaml::indentation", &key.at, message)
                                .help("indent with ordinary spaces"),
                        );
                        return Ok(());
                    }
                    if let Some(first) = seen.get(&name).and_then(|index| entries.get_mut(*index)) {
                        // Files exist that hold two whole documents without `---`; other readers take the second.
                        if at_root && &*name == "apiVersion" {
                            *restarted = true;
                            let message =
                                "a second document begins here without `---`: it replaces the first";
                            report.push(
                                Diagnostic::warning("mas::yaml::second_document", &key.at, message)
                                    .label(&first.key_at, "the first begins here")
                                    .help("remove one of the two"),
                            );
                        }
                        if at_root && *restarted {
                            *first = Entry { key: name, key_at: key.at, value: node };
                            return Ok(());
                        }
                        report.push(
                            Diagnostic::error(
                                "mas::yaml::duplicate_key",
                                &key.at,
                                format!("the key `{name}` is given twice"),
                            )
                            .says("again here")
                            .label(&first.key_at, "first given here")
                            .help("keep one of the two"),
                        );
                        return Ok(());
                    }
                    seen.insert(name.clone(), entries.len());
                    entries.push(Entry { key: name, key_at: key.at, value: node });
                }
            },
        }
        Ok(())
    }

    fn merge(
        &mut self,
        merge: Node,
        entries: &mut Vec<Entry>,
        seen: &mut HashMap<Arc<str>, usize>,
    ) -> Result<(), Diagnostic> {
        let at = merge.at.clone();
        let maps = match merge.value {
            Value::List(items) => items,
            _ => vec![merge],
        };
        for node in maps {
            let Value::Map(map) = &node.value else {
                let message = format!("`<<` merges a map or a list of maps, found {}", node.noun());
                self.report.push(
                    Diagnostic::error("mas::yaml::merge", &node.at, message).help("write `<<: *anchor`"),
                );
                continue;
            };
            for entry in map.iter() {
                if seen.contains_key(&entry.key) {
                    continue;
                }
                self.spend(entry.value.count(), &at)?;
                seen.insert(entry.key.clone(), entries.len());
                entries.push(entry.clone());
            }
        }
        Ok(())
    }

    fn anchor(&mut self, id: usize, node: &Node) {
        // Zero means no anchor.
        if id != 0 {
            self.anchors.insert(id, (node.clone(), node.count()));
        }
    }

    fn expand(&mut self, id: usize, span: Span) -> Result<Node, Diagnostic> {
        let at = self.at(span);
        let Some((node, count)) = self.anchors.get(&id) else {
            let message = "the alias refers to a value that contains it";
            return Err(Diagnostic::error("mas::yaml::alias", &at, message));
        };
        let (node, count) = (node.clone(), *count);
        self.spend(count, &at)?;
        if self.stack.len() + node.depth() > MAX_DEPTH {
            let message = format!("nested too deeply: the alias reaches more than {MAX_DEPTH} levels");
            return Err(Diagnostic::error("mas::yaml::too_deep", &at, message));
        }
        Ok(node)
    }

    fn spend(&mut self, count: usize, at: &Location) -> Result<(), Diagnostic> {
        self.expanded += count;
        if self.expanded > MAX_EXPANDED {
            let message = format!("aliases expand to more than {MAX_EXPANDED} values");
            return Err(Diagnostic::error("mas::yaml::alias_bomb", at, message));
        }
        Ok(())
    }

    fn check_tag(&mut self, tag: Option<&Tag>, wanted: &str, span: Span) {
        if let Some(tag) = tag
            && !(tag.is_yaml_core_schema() && tag.suffix == wanted)
        {
            self.refuse_tag(tag, span);
        }
    }

    fn refuse_tag(&mut self, tag: &Tag, span: Span) {
        let at = self.at(span);
        let message = format!("the tag `{}{}` means nothing here", tag.handle, tag.suffix);
        self.report.push(Diagnostic::error("mas::yaml::tag", &at, message).help("remove the tag"));
    }

    fn scalar(&mut self, text: &str, plain: bool, tag: Option<&Tag>, span: Span) -> Node {
        let value = match tag {
            None if plain => resolve_plain(text),
            None => Value::Str,
            Some(tag) if tag.is_yaml_core_schema() => {
                let value = match tag.suffix.as_str() {
                    "str" => Some(Value::Str),
                    "int" => parse_int(text).map(Value::Int),
                    "float" => parse_float(text).map(Value::Float),
                    "bool" | "null" => Some(resolve_plain(text)),
                    _ => None,
                };
                value.unwrap_or_else(|| {
                    self.refuse_tag(tag, span);
                    Value::Str
                })
            }
            // A lone `!` only says "not resolved", that is: a string.
            Some(tag) if tag.handle.len() + tag.suffix.len() <= 1 => Value::Str,
            Some(tag) => {
                self.refuse_tag(tag, span);
                Value::Str
            }
        };
        let style = if plain { Style::Plain } else { Style::Quoted };
        let at = if plain { self.at(span) } else { self.at_trimmed(span, span) };
        Node { value, at, style, text: Some(Arc::from(text)) }
    }

    fn scan_error(&self, char_index: usize, info: &str) -> Diagnostic {
        let text = self.source.text();
        let offset = self.offsets.byte(char_index).min(text.len());
        let line_start =
            text.get(..offset).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1);
        let line = text.get(line_start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        let indentation = line.len() - line.trim_start().len();
        let lead = line.get(..indentation).unwrap_or_default();
        if let Some(tab) = lead.find('\t') {
            let at = Location::new(self.source.clone(), line_start + tab..line_start + tab + 1);
            return Diagnostic::error("mas::yaml::indentation", &at, "a tab is used for indentation")
                .help("indent with spaces");
        }
        if let Some((odd, c)) = lead.char_indices().find(|(_, c)| !c.is_ascii()) {
            let at = Location::new(self.source.clone(), line_start + odd..line_start + odd + c.len_utf8());
            let message = "the line begins with a non-breaking or other odd space, which is not indentation";
            return Diagnostic::error("mas::yaml::indentation", &at, message)
                .help("indent with ordinary spaces");
        }
        let width = text.get(offset..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        let at = Location::new(self.source.clone(), offset..offset + width);
        let help =
            line.trim_start().starts_with(['*', '&', '@', '`', '%']).then(|| "quote the value".to_owned());
        Diagnostic::error("mas::yaml::syntax", &at, format!("not valid YAML: {info}")).help_if(help)
    }
}

// The scanner counts characters; texts are cut by bytes.
struct Offsets(Option<Vec<u32>>, usize);

impl Offsets {
    fn of(text: &str) -> Self {
        let table = (!text.is_ascii())
            .then(|| text.char_indices().map(|(at, _)| u32::try_from(at).unwrap_or(u32::MAX)).collect());
        Self(table, text.len())
    }

    fn byte(&self, index: usize) -> usize {
        match &self.0 {
            None => index.min(self.1),
            Some(table) => table.get(index).map_or(self.1, |at| *at as usize),
        }
    }
}
