//! gRPC, of both versions on one port: `lf.a2a.v1.A2AService` is v1.0, `a2a.v1.A2AService` is v0.3.

mod fields;
mod proto;
#[cfg(test)]
mod tests;
mod v03;
mod v1;
mod values;
