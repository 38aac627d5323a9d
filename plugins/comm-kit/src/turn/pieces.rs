//! Parts as they come in pieces: plain text that goes on is one part.

use mas_contracts::{Content, Part};

/// Parts that grow.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Pieces(Vec<Piece>);

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    /// Plain text; what follows it directly is a part of it.
    Text(String),
    /// Any other part.
    Part(Part),
}

/// How far pieces were told: so many whole ones, and so many bytes of the text behind them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pieces: usize,
    bytes: usize,
}

impl Pieces {
    pub(super) fn of(parts: &[Part]) -> Self {
        let mut pieces = Self::default();
        pieces.extend(parts);
        pieces
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds parts at the end.
    pub(super) fn extend(&mut self, parts: &[Part]) {
        for part in parts {
            match (&part.content, &part.meta, self.0.last_mut()) {
                (Content::Text(text), None, _) if text.is_empty() => {}
                (Content::Text(text), None, Some(Piece::Text(all))) => all.push_str(text),
                (Content::Text(text), None, _) => self.0.push(Piece::Text(text.to_string())),
                _ => self.0.push(Piece::Part(part.clone())),
            }
        }
    }

    /// The parts.
    pub(super) fn to_parts(&self) -> Vec<Part> {
        let of = |piece: &Piece| match piece {
            Piece::Text(text) => Part::text(text.as_str()),
            Piece::Part(part) => part.clone(),
        };
        self.0.iter().map(of).collect()
    }

    /// Whether they begin with what was told of `others`.
    pub(super) fn extends(&self, others: &Self, told: Told) -> bool {
        let same = self.0.get(..told.pieces).is_some_and(|whole| Some(whole) == others.0.get(..told.pieces));
        same && (told.bytes == 0 || self.begun(told).is_some_and(|text| Some(text) == others.begun(told)))
    }

    /// The part of a text that was told of.
    fn begun(&self, told: Told) -> Option<&[u8]> {
        match self.0.get(told.pieces)? {
            Piece::Text(text) => text.as_bytes().get(..told.bytes),
            Piece::Part(_) => None,
        }
    }

    /// The parts after what was told, and how far that is then.
    pub(super) fn after(&self, told: Told) -> (Vec<Part>, Told) {
        let mut news = Vec::new();
        let mut now = told;
        for (at, piece) in self.0.iter().enumerate().skip(told.pieces) {
            match piece {
                Piece::Text(text) => {
                    let begun = if at == told.pieces { told.bytes } else { 0 };
                    if let Some(rest) = text.get(begun..).filter(|rest| !rest.is_empty()) {
                        news.push(Part::text(rest));
                    }
                    // The last text may go on.
                    now = Told { pieces: at, bytes: text.len() };
                }
                Piece::Part(part) => {
                    news.push(part.clone());
                    now = Told { pieces: at.saturating_add(1), bytes: 0 };
                }
            }
        }
        (news, now)
    }
}
