//! Turns, one after the other, until the prompts end.

use std::{io::IsTerminal, pin::pin, sync::Arc, time::Duration};

use mas_contracts::{
    AgentHost, CallContext, CancelReason, Env, EventSink, Ids, Part, Reply, Result, TurnKey, TurnRequest,
};
use mas_core::{
    clock::RandomIds,
    team::{Team, TurnOutcome},
};

use crate::{
    cli::RunArgs,
    console,
    exit::Exit,
    prompts::{Next, Prompts},
    report::{Delegations, RunReport, Several, TurnReport},
    said::{Order, Said},
    screen::Screen,
    stop::{Ending, Stop},
    trace::{Depth, Trace},
};

/// How long a stopped turn may take to end before we go on without it.
const STOP_GRACE: Duration = Duration::from_millis(180);

/// A conversation under way.
pub(crate) struct Turns<'a> {
    args: &'a RunArgs,
    team: &'a Team,
    entry: &'a str,
    session: Arc<str>,
    prompts: Prompts,
    stop: Stop,
    screen: Option<Arc<Screen>>,
    tap: Arc<dyn EventSink>,
    delegations: Arc<Delegations>,
    /// The turns for the document; nobody else asks for them again.
    reports: Vec<TurnReport>,
    failed: bool,
}

/// How a turn went.
struct Went {
    reply: Result<Reply>,
    /// Whether a person stopped this turn, and goes on.
    stopped: bool,
    /// Why the conversation ends with it, if it does.
    ending: Option<Ending>,
}

impl<'a> Turns<'a> {
    /// A conversation with the agent `entry` of `team`, whose answers are `speaker`'s.
    pub(crate) fn new(args: &'a RunArgs, team: &'a Team, entry: &'a str, speaker: &str, env: &Env) -> Self {
        let screen = (!args.json).then(|| Arc::new(Screen::new(speaker)));
        let delegations = Arc::new(Delegations::default());
        let mut sinks: Vec<Arc<dyn EventSink>> = vec![delegations.clone()];
        if args.trace {
            sinks.push(Arc::new(Trace(Depth::Full)));
        } else if std::io::stderr().is_terminal() {
            sinks.push(Arc::new(Trace(Depth::Progress)));
        }
        sinks.extend(screen.clone().map(|screen| screen as Arc<dyn EventSink>));
        let stop = Stop::new();
        Self {
            args,
            team,
            entry,
            session: args.session.as_deref().map_or_else(|| RandomIds.next_id(), Into::into),
            prompts: Prompts::new(args, env),
            stop,
            screen,
            tap: Arc::new(Several(sinks)),
            delegations,
            reports: Vec::new(),
            failed: false,
        }
    }

    /// Runs it to its end.
    pub(crate) async fn run(mut self) -> Exit {
        if self.prompts.are_typed() {
            console::err("/help lists the commands, Ctrl-D ends.\n");
        }
        let ended = loop {
            let next = tokio::select! {
                biased;
                why = self.stop.requested() => break Some(why),
                next = self.prompts.next() => next,
            };
            match next {
                Ok(Next::Said(Said::Turn(prompt))) => {
                    let ending = self.turn(&prompt).await;
                    if ending.is_some() || self.args.single_turn {
                        break ending;
                    }
                }
                Ok(Next::Said(Said::Order(Order::Quit)) | Next::End) => break None,
                Ok(Next::Said(Said::Order(Order::Help))) => console::err(Order::LIST),
                Ok(Next::Said(Said::Order(Order::Reset))) => self.reset().await,
                Ok(Next::Said(Said::Unknown(word))) => console::err(&format!(
                    "error: there is no command {word}; a second slash before it says it to the agent\n{}",
                    Order::LIST
                )),
                Ok(Next::Interrupted) => break Some(Ending::Asked(CancelReason::Requested)),
                Err(error) => {
                    console::err(&format!("error: stdin cannot be read: {error}\n"));
                    return self.end(None, true);
                }
            }
        };
        self.end(ended, false)
    }

    /// Runs a turn. Returns why the conversation ends with it, if it does.
    async fn turn(&mut self, prompt: &str) -> Option<Ending> {
        if let Some(screen) = &self.screen {
            screen.prompt(prompt, self.prompts.are_shown());
        }
        let id = RandomIds.next_id();
        let request = TurnRequest {
            session: Some(self.session.clone()),
            turn: Some(id.clone()),
            parts: vec![Part::text(prompt)],
            ..TurnRequest::default()
        };
        let key = TurnKey {
            owner: None,
            agent: self.entry.into(),
            session: self.session.clone(),
            turn: id.clone(),
        };
        let team = self.team;
        let went = self.watch(team.turn(request, Some(self.tap.clone())), &key).await;
        if let Some(screen) = &self.screen {
            screen.answer(went.reply.as_ref().ok());
        }
        let report = TurnReport::new(&id, prompt, &went.reply, self.delegations.take());
        self.failed |= report.failed();
        if went.stopped {
            console::err("The turn is stopped; the session goes on.\n");
        } else if !self.args.json {
            console::err(&report.complaints());
        }
        if let Some(screen) = &self.screen {
            screen.gap();
        }
        if self.args.json {
            self.reports.push(report);
        }
        went.ending
    }

    /// Waits for a turn. Where a person types, Ctrl-C stops this turn only; a second one, before it has ended, ends
    /// the conversation, as everything else that asks for an end does at once.
    async fn watch(&mut self, turn: impl Future<Output = Result<TurnOutcome>>, key: &TurnKey) -> Went {
        let mut turn = pin!(turn);
        // The turn first: what has not begun cannot be stopped.
        let why = tokio::select! {
            biased;
            outcome = &mut turn => {
                let reply = outcome.and_then(|outcome| outcome.reply);
                return Went { reply, stopped: false, ending: None };
            }
            why = self.stop.requested() => why,
        };
        let reason = why.reason();
        let goes_on = self.prompts.are_typed() && why == Ending::Asked(CancelReason::Requested);
        if goes_on {
            // The terminal shows the key.
            console::echoed("^C");
            self.team.cancel(key, reason);
        } else {
            self.team.stop(reason);
        }
        let mut ending = (!goes_on).then_some(why);
        let outcome = tokio::select! {
            biased;
            outcome = tokio::time::timeout(STOP_GRACE, &mut turn) => outcome.ok(),
            again = self.stop.requested(), if goes_on => {
                ending = Some(again);
                None
            }
        };
        let reply = match outcome {
            Some(outcome) => outcome.and_then(|outcome| outcome.reply),
            None => Err(CallContext::stopped(reason)),
        };
        Went { stopped: goes_on && reply.is_err(), reply, ending }
    }

    /// Begins anew: in a new session, or, where the session is kept, in the same one, emptied.
    async fn reset(&mut self) {
        if self.args.json {
            console::err("error: /reset does not go with --json, whose document is about one session\n");
            return;
        }
        match self.team.forget(self.entry, &self.session).await {
            Err(error) => console::err(&format!("error[{}]: nothing is reset: {error:#}\n", error.code())),
            Ok(()) if self.args.session.is_some() => console::err(&format!(
                "What was kept of the session {} is forgotten; it begins anew.\n",
                self.session
            )),
            Ok(()) => {
                self.session = RandomIds.next_id();
                console::err(&format!("A new session begins: {}\n", self.session));
            }
        }
    }

    fn end(self, ended: Option<Ending>, broken: bool) -> Exit {
        let interrupted = matches!(ended, Some(Ending::Asked(_)));
        // A person saw each failure when it came.
        let forgiven = self.prompts.are_typed() && !self.args.json;
        let failed = broken || (self.failed && !forgiven);
        // The terminal is put back before anything else is written.
        drop(self.prompts);
        console::fresh_line();
        if self.args.json {
            let status = match (interrupted, broken) {
                (true, _) => Some("cancelled"),
                (false, true) => Some("failed"),
                (false, false) => None,
            };
            console::out_json(&RunReport::new(&self.session, status, self.reports));
        }
        match (interrupted, failed) {
            (true, _) => Exit::Interrupted,
            (false, true) if ended.is_none() => Exit::Failed,
            (false, _) => Exit::Done,
        }
    }
}
