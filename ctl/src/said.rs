//! What a line means: something for the agent, or a command of ours.

/// Our commands, with what they do, for the list that `/help` shows.
const HELP: &str = "\
/help               ask for this list
/reset              begin a new session; one kept by --session is forgotten
/quit, /exit, /q    end, as Ctrl-D does at an empty prompt
//TEXT              say /TEXT to the agent
Ctrl-C              end the turn; at the prompt clear the line, then end
Up, Down, Ctrl-R    go through what was said before, and search it
";

/// A command of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Ends the conversation.
    Quit,
    /// Begins a new session.
    Reset,
    /// Lists the commands.
    Help,
}

/// What a line means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// It is for the agent.
    Turn(String),
    /// It is for us.
    Order(Order),
    /// It looks like a command of ours and is none; this word was meant.
    Unknown(String),
}

impl Order {
    /// The list of the commands.
    pub(crate) const LIST: &'static str = HELP;

    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "/quit" | "/exit" | "/q" => Self::Quit,
            "/reset" => Self::Reset,
            "/help" => Self::Help,
            _ => return None,
        })
    }
}

impl Said {
    /// What a person typed. Whatever begins with a slash is for us; `//` gives one slash to the agent.
    pub(crate) fn typed(line: &str) -> Self {
        if line.starts_with("//") {
            return Self::Turn(line.chars().skip(1).collect());
        }
        match Order::of(line.trim()) {
            Some(order) => Self::Order(order),
            None if line.starts_with('/') => {
                Self::Unknown(line.split_whitespace().next().unwrap_or_default().to_owned())
            }
            None => Self::Turn(line.to_owned()),
        }
    }

    /// A line of a pipe. It is a turn as it stands, unless it is exactly a command; a command with a second slash
    /// before it is a turn with one.
    pub(crate) fn piped(line: String) -> Self {
        if let Some(order) = Order::of(&line) {
            return Self::Order(order);
        }
        match line.strip_prefix('/') {
            Some(word) if Order::of(word).is_some() => Self::Turn(word.to_owned()),
            _ => Self::Turn(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn turn(text: &str) -> Said {
        Said::Turn(text.to_owned())
    }

    #[rstest]
    #[case("hi", turn("hi"), turn("hi"))]
    #[case("/quit", Said::Order(Order::Quit), Said::Order(Order::Quit))]
    #[case("/exit", Said::Order(Order::Quit), Said::Order(Order::Quit))]
    #[case("/q", Said::Order(Order::Quit), Said::Order(Order::Quit))]
    #[case("/reset", Said::Order(Order::Reset), Said::Order(Order::Reset))]
    #[case("/help", Said::Order(Order::Help), Said::Order(Order::Help))]
    #[case(" /q ", Said::Order(Order::Quit), turn(" /q "))]
    #[case("/quit now", Said::Unknown("/quit".into()), turn("/quit now"))]
    #[case("/QUIT", Said::Unknown("/QUIT".into()), turn("/QUIT"))]
    #[case("/", Said::Unknown("/".into()), turn("/"))]
    #[case("/etc/hosts is what?", Said::Unknown("/etc/hosts".into()), turn("/etc/hosts is what?"))]
    #[case("//quit", turn("/quit"), turn("/quit"))]
    #[case("//x y", turn("/x y"), turn("//x y"))]
    #[case("///quit", turn("//quit"), turn("///quit"))]
    #[case("say /quit", turn("say /quit"), turn("say /quit"))]
    fn a_line_is_a_turn_or_a_command(#[case] line: &str, #[case] typed: Said, #[case] piped: Said) {
        assert_eq!(Said::typed(line), typed);
        assert_eq!(Said::piped(line.to_owned()), piped);
    }
}
