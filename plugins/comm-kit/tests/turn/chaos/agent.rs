//! An agent with one task, over a network that fails by a seed.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use mas_comm_kit::{
    retry::Jitter,
    turn::{Answer, Ask, Heard, Update, Updates, Upstream},
};
use mas_contracts::{Artifact, Delivery, ErrorKind, Part, Result, Task, TaskMessage, TaskState, TaskStatus};
use tokio::time::Instant;

use crate::kit::{broken, message, refused, secs, task_of};

use TaskState::{AuthRequired, Completed, Failed, InputRequired, Working};

/// Chance, to be had by several.
pub(super) struct Dice(Mutex<Jitter>);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(Mutex::new(Jitter::seeded(seed)))
    }

    pub(super) fn roll(&self) -> f64 {
        lock(&self.0).next()
    }

    pub(super) fn chance(&self, of: f64) -> bool {
        self.roll() < of
    }

    pub(super) fn pick<T: Clone>(&self, from: &[T]) -> T {
        let at = self.roll() * f64::from(u32::try_from(from.len()).unwrap_or(1));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within the list")]
        from[at as usize].clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What happens to the task, and when after its begin.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Status(TaskState, Option<&'static str>),
    Piece(&'static str, String, bool),
}

/// An agent with one task, over a network that fails.
pub(super) struct Agent {
    pub(super) dice: Dice,
    streams: bool,
    pub(super) plan: Vec<(f64, Step)>,
    /// Whether the agent keeps ids of conversations that callers give.
    takes_ids: bool,
    world: Mutex<World>,
}

#[derive(Default)]
pub(super) struct World {
    began: Option<Instant>,
    pub(super) executed: u32,
    pub(super) sends: u32,
    /// Whether the outcome of a send became unknown.
    unknown: bool,
    /// Whether it was sent again after that.
    pub(super) sent_again: bool,
    /// Whether the task was named to the caller.
    pub(super) named: bool,
    gets_failed: u32,
    pub(super) cancels: u32,
}

impl Agent {
    pub(super) fn new(seed: u64) -> Self {
        let dice = Dice::new(seed);
        let mut plan = Vec::new();
        let mut at = 0.0;
        plan.push((at, Step::Status(Working, None)));
        for n in 0..dice.pick(&[0, 1, 3, 8]) {
            at += dice.roll() * dice.pick(&[1.0, 10.0, 50.0]);
            let id = if dice.chance(0.2) { "beside" } else { "answer" };
            plan.push((at, Step::Piece(id, format!("{n} "), dice.chance(0.2))));
            if dice.chance(0.1) {
                plan.push((at, Step::Status(AuthRequired, Some("Sign in"))));
                at += dice.roll() * 30.0;
                plan.push((at, Step::Status(Working, None)));
            }
            if dice.chance(0.2) {
                plan.push((at, Step::Status(Working, Some("progress"))));
            }
        }
        at += dice.roll() * dice.pick(&[0.0, 1.0, 30.0, 2000.0]);
        let end = dice.pick(&[Completed, Completed, Completed, Failed, InputRequired]);
        plan.push((at, Step::Status(end, Some("the end"))));
        let streams = dice.chance(0.8);
        let takes_ids = dice.chance(0.9);
        Self { dice, streams, plan, takes_ids, world: Mutex::default() }
    }

    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        lock(&self.world)
    }

    fn age(&self) -> f64 {
        self.world().began.map_or(0.0, |began| began.elapsed().as_secs_f64())
    }

    /// When the task has its last state.
    pub(super) fn ends_at(&self) -> f64 {
        self.plan.last().map_or(0.0, |(at, _)| *at)
    }

    pub(super) fn is_over(&self) -> bool {
        self.age() >= self.ends_at()
    }

    /// The task after so many steps.
    pub(super) fn after(&self, steps: usize) -> Task {
        let mut task = task_of(Working, None, &[]);
        for (_, step) in self.plan.iter().take(steps) {
            match step {
                Step::Status(state, text) => task.status = status(*state, *text),
                Step::Piece(id, text, _) => {
                    let known = task.artifacts.iter_mut().find(|artifact| *artifact.id == **id);
                    let part = Part::text(text.as_str());
                    match known {
                        Some(artifact) => Arc::make_mut(artifact).parts.push(part),
                        None => task.artifacts.push(Arc::new(Artifact::new(*id, vec![part]))),
                    }
                }
            }
        }
        task
    }

    pub(super) fn steps_so_far(&self) -> usize {
        let age = self.age();
        self.plan.iter().take_while(|(at, _)| *at <= age).count()
    }

    /// What the caller should end up with.
    pub(super) fn wanted(&self) -> (TaskState, String, Vec<String>) {
        let task = self.after(self.plan.len());
        let text = |id: &str| {
            let of = task.artifacts.iter().find(|artifact| &*artifact.id == id);
            of.map(|artifact| mas_contracts::text_of(&artifact.parts).to_string())
        };
        let (answer, beside) = match (text("answer"), text("beside")) {
            _ if task.status.state != Completed => {
                ("the end".to_owned(), task.artifacts.iter().map(|it| it.id.to_string()).collect())
            }
            (Some(answer), beside) => (answer, beside.map(|_| "beside".to_owned()).into_iter().collect()),
            (None, Some(beside)) => (beside, Vec::new()),
            (None, None) => ("the end".to_owned(), Vec::new()),
        };
        (task.status.state, answer, beside)
    }

    /// What the network does to a message before it arrives, and after.
    async fn deliver(&self, message: &TaskMessage, stream: bool) -> Result<()> {
        {
            let mut world = self.world();
            world.sends += 1;
            world.sent_again |= world.unknown;
        }
        tokio::time::sleep(secs(self.dice.roll())).await;
        if self.dice.chance(0.05) {
            return Err(broken().with_delivery(Delivery::NotSent));
        }
        if stream && self.dice.chance(0.1) {
            return Err(refused(self.dice.pick(&[ErrorKind::Unsupported, ErrorKind::NotFound])));
        }
        if message.context.is_some() && !self.takes_ids {
            return Err(refused(ErrorKind::Invalid));
        }
        if self.dice.chance(0.05) {
            return Err(refused(self.dice.pick(&[
                ErrorKind::Invalid,
                ErrorKind::Unavailable,
                ErrorKind::RateLimited,
            ])));
        }
        {
            let mut world = self.world();
            world.executed += 1;
            world.began = Some(Instant::now());
        }
        if self.dice.chance(0.05) {
            self.world().unknown = true;
            return Err(broken());
        }
        if self.dice.chance(0.03) {
            self.world().unknown = true;
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

fn status(state: TaskState, text: Option<&str>) -> TaskStatus {
    TaskStatus { state, message: text.map(|text| message(text, text)), since: Duration::ZERO }
}

pub(super) struct Network(pub(super) Arc<Agent>);

#[async_trait]
impl Upstream for Network {
    fn streams(&self) -> bool {
        self.0.streams
    }

    async fn send(&self, message: &Arc<TaskMessage>, _ask: &Ask) -> Result<Answer> {
        let agent = &self.0;
        agent.deliver(message, false).await?;
        if agent.dice.chance(0.5) {
            tokio::time::sleep(secs((agent.ends_at() - agent.age()).max(0.0))).await;
        }
        agent.world().named = true;
        Ok(Answer::Task(Arc::new(agent.after(agent.steps_so_far()))))
    }

    async fn stream(&self, message: &Arc<TaskMessage>, _ask: &Ask) -> Result<Box<dyn Updates>> {
        self.0.deliver(message, true).await?;
        Ok(Box::new(Line::new(self.0.clone(), self.0.dice.chance(0.5).then_some(0))))
    }

    async fn subscribe(&self, _task: &str) -> Result<Box<dyn Updates>> {
        let agent = &self.0;
        tokio::time::sleep(secs(agent.dice.roll())).await;
        match agent.dice.roll() {
            _ if agent.is_over() => {
                Err(refused(agent.dice.pick(&[ErrorKind::Unsupported, ErrorKind::NotFound])))
            }
            r if r < 0.1 => Err(broken()),
            r if r < 0.15 => std::future::pending().await,
            r if r < 0.2 => Err(refused(ErrorKind::Unsupported)),
            _ => Ok(Box::new(Line::new(agent.clone(), Some(agent.steps_so_far())))),
        }
    }

    async fn get(&self, _task: &str, _history_length: Option<u32>) -> Result<Arc<Task>> {
        let agent = &self.0;
        // It fails often, and never so often in a row that it cannot be asked.
        if agent.world().gets_failed < 3 && agent.dice.chance(0.3) {
            agent.world().gets_failed += 1;
            if agent.dice.chance(0.3) {
                std::future::pending::<()>().await;
            }
            return Err(broken());
        }
        agent.world().gets_failed = 0;
        tokio::time::sleep(secs(agent.dice.roll())).await;
        Ok(Arc::new(agent.after(agent.steps_so_far())))
    }

    async fn cancel(&self, _task: &str) -> Result<Arc<Task>> {
        self.0.world().cancels += 1;
        match self.0.dice.roll() {
            r if r < 0.2 => Err(broken()),
            r if r < 0.4 => std::future::pending().await,
            _ => Err(refused(ErrorKind::Conflict)),
        }
    }
}

/// A stream over a network that fails: the task as it was after some steps, if the agent begins so, and what follows.
struct Line {
    agent: Arc<Agent>,
    snapshot: Option<usize>,
    next: usize,
    /// What is to come next, once it was decided.
    decided: Option<Fault>,
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    None,
    Cut,
    Broken,
    Silent,
    Alive,
    Again,
}

impl Line {
    fn new(agent: Arc<Agent>, snapshot: Option<usize>) -> Self {
        Self { agent, snapshot, next: snapshot.unwrap_or(0), decided: None }
    }

    fn update(&self, at: usize) -> Option<Update> {
        let (_, step) = self.agent.plan.get(at)?;
        Some(match step {
            Step::Status(state, text) => Update::Status {
                task: "t1".into(),
                context: "".into(),
                status: status(*state, *text),
                last: state.is_terminal(),
            },
            Step::Piece(id, text, last) => {
                let again = self.agent.plan.iter().take(at);
                let begun =
                    again.clone().any(|(_, step)| matches!(step, Step::Piece(known, ..) if known == id));
                Update::Artifact {
                    task: "t1".into(),
                    context: "".into(),
                    artifact: Arc::new(Artifact::new(*id, vec![Part::text(text.as_str())])),
                    append: begun,
                    last_chunk: *last,
                }
            }
        })
    }
}

#[async_trait]
impl Updates for Line {
    async fn next(&mut self) -> Result<Option<Heard>> {
        let dice = &self.agent.dice;
        let fault = *self.decided.get_or_insert_with(|| match dice.roll() {
            r if r < 0.04 => Fault::Cut,
            r if r < 0.06 => Fault::Broken,
            r if r < 0.08 => Fault::Silent,
            r if r < 0.15 => Fault::Alive,
            r if r < 0.20 => Fault::Again,
            _ => Fault::None,
        });
        match fault {
            Fault::Silent => return std::future::pending().await,
            Fault::Cut => return Ok(None),
            Fault::Broken => return Err(broken()),
            Fault::Alive => {
                self.decided = None;
                return Ok(Some(Heard::Alive));
            }
            Fault::None | Fault::Again => {}
        }
        let update = match self.snapshot {
            Some(steps) => Update::Task(Arc::new(self.agent.after(steps))),
            None => {
                let Some((at, _)) = self.agent.plan.get(self.next) else { return Ok(None) };
                tokio::time::sleep(secs((at - self.agent.age()).max(0.0))).await;
                let Some(update) = self.update(self.next) else { return Ok(None) };
                self.next += 1;
                update
            }
        };
        self.decided = None;
        // Something is told twice: the task as it is.
        self.snapshot = matches!(fault, Fault::Again).then_some(self.next);
        self.agent.world().named = true;
        Ok(Some(Heard::Update(update)))
    }
}
