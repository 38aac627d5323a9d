//! Native tools: calc and lookup.
