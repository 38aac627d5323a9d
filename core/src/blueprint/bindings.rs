//! Whether addresses from the command line are of any use.

use crate::diagnostic::{Diagnostic, Report, nearest, one_of};
use crate::manifest::{Binding, Loaded};

/// Refuses a binding that would change nothing: of an agent that nobody delegates to, of the entry agent, or of one
/// that is bound twice.
pub(super) fn check_bindings(
    bindings: &[Binding],
    loaded: &Loaded,
    entry: Option<&str>,
    report: &mut Report,
) {
    let nodes = loaded.team.iter().flat_map(|team| &team.nodes);
    let mut targets: Vec<&str> =
        nodes.flat_map(|node| &node.delegates_to).map(|target| target.value.as_str()).collect();
    targets.sort_unstable();
    targets.dedup();
    for (at, binding) in bindings.iter().enumerate() {
        let agent = &binding.agent;
        let mut earlier = bindings.iter().take(at);
        if let Some(first) = earlier.find(|first| first.agent == *agent) {
            let message = format!("`{}` is bound twice", agent.value);
            // Two sources of one line and of one name would be shown as one.
            let help = format!("it is bound to {} already: keep one of them", first.url.value);
            report.push(Diagnostic::error("mas::bind::twice", &agent.at, message).help(help));
        } else if entry == Some(agent.value.as_str()) {
            let message = format!("`{}` is the entry agent, which always runs in this process", agent.value);
            let help = "bind an agent that is delegated to";
            report.push(Diagnostic::error("mas::bind::entry", &agent.at, message).help(help));
        } else if !targets.contains(&agent.value.as_str()) {
            let message = format!("no agent delegates to `{}`", agent.value);
            let near = nearest(agent, targets.iter().copied()).map(|near| format!("did you mean `{near}`?"));
            let help = near.or_else(|| {
                (!targets.is_empty()).then(|| format!("delegated to: {}", one_of(targets.iter().copied())))
            });
            report.push(Diagnostic::error("mas::bind::unused", &agent.at, message).help_if(help));
        }
    }
}
