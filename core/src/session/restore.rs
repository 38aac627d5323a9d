//! The history of a session, from its log.

use std::sync::Arc;

use mas_contracts::{Message, Outcome, Part, Record};

use super::close_calls;

/// The messages of every turn in the log, oldest first. A turn that never ended, or that waits for a person,
/// counts with what it had, its open calls closed.
pub(super) fn history_of(records: Vec<Record>) -> Vec<Arc<Message>> {
    let mut history = Vec::new();
    let mut open: Vec<Arc<Message>> = Vec::new();
    for record in records {
        match record {
            Record::Turn { input, .. } => {
                if open.is_empty() {
                    open.push(Arc::new(Message::User { parts: input }));
                }
            }
            Record::Done { done, .. } => open.extend(messages_of(done.outcome)),
            Record::Ended { messages, .. } if messages.is_empty() => {}
            Record::Ended { messages, .. } => {
                // A resumed turn ends with the messages of the paused one before its own.
                if messages.first() != open.first() {
                    settle(&mut open, &mut history);
                }
                open.clear();
                history.extend(messages);
            }
            Record::Started { .. } => {}
        }
    }
    settle(&mut open, &mut history);
    history
}

fn settle(open: &mut Vec<Arc<Message>>, history: &mut Vec<Arc<Message>>) {
    close_calls(open);
    history.append(open);
}

fn messages_of(outcome: Outcome) -> Vec<Arc<Message>> {
    match outcome {
        Outcome::Model(completion) => {
            let text = completion.text.clone();
            let message = Message::Assistant {
                parts: if text.is_empty() { Vec::new() } else { vec![Part::text(text)] },
                reasoning: completion.reasoning.clone(),
                calls: completion.calls.clone(),
                provider_data: completion.provider_data.clone(),
            };
            vec![Arc::new(message)]
        }
        Outcome::Tools(results) => results,
        Outcome::Answered(parts) => vec![Arc::new(Message::User { parts })],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use mas_contracts::{Arguments, Completion, OpDone, ToolCall, TurnStatus};

    use super::*;

    fn turn(input: &str) -> Record {
        Record::Turn { turn: "t".into(), input: vec![Part::text(input)], blueprint: "".into() }
    }

    fn ended(messages: Vec<Message>, status: TurnStatus) -> Record {
        let messages = messages.into_iter().map(Arc::new).collect();
        Record::Ended { turn: "t".into(), status, messages, error: None, question: None }
    }

    fn calls() -> Record {
        let call = ToolCall { id: "1".into(), name: "look".into(), arguments: Arguments::from_text("{}") };
        let completion = Completion { calls: vec![call], ..Completion::default() };
        let done = OpDone { op: 0, outcome: Outcome::Model(Arc::new(completion)) };
        Record::Done { turn: "t".into(), done }
    }

    fn texts(records: Vec<Record>) -> Vec<String> {
        history_of(records).iter().map(|message| message.text().to_string()).collect()
    }

    #[test]
    fn ended_turns_count_with_their_messages() {
        let end = ended(vec![Message::user("hi"), Message::assistant("hello")], TurnStatus::Completed);
        assert_eq!(texts(vec![turn("hi"), end]), ["hi", "hello"]);
    }

    #[test]
    fn a_turn_that_never_ended_counts_with_its_calls_closed() {
        let history = history_of(vec![turn("hi"), calls()]);
        assert_eq!(history.len(), 3);
        assert!(matches!(&*history[2], Message::Tool { output, .. } if output.is_error));
    }

    #[test]
    fn a_waiting_turn_counts_once_whether_it_was_resumed_or_not() {
        let waits = || vec![turn("book"), calls(), ended(Vec::new(), TurnStatus::Interrupted)];
        assert_eq!(texts(waits()).len(), 3);
        let resumed = ended(vec![Message::user("book"), Message::assistant("booked")], TurnStatus::Completed);
        assert_eq!(texts([waits(), vec![turn("window"), resumed]].concat()), ["book", "booked"]);
    }
}
