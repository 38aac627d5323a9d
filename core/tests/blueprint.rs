//! From files to blueprints.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::format_push_string,
    clippy::needless_pass_by_value,
    reason = "helpers of tests; the exemption in clippy.toml reaches test functions only"
)]

use std::path::{Path, PathBuf};

use mas_core::blueprint::{Blueprint, ResolveInput, ResolveOptions, Resolved, resolve};
use mas_core::config::{Config, Defaults};
use mas_core::diagnostic::Report;
use mas_core::manifest::{
    Environment, Known, Located, Options, Usage, load, load_flavour, load_infra, validate,
};

struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn dir(&self) -> &Path {
        self.0.path()
    }

    fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn resolve(&self, path: &Path, ask: &Ask) -> Result<Resolved, Report> {
        let options = Options { base: Some(self.dir().to_path_buf()), ..Options::default() };
        self.resolve_with(path, ask, options)
    }

    fn resolve_with(&self, path: &Path, ask: &Ask, options: Options) -> Result<Resolved, Report> {
        let environment: Environment = ask.environment.iter().copied().collect();
        let loaded = load(path, &options, &environment)?;
        let references: Vec<_> = ask.infra.iter().map(|name| Located::unplaced(*name)).collect();
        let (infra, _) = load_infra(&references, self.dir(), &options, &environment)?;
        let flavour = match ask.flavour {
            Some(name) => Some(load_flavour(&Located::unplaced(name), self.dir(), &options, &environment)?.0),
            None => None,
        };
        resolve(ResolveInput {
            loaded: &loaded,
            flavour: flavour.as_ref(),
            workspace_infra: &[],
            flag_infra: &infra,
            defaults: &Defaults::default(),
            environment: &environment,
            options: &ResolveOptions { base: options.base, ..ResolveOptions::default() },
        })
    }

    fn blueprint(&self, path: &Path, ask: &Ask) -> Blueprint {
        self.resolve(path, ask).unwrap_or_else(|report| panic!("{report}")).blueprint
    }
}

#[derive(Default)]
struct Ask {
    infra: Vec<&'static str>,
    flavour: Option<&'static str>,
    environment: Vec<(&'static str, &'static str)>,
}

const MAS: &str = "\
apiVersion: mas/v1
kind: MAS
metadata: {name: trip}
intent: {summary: Plans trips.}
spec:
  agent_comm: {type: local, params: {x: 1}}
  agency:
    agents:
      - {id: moderator, ref: agents/moderator.yaml}
      - id: fares
        kind: Agent
        metadata: {name: fare-finder, description: Finds fares.}
        spec: {description: Looks up fares., llm: {model: small}}
      - {id: guide}
  workflow:
    entry: moderator
    nodes:
      - {id: moderator, delegates_to: [fares, guide]}
";

const MODERATOR: &str = "\
apiVersion: mas/v1
kind: Agent
metadata: {name: moderator, version: 1.2.0}
spec:
  description: Leads.
  context:
    role: You lead.
    style: {ref: ../prompts/style.md}
    file: ../prompts/style.md
  models: [{model: azure/gpt-4o, temperature: 0.3, max_tokens: 100}]
  design_pattern: {type: cot, params: {max_steps: 3}}
  skills: [house-style]
  memory_seed: [{key: pref, content: Prefers trains.}]
  tools:
    - calc
    - {ref: ../tools/fare.tool.yaml, priority: 5}
";

const FARE_TOOL: &str = "\
apiVersion: mas/v1
kind: Tool
metadata: {name: fare}
spec:
  description: Returns the fare.
  parameters:
    - {name: route, type: string, required: true, description: Which, examples: [1.10, CV]}
    - {name: class, type: string, default: Standard, enum: [Standard, Express]}
    - {name: legs, type: array}
  idempotent: true
  timeout_seconds: 7
  impl: {kind: system, name: lookup, params: {path: fares.csv}}
";

const APPLICATION: &str = "\
apiVersion: infra/v1
kind: Application
metadata: {name: remote}
spec:
  endpoints:
    guide:
      protocol: a2a
      usage: use-and-deploy
      url: http://127.0.0.1:9006
      headers: {Authorization: 'env:AUTH'}
      timeout: 30
      a2a: {listen: {host: 0.0.0.0, port: 9006}}
      flavour_of: {x: 1}
    fares: {protocol: platform, expose: true}
    stranger: {protocol: a2a, url: 'env:NOWHERE'}
---
apiVersion: infra/v1
kind: ToolProvider
metadata: {name: tools}
spec: {tools: {calc: {kind: native, name: calc, params: {digits: 3}}}}
";

fn trip() -> (Desk, PathBuf) {
    let desk = Desk::new();
    let path = desk.put("mas.yaml", MAS);
    desk.put("agents/moderator.yaml", MODERATOR);
    desk.put("prompts/style.md", "Be brief.\n");
    desk.put("skills/house_style/SKILL.md", "Write plainly.\n");
    desk.put("tools/fare.tool.yaml", FARE_TOOL);
    desk.put("remote.yaml", APPLICATION);
    (desk, path)
}

fn full() -> Ask {
    Ask {
        infra: vec!["standard:mock-llm", "remote.yaml"],
        environment: vec![("AUTH", "s3cret-value")],
        flavour: Some("local"),
    }
}

#[test]
fn a_team_resolves_with_everything_in_its_place() {
    let (desk, path) = trip();
    let blueprint = desk.blueprint(&path, &full());
    assert_eq!(blueprint.name.value, "trip");
    assert_eq!(blueprint.entry.value, "moderator");
    assert_eq!(blueprint.llm.provider.value, "mock");
    assert_eq!(blueprint.agent_comm.team.as_ref().unwrap().name.value, "local");
    assert_eq!(blueprint.agent_comm.flavour.as_ref().unwrap().name.value, "local");
    assert_eq!(blueprint.observability[0].name.value, "native");

    let [moderator, fares, guide] = &blueprint.agents[..] else { panic!("three agents") };
    assert_eq!(
        moderator.system_prompt.value,
        "[role] You lead.\n\n[style] Be brief.\n\n[file] Be brief.\n\n[skill:house-style] Write plainly.\n\n[memory:pref] Prefers trains."
    );
    assert_eq!(moderator.pattern.name.value, "cot");
    assert_eq!(moderator.pattern.params.value()["max_steps"], 3);
    assert_eq!(moderator.version.value, "1.2.0");
    assert_eq!((moderator.model.id.value.as_str(), moderator.model.max_tokens), ("azure/gpt-4o", 100));
    let targets: Vec<_> = moderator.delegates_to.iter().map(|target| target.value.as_str()).collect();
    assert_eq!(targets, ["fares", "guide"]);
    assert_eq!(moderator.delegates_to[0].at.to_string(), "mas.yaml:18:40");
    assert_eq!((fares.name.value.as_str(), fares.version.value.as_str()), ("fare-finder", "0.1.0"));
    assert_eq!(fares.model.id.value, "small");
    assert!(guide.external && !fares.external);

    let [fare, calc] = &moderator.tools[..] else { panic!("two tools") };
    assert_eq!(fare.implementation.kind.value, "native");
    assert_eq!(fare.implementation.name.as_ref().unwrap().value, "lookup");
    assert!(fare.implementation.dir.ends_with("tools"));
    assert_eq!((fare.idempotent, fare.timeout_seconds, fare.priority), (Some(true), 7, 5));
    assert_eq!(
        fare.parameters.as_ref().unwrap(),
        &serde_json::json!({
            "type": "object",
            "properties": {
                "route": {"type": "string", "description": "Which", "examples": ["1.10", "CV"]},
                "class": {"type": "string", "enum": ["Standard", "Express"], "default": "Standard"},
                "legs": {"type": "array", "items": {}},
            },
            "required": ["route"],
        })
    );
    assert_eq!(calc.name.value, "calc");
    assert_eq!(calc.implementation.params.value()["digits"], 3);
}

#[test]
fn endpoints_keep_usage_parameters_and_secrets() {
    let (desk, path) = trip();
    let blueprint = desk.blueprint(&path, &full());
    let row = |id: &str| blueprint.endpoints.iter().find(|row| row.agent.value == id).unwrap();
    assert_eq!(row("guide").usage.value, Usage::UseAndDeploy);
    assert_eq!(row("fares").usage.value, Usage::UseAndDeploy);
    assert_eq!(row("stranger").usage.value, Usage::Use);
    assert_eq!(row("guide").headers[0].1.value, "s3cret-value");
    assert!(!format!("{blueprint:?}").contains("s3cret-value"));
    assert_eq!(row("guide").params.value()["flavour_of"]["x"], 1);
    assert_eq!(row("guide").a2a.as_ref().unwrap().locate("/listen/port").to_string(), "remote.yaml:12:43");
    let report = desk.resolve(&path, &Ask { environment: vec![], ..full() }).unwrap_err();
    assert_eq!(
        report.to_string().lines().next().unwrap(),
        "remote.yaml:10:32: error[mas::env::missing]: the environment variable AUTH is not set"
    );
}

#[test]
fn the_hash_follows_meaning_not_layout() {
    let (desk, path) = trip();
    let first = desk.blueprint(&path, &full()).hash;
    assert_eq!(first.len(), 64);
    desk.put("mas.yaml", &format!("# a comment\n{MAS}"));
    assert_eq!(desk.blueprint(&path, &full()).hash, first);
    desk.put("mas.yaml", &MAS.replace("Looks up", "Finds"));
    assert_ne!(desk.blueprint(&path, &full()).hash, first);
}

#[test]
fn the_provider_comes_from_infra_flags_and_switches() {
    let desk = Desk::new();
    let agent =
        desk.put("a.yaml", "apiVersion: mas/v1\nkind: Agent\nmetadata: {name: a}\nspec: {description: d}\n");
    desk.put("llm/s.yaml", "apiVersion: infra/v1\nkind: LLMLocal\nmetadata: {name: s}\nspec: {model_access: {provider: scripted, params: {path: script.yaml}}}\n");
    desk.put("p.yaml", "apiVersion: infra/v1\nkind: LLMProxy\nmetadata: {name: p}\nspec: {proxy: {api_base: 'http://h/v1'}, models: {allowed: [m1], mappings: {gpt-4o-mini: m1}}}\n");
    let ask = |infra: &[&'static str]| Ask { infra: infra.to_vec(), ..Ask::default() };
    let llm = |ask: &Ask| desk.blueprint(&agent, ask).llm;
    let plain = llm(&ask(&[]));
    assert_eq!(
        (plain.provider.value.as_str(), plain.api_key_env.unwrap().value.as_str()),
        ("openai", "OPENAI_API_KEY")
    );
    let scripted = llm(&ask(&["llm/s.yaml"]));
    assert_eq!(
        (scripted.provider.value.as_str(), scripted.params.value()["path"].as_str()),
        ("scripted", Some("script.yaml"))
    );
    assert_eq!(scripted.dir, desk.dir().join("llm"));
    // A key is for the address it was declared with, and so is a list of models.
    let elsewhere = llm(&ask(&["standard:openai", "p.yaml"]));
    assert_eq!(elsewhere.api_base.unwrap().value, "http://h/v1");
    assert_eq!(elsewhere.api_key_env, None);
    let again = llm(&ask(&["p.yaml", "standard:openai"]));
    assert_eq!((again.allowed.len(), again.api_key_env.unwrap().value.as_str()), (0, "OPENAI_API_KEY"));
    assert_eq!(desk.blueprint(&agent, &ask(&["p.yaml"])).agents[0].model.id.value, "m1");
    assert_eq!(llm(&ask(&["standard:mock-llm"])).provider.value, "mock");
    assert_eq!(llm(&Ask { flavour: Some("mock"), ..ask(&["p.yaml"]) }).provider.value, "mock");
    assert_eq!(
        llm(&Ask { environment: vec![("MAS_MOCK_LLM", "1")], ..ask(&["p.yaml"]) }).provider.value,
        "mock"
    );
    let report = desk.resolve(&agent, &ask(&["standard:llm-proxy-cached"])).unwrap_err();
    assert!(report.to_string().contains("middleware `llm_cache` is not supported yet"), "{report}");
}

#[test]
fn fields_that_matter_and_are_not_supported_stop_the_run() {
    let desk = Desk::new();
    let agent = "apiVersion: mas/v1\nkind: Agent\nmetadata: {name: a}\nspec:\n  description: d\n";
    let stop = |extra: &str| {
        let path = desk.put("a.yaml", &format!("{agent}{extra}"));
        desk.resolve(&path, &Ask::default())
    };
    assert!(stop("  governance: []\n").unwrap().warnings.is_empty());
    let report = stop(
        "  governance: [{sample_governance: {hitl_on_tool: true}}]\n  control: {budget: {max_tokens: 5}}\n",
    )
    .unwrap_err();
    insta::assert_snapshot!(report.to_string(), @r"
    a.yaml:6:3: error[mas::unsupported::field]: governance is not supported yet, and running without it could do harm or mean something else
      help: remove it, or keep to `validate` for now
    a.yaml:7:13: error[mas::unsupported::field]: a budget is not supported yet, and running without it could do harm or mean something else
      help: remove it, or keep to `validate` for now
    ");
    let warnings = stop("  memory: semantic\n  observability: [native, otel]\n").unwrap().warnings;
    insta::assert_snapshot!(warnings.to_string(), @r"
    a.yaml:6:3: warning[mas::unsupported::ignored]: `spec.memory` has no effect yet
    a.yaml:7:27: warning[mas::unsupported::ignored]: `observability: otel` has no effect yet
    ");
    let team = desk.put("mas.yaml", "apiVersion: mas/v1\nkind: MAS\nmetadata: {name: t}\nspec:\n  agency: {agents: [{id: a, ref: a.yaml}]}\n  workflow: {type: sequential, max_rounds: 3, nodes: [{id: a, dispatch: parallel}]}\n");
    insta::assert_snapshot!(desk.resolve(&team, &Ask::default()).unwrap_err().to_string(), @r"
    a.yaml:6:3: warning[mas::unsupported::ignored]: `spec.memory` has no effect yet
    a.yaml:7:27: warning[mas::unsupported::ignored]: `observability: otel` has no effect yet
    mas.yaml:6:20: error[mas::unsupported::field]: a workflow of type `sequential` is not supported yet, and running without it could do harm or mean something else
      help: remove it, or keep to `validate` for now
    mas.yaml:6:32: error[mas::unsupported::field]: `max_rounds` is not supported yet, and running without it could do harm or mean something else
      help: remove it, or keep to `validate` for now
    mas.yaml:6:73: error[mas::unsupported::field]: `dispatch` is not supported yet, and running without it could do harm or mean something else
      help: remove it, or keep to `validate` for now
    ");
    let fragment = desk.put("f.yaml", "apiVersion: mas/v1\nkind: MAS\nmetadata: {name: t}\nspec: {workflow: {entry: a, nodes: [{id: a}]}}\n");
    insta::assert_snapshot!(desk.resolve(&fragment, &Ask::default()).unwrap_err().to_string(), @r"
    f.yaml:2:7: error[mas::blueprint::fragment]: this MAS is a fragment: it names no agents, so it cannot run by itself
      help: list the agents under `spec.agency.agents`
    ");
}

#[test]
fn what_a_run_needs_is_told_at_the_line() {
    let desk = Desk::new();
    let path = desk.put("a.yaml", "apiVersion: mas/v1\nkind: Agent\nmetadata: {name: a}\nspec:\n  description: d\n  tools:\n    - nothing\n    - {module_path: ./t.py}\n");
    insta::assert_snapshot!(desk.resolve(&path, &Ask::default()).unwrap_err().to_string(), @r"
    a.yaml:7:7: error[mas::tool::unknown]: the tool `nothing` is not found
      help: no tool provider of the infra has it, and there is no `tools/nothing.tool.yaml`
    a.yaml:8:21: error[mas::tool::missing_module]: the Python file `t.py` of this tool does not exist
    ");
    let path = desk.put("b.yaml", "apiVersion: mas/v1\nkind: Agent\nmetadata: {name: a}\nspec:\n  description: d\n  skills: [gone]\n  tools: [{ref: 'samples:tools/calc.tool.yaml'}]\n");
    insta::assert_snapshot!(desk.resolve(&path, &Ask::default()).unwrap_err().to_string(), @r"
    b.yaml:6:12: error[mas::skill::missing]: the skill `gone` is not found
      help: put it into `skills/gone/SKILL.md` beside the agent or the MAS
    b.yaml:7:17: error[mas::ref::library]: the tool comes from the library `samples`, which is not known here
      help: name its directory in config.yaml: `manifest_libraries: {samples: path}`
    ");
}

#[test]
fn a_python_file_may_be_in_a_library() {
    let desk = Desk::new();
    desk.put("shelf/tools/t.py", "");
    desk.put("tools/own.py", "");
    desk.put("shelf/tools/own.py", "");
    let tool = |name: &str, module: &str| {
        let text = format!(
            "apiVersion: mas/v1\nkind: Tool\nmetadata: {{name: {name}, description: d}}\nspec:\n  impl: {{kind: python, {module}}}\n"
        );
        desk.put(&format!("{name}.tool.yaml"), &text);
    };
    tool("far", "module_path: tools/t.py");
    tool("own", "module_path: ./tools/own.py");
    let path = desk.put("a.yaml", "apiVersion: mas/v1\nkind: Agent\nmetadata: {name: a}\nspec:\n  description: d\n  tools: [{ref: far.tool.yaml}, {ref: own.tool.yaml}, {module_path: tools/t.py}]\n");
    let libraries = [("shelf".to_owned(), desk.dir().join("shelf"))].into();
    let options = Options { base: Some(desk.dir().to_path_buf()), libraries, ..Options::default() };
    let validation =
        validate(std::slice::from_ref(&path), &options, &Environment::default(), Known::default());
    assert!(validation.report.is_empty(), "{}", validation.report);
    // The run looks where the validation has looked.
    let blueprint = desk.resolve_with(&path, &Ask::default(), options).unwrap().blueprint;
    let dirs: Vec<_> = blueprint.agents[0].tools.iter().map(|tool| &*tool.implementation.dir).collect();
    let shelf = desk.dir().join("shelf");
    assert_eq!(dirs, [&*shelf, desk.dir(), &*shelf]);
    // Without the library neither finds it.
    insta::assert_snapshot!(desk.resolve(&path, &Ask::default()).unwrap_err().to_string(), @r"
    a.yaml:6:69: error[mas::tool::missing_module]: the Python file `tools/t.py` of this tool does not exist
    far.tool.yaml:5:37: error[mas::tool::missing_module]: the Python file `tools/t.py` of this tool does not exist
    ");
}

#[test]
fn a_tutorial_says_which_python_file_is_missing() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/mas-lab-v0.1");
    let path = corpus.join("docs/tutorials/02-creating-a-mas/mas.yaml");
    if !path.is_file() {
        let required = std::env::var("MAS_REQUIRE").unwrap_or_default();
        assert!(
            !required.split(',').any(|name| name.trim() == "corpus"),
            "the corpus is required but not present"
        );
        eprintln!("skipped: corpus not present");
        return;
    }
    let report = Desk::new().resolve(&path, &Ask::default()).unwrap_err();
    let missing = report.iter().filter(|diagnostic| diagnostic.code == "mas::tool::missing_module");
    let line = missing.map(ToString::to_string).find(|line| line.contains("lookup_schedule")).unwrap();
    assert!(line.contains("lookup_schedule.tool.yaml:") && line.contains("lookup_schedule.py"), "{line}");
}

#[test]
fn config_layers_say_who_set_what() {
    let desk = Desk::new();
    desk.put("home/mas/config.yaml", "defaults: {model: from-user, agent_comm: {type: a2a}}\n");
    desk.put("work/config.yaml", "defaults:\n  model: from-workspace\ninfra_refs: [infra/x.yaml]\nmas_ctl: {flavour: mock}\nmas_lab: {}\n");
    desk.put("work/deep/notes.txt", "");
    let home = desk.dir().join("home").display().to_string();
    let options = Options { base: Some(desk.dir().to_path_buf()), ..Options::default() };
    let load = |more: &[(&str, &str)]| {
        let environment: Environment =
            [("XDG_CONFIG_HOME", home.as_str())].into_iter().chain(more.iter().copied()).collect();
        Config::load(&desk.dir().join("work/deep"), &options, &environment).unwrap()
    };
    let config = load(&[]);
    let setting = config.explain("defaults.model").unwrap();
    assert_eq!(
        (setting.value.as_str().unwrap(), setting.layer, setting.at.to_string().as_str()),
        ("from-workspace", "workspace", "work/config.yaml:2:10")
    );
    assert_eq!(config.defaults.agent_comm.as_ref().unwrap().name.value, "a2a");
    assert_eq!(config.explain("defaults.design_pattern").unwrap().layer, "package");
    assert_eq!(config.flavour.as_ref().unwrap().value, "mock");
    assert_eq!(config.infra_dir, desk.dir().join("work"));
    assert!(config.explain("defaults.nothing").is_none());
    let shown: Vec<_> =
        config.show().iter().map(|s| format!("{} = {} ({})", s.key, s.value, s.layer)).collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    defaults.agent_comm.type = "a2a" (user)
    defaults.context_manager = "sliding-window" (package)
    defaults.design_pattern = "react" (package)
    defaults.model = "from-workspace" (workspace)
    infra_refs = ["infra/x.yaml"] (workspace)
    mas_ctl.flavour = "mock" (workspace)
    mas_lab = {} (workspace)
    "#);
    let config = load(&[("MAS_INFRA_REFS", "standard:openai, standard:mock-llm")]);
    assert_eq!(config.infra_refs.len(), 2);
    assert_eq!(config.explain("infra_refs").unwrap().layer, "environment");
    desk.put("work/config.yaml", "defaults:\n  model: [a]\nmas_ctll: {}\n");
    let environment = Environment::default();
    let report = Config::load(&desk.dir().join("work"), &options, &environment).unwrap_err();
    insta::assert_snapshot!(report.to_string(), @r"
    work/config.yaml:2:10: error[mas::manifest::type]: defaults.model: expected a string, found a list
    work/config.yaml:3:1: error[mas::manifest::unknown_key]: unknown key `mas_ctll` at the top level
      help: did you mean `mas_ctl`?
    ");
}
