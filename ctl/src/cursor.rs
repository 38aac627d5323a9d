//! Where the cursor of the terminal is, as far as we know what was written there.

/// Whether a line is begun on stdout, and whether stderr goes to the same terminal.
#[derive(Debug)]
pub(crate) struct Cursor {
    /// Whether stdout and stderr are shown on one terminal, and so break each other's lines.
    shared: bool,
    /// Whether a line is begun and not ended.
    open: bool,
}

impl Cursor {
    /// A cursor at the beginning of a line.
    pub(crate) fn new(shared: bool) -> Self {
        Self { shared, open: false }
    }

    /// Follows what was written to stdout.
    pub(crate) fn printed(&mut self, text: &str) {
        if let Some(last) = text.chars().next_back() {
            self.open = last != '\n';
        }
    }

    /// Whether a newline is needed for a fresh line; it counts as written.
    pub(crate) fn breaks(&mut self) -> bool {
        std::mem::take(&mut self.open)
    }

    /// Whether a newline is needed before a note on stderr; it counts as written.
    pub(crate) fn breaks_for_note(&mut self) -> bool {
        self.shared && self.breaks()
    }

    /// Follows what was written to stderr.
    pub(crate) fn noted(&mut self, text: &str) {
        if self.shared {
            self.printed(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a terminal shows of these writes; `!` marks what goes to stderr.
    fn shown(shared: bool, writes: &[&str]) -> String {
        let mut cursor = Cursor::new(shared);
        let mut screen = String::new();
        for text in writes {
            match text.strip_prefix('!') {
                Some(note) => {
                    if cursor.breaks_for_note() {
                        screen.push('\n');
                    }
                    screen.push_str(note);
                    cursor.noted(note);
                }
                None => {
                    screen.push_str(text);
                    cursor.printed(text);
                }
            }
        }
        if cursor.breaks() {
            screen.push('\n');
        }
        screen
    }

    #[test]
    fn a_note_on_the_same_terminal_begins_on_a_line_of_its_own_and_the_answer_goes_on_below() {
        let writes = ["Agent: The plan ", "!  b -> c\n", "!  b <- c\n", "is good.", ""];
        insta::assert_snapshot!(shown(true, &writes), @r"
        Agent: The plan 
          b -> c
          b <- c
        is good.
        ");
    }

    #[test]
    fn elsewhere_nothing_is_added() {
        assert_eq!(shown(false, &["a", "!note\n", "b"]), "anote\nb\n");
        assert_eq!(shown(true, &["a\n", "!note\n", "b\n"]), "a\nnote\nb\n");
        assert_eq!(shown(true, &["!> ", "!note\n"]), "> \nnote\n");
        assert_eq!(shown(true, &[]), "");
    }
}
