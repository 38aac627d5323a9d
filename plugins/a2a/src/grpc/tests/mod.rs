//! The services on loopback, asked by a client of tonic; the agents' operations are scripted.

mod bytes;
mod calls;
mod refusals;
mod said;
mod same;
mod streams;

use std::{collections::HashMap, convert::Infallible, net::SocketAddr, sync::Arc};

use ::bytes::Bytes;
use http::{Request, Response, Uri, uri::PathAndQuery};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use prost::Message;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tonic::{Status, Streaming, body::Body, client::Grpc, metadata::MetadataMap};
use tonic_prost::ProstCodec;

use super::{Agents, answer};
use crate::http::tests::Served;

/// A port with agents, and a client of it.
pub(crate) struct Port {
    pub(crate) socket: SocketAddr,
    agents: Arc<Agents>,
    client: Grpc<Client<HttpConnector, Body>>,
    pub(crate) served: HashMap<&'static str, Served>,
}

impl Port {
    /// One agent, whose endpoint says this under `a2a`.
    pub(crate) async fn with(a2a: Value) -> Self {
        Self::of([("fares", a2a)]).await
    }

    pub(crate) async fn plain() -> Self {
        Self::with(json!({})).await
    }

    /// One agent behind TLS.
    pub(crate) async fn secure(a2a: Value, tls: TlsAcceptor) -> Self {
        Self::behind([("fares", a2a)], Some(tls)).await
    }

    /// Agents by their tenants, the entry agent first.
    async fn of<const N: usize>(agents: [(&'static str, Value); N]) -> Self {
        Self::behind(agents, None).await
    }

    async fn behind<const N: usize>(agents: [(&'static str, Value); N], tls: Option<TlsAcceptor>) -> Self {
        let entry = agents[0].0;
        let served: HashMap<_, _> = agents.map(|(tenant, a2a)| (tenant, Served::with(&a2a))).into();
        let by_tenant = served.iter().map(|(tenant, served)| ((*tenant).into(), served.agent.clone()));
        let agents = Arc::new(Agents::new(served[entry].agent.clone(), by_tenant.collect()));
        let socket = listen(agents.clone(), tls).await;
        let client = Client::builder(TokioExecutor::new()).http2_only(true).build_http();
        let origin = Uri::builder().scheme("http").authority(socket.to_string()).path_and_query("/");
        Self { socket, agents, client: Grpc::with_origin(client, origin.build().unwrap()), served }
    }

    /// What the entry agent, or the one of this tenant, was asked since the last time.
    fn heard(&self, tenant: &str) -> Vec<String> {
        self.served[tenant].heard()
    }

    async fn ask<Q, A>(&self, method: &str, asked: Q) -> Result<A, Status>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        self.ask_with(method, &[], asked).await.map(tonic::Response::into_inner)
    }

    async fn ask_with<Q, A>(
        &self,
        method: &str,
        headers: &[(&'static str, &str)],
        asked: Q,
    ) -> Result<tonic::Response<A>, Status>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let mut client = self.client.clone();
        client.ready().await.unwrap();
        client.unary(request(headers, asked), path(method), ProstCodec::default()).await
    }

    async fn open<Q, A>(&self, method: &str, asked: Q) -> Result<Streaming<A>, Status>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let mut client = self.client.clone();
        client.ready().await.unwrap();
        let answer = client.server_streaming(request(&[], asked), path(method), ProstCodec::default()).await;
        answer.map(tonic::Response::into_inner)
    }
}

fn request<Q>(headers: &[(&'static str, &str)], asked: Q) -> tonic::Request<Q> {
    let mut request = tonic::Request::new(asked);
    for (name, value) in headers {
        request.metadata_mut().append(*name, value.parse().unwrap());
    }
    request
}

fn path(method: &str) -> PathAndQuery {
    format!("/{method}").parse().unwrap()
}

/// Serves agents on a port of loopback, as the listener does.
async fn listen(agents: Arc<Agents>, tls: Option<TlsAcceptor>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let socket = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let agents = agents.clone();
            let service = hyper::service::service_fn(move |request| {
                let agents = agents.clone();
                async move { Ok::<_, Infallible>(answer(&agents, request).await) }
            });
            let tls = tls.clone();
            tokio::spawn(async move {
                let builder = auto::Builder::new(TokioExecutor::new());
                let Some(tls) = tls else {
                    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
                    return;
                };
                if let Ok(stream) = tls.accept(stream).await {
                    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
                }
            });
        }
    });
    socket
}

/// A message as the body of a request has it.
fn framed(message: &[u8]) -> Bytes {
    let mut body = vec![0];
    body.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
    body.extend(message);
    body.into()
}

/// A request without a socket.
fn direct(method: &str, headers: &[(&str, &str)], body: Bytes) -> Request<Full<Bytes>> {
    let mut request =
        Request::post(format!("http://agent/{method}")).header("content-type", "application/grpc");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::new(body)).unwrap()
}

/// The status of an answer without a socket, from its trailers or its headers.
async fn status_of(response: Response<Body>) -> Status {
    assert_eq!(response.status(), 200);
    let (parts, body) = response.into_parts();
    let mut all = parts.headers;
    all.extend(body.collect().await.unwrap().trailers().cloned().unwrap_or_default());
    Status::from_header_map(&all).expect("a status")
}

fn value<'a>(of: &'a MetadataMap, name: &str) -> &'a str {
    of.get(name).map_or("", |value| value.to_str().unwrap())
}
