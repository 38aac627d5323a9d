//! Building by name.

use std::sync::Arc;

use mas_contracts::{
    AgentCommContract, AgentExposeContract, BuildContext, Builder, Category, ContextManagerContract,
    ControlContract, DelegationContract, Descriptor, Error, ModelContract, ObservabilityContract,
    PatternContract, Problem, Result, StoreContract, ToolContract,
};
use serde_json::Value;

use super::{Registry, RegistryError};

impl Registry {
    /// What is wrong with the parameters of an implementation; empty if nothing is.
    ///
    /// # Errors
    /// [`RegistryError::Unknown`].
    pub fn check(
        &self,
        category: Category,
        name: &str,
        params: &Value,
    ) -> Result<Vec<Problem>, RegistryError> {
        Ok((self.find(category, name)?.check)(params))
    }

    fn checked(&self, category: Category, name: &str, params: &Value) -> Result<&Descriptor> {
        let descriptor = self.find(category, name)?;
        let problems = (descriptor.check)(params);
        if problems.is_empty() {
            return Ok(descriptor);
        }
        let list: Vec<_> = problems.iter().map(describe).collect();
        let message = format!("parameters of {category} `{}`: {}", descriptor.name, list.join("; "));
        Err(Error::invalid(message).with_code("mas::params::invalid"))
    }
}

fn describe(problem: &Problem) -> String {
    let Problem { path, message, help } = problem;
    let place = if path.is_empty() { String::new() } else { format!("`{path}`: ") };
    match help {
        Some(help) => format!("{place}{message} ({help})"),
        None => format!("{place}{message}"),
    }
}

macro_rules! builders {
    ($($method:ident: $variant:ident, $contract:ident, $what:literal;)+) => {
        impl Registry {
            $(
                #[doc = concat!("Checks the parameters of ", $what, " and builds it.")]
                ///
                /// # Errors
                /// An unknown name (`mas::registry::unknown_name`), every problem of the parameters at once
                /// (`mas::params::invalid`), or what the builder reports.
                pub fn $method(
                    &self,
                    name: &str,
                    cx: &BuildContext,
                    params: &Value,
                ) -> Result<Arc<dyn $contract>> {
                    let category = builders!(@category $variant);
                    let descriptor = self.checked(category, name, params)?;
                    match &descriptor.builder {
                        Builder::$variant(build) => build.build(cx, params),
                        other => Err(Error::internal(format!(
                            "{category} `{name}` was registered with a builder of {}",
                            other.category(),
                        ))),
                    }
                }
            )+
        }
    };
    (@category Pattern) => { Category::DesignPattern };
    (@category Model) => { Category::LlmProvider };
    (@category Tool) => { Category::ToolProvider };
    (@category Control) => { Category::ControlProtocol };
    (@category $same:ident) => { Category::$same };
}

builders! {
    build_delegation: Delegation, DelegationContract, "a delegation surface";
    build_agent_comm: AgentComm, AgentCommContract, "a comm backend";
    build_agent_expose: AgentExpose, AgentExposeContract, "an exposure protocol";
    build_pattern: Pattern, PatternContract, "a design pattern";
    build_model: Model, ModelContract, "a provider of models";
    build_tool: Tool, ToolContract, "a source of tools";
    build_context_manager: ContextManager, ContextManagerContract, "a context manager";
    build_store: Store, StoreContract, "a store";
    build_observability: Observability, ObservabilityContract, "a receiver of events";
    build_control: Control, ControlContract, "a control protocol";
}
