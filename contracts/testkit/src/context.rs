//! Call contexts for tests.

use std::{
    path::Path,
    sync::{Arc, Weak},
    time::Duration,
};

use mas_contracts::{
    BuildContext, CallContext, CallId, Clock, Env, EventSink, NoEvents, Scope, Tree, TreeLimits,
};

use crate::{ScriptedHost, SeqIds, TokioClock};

/// The context of a root turn of the agent `root` with a minute to go, on a fresh tree.
#[must_use]
pub fn call_context() -> CallContext {
    CallContextBuilder::new("root").build()
}

/// What a builder is given: no agents, this environment, tokio's clock, ids in sequence.
#[must_use]
pub fn build_context(base: &Path, env: &[(&str, &str)]) -> BuildContext {
    BuildContext {
        host: Weak::<ScriptedHost>::new(),
        env: Env::new(env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))),
        clock: TokioClock::shared(),
        ids: Arc::new(SeqIds::default()),
        base: base.into(),
        shared: mas_contracts::Shared::default(),
    }
}

/// Builds scopes and call contexts; everything but the agent has a default.
#[derive(Clone, Debug)]
pub struct CallContextBuilder {
    agent: Arc<str>,
    session: Arc<str>,
    turn: Arc<str>,
    parent: Option<(Arc<Scope>, CallId)>,
    sink: Arc<dyn EventSink>,
    clock: Arc<dyn Clock>,
    limits: TreeLimits,
    ancestry: Vec<Arc<str>>,
    timeout: Duration,
}

impl CallContextBuilder {
    /// A root turn `turn` of `agent` in the session `session`: a minute to go, default limits, no events kept.
    pub fn new(agent: impl Into<Arc<str>>) -> Self {
        Self {
            agent: agent.into(),
            session: Arc::from("session"),
            turn: Arc::from("turn"),
            parent: None,
            sink: Arc::new(NoEvents),
            clock: TokioClock::shared(),
            limits: TreeLimits::default(),
            ancestry: Vec::new(),
            timeout: Duration::from_secs(60),
        }
    }

    /// Names the session.
    #[must_use]
    pub fn session(mut self, session: impl Into<Arc<str>>) -> Self {
        self.session = session.into();
        self
    }

    /// Names the turn.
    #[must_use]
    pub fn turn(mut self, turn: impl Into<Arc<str>>) -> Self {
        self.turn = turn.into();
        self
    }

    /// Puts the turn below the call `parent`: same tree, same sink, one deeper.
    #[must_use]
    pub fn below(mut self, parent: &CallContext) -> Self {
        self.parent = Some((parent.scope().clone(), parent.call()));
        self.sink = parent.scope().sink.clone();
        self
    }

    /// Says where events go.
    #[must_use]
    pub fn sink(mut self, sink: Arc<dyn EventSink>) -> Self {
        self.sink = sink;
        self
    }

    /// Sets the clock; it has no effect below a parent.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the limits of the tree; they have no effect below a parent.
    #[must_use]
    pub fn limits(mut self, limits: TreeLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Names agents above the root in other processes; they have no effect below a parent.
    #[must_use]
    pub fn ancestry<'a>(mut self, agents: impl IntoIterator<Item = &'a str>) -> Self {
        self.ancestry = agents.into_iter().map(Arc::from).collect();
        self
    }

    /// Sets how long the call may take, from the moment it is built.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The scope.
    #[must_use]
    pub fn scope(&self) -> Arc<Scope> {
        let (tree, depth) = match &self.parent {
            Some((parent, _)) => (parent.tree.clone(), parent.depth.saturating_add(1)),
            None => {
                let depth = u16::try_from(self.ancestry.len()).unwrap_or(u16::MAX);
                let tree = Tree::new(self.limits, self.clock.clone()).below(self.ancestry.clone());
                (Arc::new(tree), depth)
            }
        };
        Arc::new(Scope {
            session: self.session.clone(),
            turn: self.turn.clone(),
            agent: self.agent.clone(),
            depth,
            parent: self.parent.as_ref().map(|(parent, _)| parent.clone()),
            caller: self.parent.as_ref().map(|(_, call)| *call),
            sink: self.sink.clone(),
            tree,
        })
    }

    /// A call of the scope.
    #[must_use]
    pub fn build(&self) -> CallContext {
        let scope = self.scope();
        let deadline = scope.tree.clock().now() + self.timeout;
        CallContext::new(scope, deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_shares_the_tree_and_knows_its_path() {
        let root = CallContextBuilder::new("root").ancestry(["far"]).build();
        let child = CallContextBuilder::new("child").below(&root).build();
        assert!(Arc::ptr_eq(&child.scope().tree, &root.scope().tree));
        assert_eq!((root.scope().depth, child.scope().depth), (1, 2));
        assert_eq!(child.scope().caller, Some(root.call()));
        let path: Vec<_> = child.scope().path().iter().map(ToString::to_string).collect();
        assert_eq!(path, ["far", "root", "child"]);
    }
}
