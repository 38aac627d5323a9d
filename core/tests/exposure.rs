//! Who listens where: rows that `serve` makes, sockets that are claimed, listeners that are bound and end.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "helpers of tests; clippy.toml reaches test functions only"
)]

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use async_trait::async_trait;
use mas_contracts::{
    AgentExposeContract, Build, BuildContext, Builder, Claim, Descriptor, Env, Error, ErrorKind, Exposure,
    HostedEndpoint, Problem, Record, Result, Served, Serving, SessionKey, Shared, StoreContract, Task,
    TaskPage, TaskQuery, TaskScope, TaskStore, Term,
};
use mas_core::{
    blueprint::{AgentBlueprint, Blueprint, EndpointBlueprint},
    clock::{RandomIds, TokioClock},
    diagnostic::{Location, Report},
    exposure::{Asked, ExposurePlan, ask, check_sockets, use_as_peers},
    manifest::{Located, Params, Usage},
    registry::Registry,
    team::{Team, TeamLimits, TeamParts},
    wiring::{Hosting, wire},
};
use serde_json::{Value, json};

/// An exposure whose rows say `a2a: {host, port, path, taken, served}`.
struct Scripted;

/// What was bound and how it ended, for the test whose environment names it.
#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Log {
    fn of(build: &BuildContext) -> Arc<Self> {
        build.shared.get_or_make("log", || Ok(Self::default())).unwrap()
    }

    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }

    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

fn word(endpoint: &HostedEndpoint, key: &str) -> String {
    let at = endpoint.params.get("a2a").and_then(|a2a| a2a.get(key));
    at.and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[async_trait]
impl AgentExposeContract for Scripted {
    fn claims(
        &self,
        endpoint: &HostedEndpoint,
        foreground: bool,
    ) -> std::result::Result<Vec<Claim>, Vec<Problem>> {
        let listen = endpoint.params.pointer("/a2a/listen");
        let listen = listen.ok_or_else(|| vec![Problem::new("where?").at("a2a.listen").help("say it")])?;
        let port = |at: &Value| at.get("port").and_then(Value::as_u64).unwrap_or_default();
        let claim = |port: u64, what: &'static str, path: String| Claim {
            host: listen.get("host").and_then(Value::as_str).unwrap_or("127.0.0.1").to_owned(),
            port: u16::try_from(port).unwrap(),
            what,
            path,
            terms: vec![Term { parameter: "a2a.tls", value: word(endpoint, "tls") }],
        };
        let mut claims = vec![claim(port(listen), "http", word(endpoint, "path"))];
        if let Some(grpc) =
            endpoint.params.pointer("/a2a/grpc").and_then(Value::as_u64).filter(|_| foreground)
        {
            claims.push(claim(grpc, "grpc", endpoint.agent.to_string()));
        }
        Ok(claims)
    }

    async fn bind(&self, serving: Serving, endpoints: &[HostedEndpoint]) -> Result<Box<dyn Exposure>> {
        let names: Vec<&str> = endpoints.iter().map(|endpoint| &*endpoint.agent).collect();
        let names = names.join("+");
        if endpoints.iter().any(|endpoint| word(endpoint, "taken") == "yes") {
            return Err(Error::new(ErrorKind::Unavailable, "another program listens there"));
        }
        let log = Log::of(&serving.build);
        log.note(format!("bound {names}"));
        Ok(Box::new(Listening { names, log }))
    }

    async fn is_served(&self, _build: &BuildContext, endpoint: &HostedEndpoint) -> Result<bool> {
        match word(endpoint, "served").as_str() {
            "yes" => Ok(true),
            "never" => std::future::pending().await,
            "error" => Err(Error::new(ErrorKind::Unavailable, "nobody there")),
            _ => Ok(false),
        }
    }
}

struct Listening {
    names: String,
    log: Arc<Log>,
}

#[async_trait]
impl Exposure for Listening {
    fn served(&self) -> Vec<Served> {
        let socket = SocketAddr::from(([127, 0, 0, 1], 1));
        let served = |agent: &str| Served {
            agent: agent.into(),
            what: "http",
            url: format!("http://{agent}"),
            socket,
        };
        self.names.split('+').map(served).collect()
    }

    async fn close(&self, limit: Duration) -> Result<()> {
        self.log.note(format!("closed {} within {limit:?}", self.names));
        if self.names == "b" { Err(Error::internal("it hangs")) } else { Ok(()) }
    }
}

/// A store of sessions, with tasks or without.
struct Kept(bool);

#[async_trait]
impl StoreContract for Kept {
    async fn append(&self, _session: &SessionKey, _records: &[Record]) -> Result<()> {
        Ok(())
    }

    async fn load(&self, _session: &SessionKey) -> Result<Vec<Record>> {
        Ok(Vec::new())
    }

    async fn forget(&self, _session: &SessionKey) -> Result<()> {
        Ok(())
    }

    fn tasks(&self) -> Option<Arc<dyn TaskStore>> {
        self.0.then(|| Arc::new(NoTasks) as Arc<dyn TaskStore>)
    }
}

struct NoTasks;

#[async_trait]
impl TaskStore for NoTasks {
    async fn put(&self, _task: Arc<Task>) -> Result<()> {
        Ok(())
    }

    async fn get(&self, _scope: &TaskScope, _id: &str) -> Result<Option<Arc<Task>>> {
        Ok(None)
    }

    async fn list(&self, _scope: &TaskScope, _query: &TaskQuery) -> Result<TaskPage> {
        Ok(TaskPage::default())
    }
}

fn unbuilt() -> Error {
    Error::internal("never built")
}

fn registry() -> Registry {
    let builders = [
        ("a2a", Builder::AgentExpose(Build::Linked(|_, _| Ok(Arc::new(Scripted))))),
        ("memory", Builder::Store(Build::Linked(|_, _| Ok(Arc::new(Kept(true)))))),
        ("sessions", Builder::Store(Build::Linked(|_, _| Ok(Arc::new(Kept(false)))))),
        ("local", Builder::AgentComm(Build::Linked(|_, _| Err(unbuilt())))),
        ("a2a", Builder::AgentComm(Build::Linked(|_, _| Err(unbuilt())))),
        ("react", Builder::Pattern(Build::Linked(|_, _| Err(unbuilt())))),
        ("sliding-window", Builder::ContextManager(Build::Linked(|_, _| Err(unbuilt())))),
        ("mock", Builder::Model(Build::Linked(|_, _| Err(unbuilt())))),
    ];
    let descriptors = builders.into_iter().map(|(name, builder)| Descriptor {
        name: name.into(),
        aliases: (&[][..]).into(),
        origin: "test".into(),
        version: "1.0.0".into(),
        summary: "".into(),
        example: "".into(),
        schema: || Value::Null,
        check: |_| Vec::new(),
        builder,
    });
    Registry::new(descriptors).expect("no name is claimed twice")
}

fn build() -> BuildContext {
    BuildContext {
        host: Weak::<Team>::new(),
        env: Env::default(),
        clock: Arc::new(TokioClock),
        ids: Arc::new(RandomIds),
        base: "/base".into(),
        shared: Shared::default(),
    }
}

fn team() -> Arc<Team> {
    Team::new(TeamParts {
        limits: TeamLimits::default(),
        clock: Arc::new(TokioClock),
        ids: Arc::new(RandomIds),
        observers: Vec::new(),
        store: None,
        blueprint: "".into(),
    })
}

fn row(id: &str, usage: Usage, a2a: Value) -> EndpointBlueprint {
    let at = Location::named(format!("{id}.yaml"));
    EndpointBlueprint {
        agent: Located::unplaced(id),
        protocol: Located::unplaced("a2a"),
        usage: Located::new(usage, at.clone()),
        url: None,
        headers: Vec::new(),
        timeout_seconds: None,
        a2a: Some(Params::new(a2a)),
        layers: None,
        params: Params::none(at.clone()),
        dir: std::path::PathBuf::new(),
        missing: Vec::new(),
        at,
    }
}

fn at(port: u16) -> Value {
    json!({"listen": {"port": port}})
}

fn agents(ids: &[&str], endpoints: Vec<EndpointBlueprint>) -> Blueprint {
    let agents = ids.iter().map(|id| AgentBlueprint::named(id)).collect();
    Blueprint { endpoints, ..Blueprint::of_agents("team", agents) }
}

const ALL: Asked<'_> = Asked { all: true, listen: None, default: ("127.0.0.1", 8080), protocol: "a2a" };
const ENTRY: Asked<'_> = Asked { all: false, ..ALL };

/// Each row as `agent usage url a2a`.
fn rows(blueprint: &Blueprint) -> Vec<String> {
    let shown = |row: &EndpointBlueprint| {
        let url = row.url.as_ref().map_or("-", |url| url.value.as_str());
        let a2a = row.a2a.as_ref().map(|a2a| a2a.value().to_string()).unwrap_or_default();
        format!("{} {} {url} {a2a}", row.agent.value, row.usage.value.word())
    };
    blueprint.endpoints.iter().map(shown).collect()
}

fn problems(report: &Report) -> Vec<String> {
    let shown = |problem: &mas_core::diagnostic::Diagnostic| {
        let labels: Vec<String> = problem
            .labels
            .iter()
            .map(|label| format!("{}: {}", label.at.source().name(), label.text))
            .collect();
        let help = problem.help.as_deref().unwrap_or("-");
        format!("{} | {} | {} | {help}", problem.code, problem.message, labels.join("; "))
    };
    report.iter().map(shown).collect()
}

/// What is wrong with what would listen.
fn refused(blueprint: &Blueprint) -> Vec<String> {
    let registry = registry();
    let wiring = wire(blueprint, &registry, &Default::default(), Hosting::Everything).expect("it is wired");
    let planned = ExposurePlan::of(&wiring, &registry, &build(), true);
    problems(&planned.err().expect("it is refused"))
}

#[test]
fn an_agent_without_a_row_gets_one() {
    let mut team = agents(&["a", "b"], Vec::new());
    ask(&mut team, &ENTRY).unwrap();
    assert_eq!(rows(&team), [r#"a deploy - {"listen":{"host":"127.0.0.1","port":8080}}"#]);
    let mut team = agents(&["a", "b"], Vec::new());
    ask(&mut team, &Asked { listen: Some(("0.0.0.0", 1)), ..ALL }).unwrap();
    assert_eq!(
        rows(&team),
        [
            r#"a deploy - {"listen":{"host":"0.0.0.0","port":1}}"#,
            r#"b deploy - {"listen":{"host":"0.0.0.0","port":1}}"#
        ]
    );
}

#[test]
fn agents_without_a_row_are_kept_as_safe_as_the_entry_agent() {
    let own = json!({"security": {"key": {}}, "extended_card": {"description": "x"}});
    let mut entry = row("a", Usage::UseAndDeploy, own);
    entry.url = Some(Located::unplaced("http://host:9/"));
    let mut team = agents(&["a", "b"], vec![entry]);
    ask(&mut team, &ALL).unwrap();
    assert_eq!(rows(&team)[1], r#"b deploy http://host:9/agents/b {"security":{"key":{}}}"#);
}

#[test]
fn a_flag_moves_the_socket_and_the_address_that_was_the_socket() {
    let mut socket = row("a", Usage::Deploy, json!({"grpc": 5}));
    socket.url = Some(Located::unplaced("http://host:9"));
    let mut proxied = row("a", Usage::Deploy, at(9));
    proxied.url = Some(Located::unplaced("https://far"));
    let asked = Asked { listen: Some(("::1", 7)), ..ENTRY };
    let moved = |row| {
        let mut team = agents(&["a"], vec![row]);
        ask(&mut team, &asked).unwrap();
        rows(&team).concat()
    };
    assert_eq!(moved(socket), r#"a deploy - {"grpc":5,"listen":{"host":"::1","port":7}}"#);
    assert_eq!(moved(proxied), r#"a deploy https://far {"listen":{"host":"::1","port":7}}"#);
}

#[test]
fn who_runs_elsewhere_is_not_served() {
    let mut team = agents(&["a", "b"], vec![row("b", Usage::Use, at(1))]);
    ask(&mut team, &ENTRY).unwrap();
    let refused = ask(&mut team, &ALL).unwrap_err();
    assert_eq!(
        problems(&refused),
        ["mas::exposure::only_used | `b` is to be served, and its endpoint only says how to reach it | \
          b.yaml: `usage: use`: it runs elsewhere | \
          say `usage: deploy` or `usage: use-and-deploy`, or leave the row out to serve it without one"]
    );
}

#[test]
fn one_socket_claimed_twice_is_told_with_the_fix() {
    let team =
        agents(&["a", "b"], vec![row("a", Usage::Deploy, at(9006)), row("b", Usage::Deploy, at(9006))]);
    assert_eq!(
        refused(&team),
        [
            "mas::exposure::one_socket | `a` and `b` both claim 127.0.0.1:9006, and neither has a path of its own | \
          b.yaml: claims it too; a.yaml: claims it here | \
          write `url: http://127.0.0.1:9006/agents/b` for the second, or choose another port for it"
        ]
    );
    let path = json!({"listen": {"host": "localhost", "port": 9006}, "path": "/x"});
    let team =
        agents(&["a", "b"], vec![row("a", Usage::Deploy, path.clone()), row("b", Usage::Deploy, path)]);
    assert!(refused(&team)[0].contains("both claim `/x` of 127.0.0.1:9006"));
    let anywhere = json!({"listen": {"host": "0.0.0.0", "port": 9006}, "path": "/x"});
    let team =
        agents(&["a", "b"], vec![row("a", Usage::Deploy, at(9006)), row("b", Usage::Deploy, anywhere)]);
    assert!(refused(&team)[0].starts_with("mas::exposure::two_hosts |"), "{:?}", refused(&team));
}

#[test]
fn those_who_share_a_socket_agree_on_it() {
    let at =
        |path: &str, tls: &str| json!({"listen": {"port": 9006}, "grpc": 9006, "path": path, "tls": tls});
    let team = |tls: &str| {
        let rows = vec![row("a", Usage::Deploy, at("", "one")), row("b", Usage::Deploy, at("/b", tls))];
        agents(&["a", "b"], rows)
    };
    assert_eq!(
        refused(&team("two")),
        [
            "mas::exposure::terms | `a` and `b` share 127.0.0.1:9006, which has one `a2a.tls`, and say `one` and `two` | \
          b.yaml: claims it too; a.yaml: claims it here | say the same in both, or choose another port for one of them"
        ]
    );
    let (agreed, registry) = (team("one"), registry());
    let wiring = wire(&agreed, &registry, &Default::default(), Hosting::Everything).expect("it is wired");
    check_sockets(&wiring, &registry, &build(), true).expect("they agree");
}

#[test]
fn a_row_that_cannot_be_listened_for_is_told_at_its_place() {
    let team = agents(&["a"], vec![row("a", Usage::Deploy, json!({}))]);
    assert_eq!(
        refused(&team),
        [
            "mas::params::invalid | the endpoint of `a` cannot be listened for: agent_expose `a2a` refuses `a2a.listen`: where? | \
          (built in):  | say it"
        ]
    );
}

/// Binds what a team exposes, and returns what happened.
async fn bound(team_of: &Blueprint, hosting: Hosting<'_>, foreground: bool) -> (Vec<String>, Vec<String>) {
    let (registry, build) = (registry(), build());
    let wiring = wire(team_of, &registry, &Default::default(), hosting).expect("it is wired");
    let plan = ExposurePlan::of(&wiring, &registry, &build, foreground).expect("it is planned");
    let exposed = plan.bind(&team()).await;
    let log = Log::of(&build);
    let exposed = match exposed {
        Ok(exposed) => exposed,
        Err(report) => return (log.taken(), problems(&report)),
    };
    let mut happened = log.taken();
    happened.extend(exposed.served().into_iter().map(|served| format!("serves {}", served.agent)));
    let errors = exposed.close(Duration::from_secs(3)).await;
    happened.extend(log.taken());
    (happened, errors.iter().map(ToString::to_string).collect())
}

#[tokio::test]
async fn what_shares_a_socket_is_bound_together_the_entry_agent_first() {
    let below = json!({"listen": {"port": 9006}, "path": "/c"});
    let rows = vec![
        row("c", Usage::Deploy, below),
        row("b", Usage::Deploy, at(9007)),
        row("a", Usage::Deploy, at(9006)),
    ];
    let team = agents(&["a", "b", "c"], rows);
    let (happened, errors) = bound(&team, Hosting::Everything, true).await;
    assert_eq!(
        happened,
        [
            "bound a+c",
            "bound b",
            "serves a",
            "serves c",
            "serves b",
            "closed a+c within 3s",
            "closed b within 3s"
        ]
    );
    assert_eq!(errors, ["it hangs"]);
    let (happened, _) = bound(&team, Hosting::Agent("b"), true).await;
    assert_eq!(happened, ["bound b", "serves b", "closed b within 3s"]);
    assert_eq!(bound(&team, Hosting::Nothing, false).await, (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn a_second_socket_joins_two_groups_only_where_it_is_listened_on() {
    let with_grpc = |port: u16| json!({"listen": {"port": port}, "grpc": 5});
    let team = agents(
        &["a", "d"],
        vec![row("a", Usage::Deploy, with_grpc(1)), row("d", Usage::Deploy, with_grpc(2))],
    );
    assert_eq!(bound(&team, Hosting::Everything, true).await.0[0], "bound a+d");
    assert_eq!(bound(&team, Hosting::Everything, false).await.0[..2], ["bound a", "bound d"]);
}

#[tokio::test]
async fn a_socket_that_is_taken_is_told_at_its_row() {
    let taken = json!({"listen": {"port": 9006}, "taken": "yes"});
    let team = agents(&["a", "b"], vec![row("a", Usage::Deploy, taken), row("b", Usage::Deploy, at(1))]);
    let (happened, problems) = bound(&team, Hosting::Everything, false).await;
    assert_eq!(happened, ["bound b"]);
    assert_eq!(
        problems,
        [
            "mas::connect::failed | the listener of `a` cannot be set up: another program listens there | a.yaml:  | \
          end what listens there, or choose another port: in the endpoint, or by --listen"
        ]
    );
}

#[tokio::test]
async fn a_store_without_tasks_serves_nobody() {
    let mut team = agents(&["a"], vec![row("a", Usage::Deploy, at(1))]);
    team.store = Some(mas_core::manifest::Selection::named("sessions"));
    let (_, problems) = bound(&team, Hosting::Everything, false).await;
    assert!(problems[0].contains("the chosen store keeps sessions, but no tasks"), "{problems:?}");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_a_neighbour_serves_is_a_peer() {
    let row_of = |id: &str, usage, served: &str, port: u16| {
        row(id, usage, json!({"listen": {"port": port}, "served": served}))
    };
    let rows = vec![
        row_of("a", Usage::UseAndDeploy, "yes", 1),
        row_of("b", Usage::UseAndDeploy, "yes", 2),
        row_of("c", Usage::UseAndDeploy, "never", 3),
        row_of("d", Usage::UseAndDeploy, "error", 4),
        row_of("e", Usage::Deploy, "yes", 5),
    ];
    let mut team = agents(&["a", "b", "c", "d", "e"], rows);
    team.agents[0].delegates_to = vec![Located::unplaced("b"), Located::unplaced("c")];
    let registry = registry();
    let neighbours = {
        let wiring = wire(&team, &registry, &Default::default(), Hosting::Everything).unwrap();
        let here: Vec<&str> = wiring.routes.iter().map(|route| route.comm.as_str()).collect();
        assert_eq!(here, ["local", "local"]);
        ExposurePlan::of(&wiring, &registry, &build(), false).unwrap().neighbours().await
    };
    assert_eq!(neighbours.iter().map(|agent| &**agent).collect::<Vec<_>>(), ["b"]);
    use_as_peers(&mut team, &neighbours);
    let wiring = wire(&team, &registry, &Default::default(), Hosting::Everything).unwrap();
    let routes: Vec<&str> = wiring.routes.iter().map(|route| route.comm.as_str()).collect();
    assert_eq!(routes, ["a2a", "local"]);
    assert!(!wiring.exposures.iter().any(|exposure| exposure.endpoint.agent.value == "b"));
}
