//! What a team is to its backends and exposures: it runs, submits and cancels turns by name.

use std::sync::Arc;

use async_trait::async_trait;
use mas_contracts::{
    AgentHost, AgentProfile, CallContext, CancelReason, Delivery, End, Error, ErrorKind, EventSink,
    EventStream, Outbound, Reply, Result, Scope, SessionKey, Thread, TurnKey, TurnRequest, TurnTicket,
};

use super::Team;
use crate::{session::Admission, turn::OnDrop};

#[async_trait]
impl AgentHost for Team {
    async fn run(&self, cx: &CallContext, to: &str, message: Outbound) -> Result<Reply> {
        let agent = self.agent(to)?;
        let above = cx.scope();
        let Outbound { parts, message_id, thread, task } = message;
        let once = thread.is_once();
        if above.passes_through(to) {
            return Err(Error::new(ErrorKind::Loop, format!("`{to}` waits for this call already"))
                .with_code("mas::delegation::loop"));
        }
        let key = SessionKey {
            owner: above.tree.owner().cloned(),
            agent: agent.profile.id.clone(),
            session: thread.key(to),
        };
        drop(thread);
        let session = self.sessions.open(key);
        let scope = Arc::new(Scope {
            session: session.key().session.clone(),
            turn: message_id.clone(),
            agent: agent.profile.id.clone(),
            depth: above.depth.saturating_add(1),
            parent: Some(above.clone()),
            caller: Some(cx.call()),
            sink: above.sink.clone(),
            tree: above.tree.clone(),
        });
        let child = CallContext::new(scope, cx.deadline());
        let mut admission = session.admit(message_id, parts, &above.tree, None, false)?;
        // However this ends, a conversation for one call leaves nothing behind, unless it waits for a person.
        let forget = OnDrop::new(|| {
            match (once, agent.routes.is_empty()) {
                (false, _) => {}
                // Who delegates to nobody has no conversations below.
                (true, true) => self.sessions.remove(session.key()),
                (true, false) => self.sessions.remove_below(session.key()),
            }
        });
        let reply = match &mut admission {
            Admission::Known(slot) => slot.get().await,
            Admission::New(admitted) => {
                self.run_admitted(agent, &child, &session, admitted, task.as_deref()).await
            }
        };
        match &reply {
            Ok(Reply { end: End::Interrupted(_), .. }) => forget.disarm(),
            _ => drop(forget),
        }
        // The turn was let in: whatever its error says of a call inside it, the task itself was executed.
        reply.map_err(|error| match error.delivery() {
            Delivery::NotSent | Delivery::Rejected => error.with_delivery(Delivery::Answered),
            Delivery::Unknown | Delivery::Answered => error,
        })
    }

    fn submit(&self, request: TurnRequest) -> Result<TurnTicket> {
        let runtime = tokio::runtime::Handle::try_current()
            .map_err(|_| Error::internal("a turn can be submitted only inside a runtime"))?;
        let team = self.living()?;
        let mut rooted = self.root(request, None, true)?;
        let key = rooted.key.clone();
        let slot = match &rooted.admission {
            Admission::Known(slot) => slot.clone(),
            Admission::New(admitted) => {
                let slot = admitted.slot().cloned();
                slot.ok_or_else(|| Error::internal("a submitted turn has no place for its reply"))?
            }
        };
        runtime.spawn(async move { team.run_root(&mut rooted).await });
        Ok(TurnTicket { key, reply: Box::pin(async move { slot.get().await }) })
    }

    fn begin(&self, request: TurnRequest, tap: Arc<dyn EventSink>) -> Result<TurnTicket> {
        let team = self.living()?;
        let mut rooted = self.root(request, Some(tap), false)?;
        let key = rooted.key.clone();
        Ok(TurnTicket { key, reply: Box::pin(async move { team.run_root(&mut rooted).await }) })
    }

    fn cancel(&self, turn: &TurnKey, reason: CancelReason) -> bool {
        self.session(&session_of(turn)).is_some_and(|session| session.cancel(&turn.turn, reason))
    }

    fn subscribe(&self, turn: &TurnKey, after: u64) -> Option<EventStream> {
        self.session(&session_of(turn))?.subscribe(&turn.turn, after)
    }

    fn describe(&self, agent: &str) -> Option<AgentProfile> {
        Some(self.agent(agent).ok()?.profile.clone())
    }

    fn agents(&self) -> Vec<Arc<str>> {
        self.agents.get().map(|agents| agents.order.clone()).unwrap_or_default()
    }
}

fn session_of(turn: &TurnKey) -> SessionKey {
    SessionKey {
        owner: turn.owner.clone(),
        agent: turn.agent.clone(),
        session: Thread::root_key(turn.session.clone()),
    }
}
