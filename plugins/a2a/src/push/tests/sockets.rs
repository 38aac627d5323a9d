//! Over real sockets of this machine.

use mas_comm_kit::http::Settings;
use mas_testkit::http::{Act as Raw, RawServer};

use super::*;
use crate::push::guard::Names;

fn open(params: &params::Push) -> Webhooks {
    Webhooks::open(params, &Keep::default(), Arc::<States>::default(), &build()).expect("opened")
}

async fn told(hooks: &Webhooks, config: PushConfig) -> Told {
    hooks.create(&scope("me"), config).await.expect("registered");
    change(hooks, "t1", 1, &update("t1", TaskState::Completed, "end"));
    assert_eq!(hooks.close(Duration::from_secs(60)).await, 0);
    hooks.told()
}

#[tokio::test]
async fn a_notification_arrives_as_it_should() {
    let server = RawServer::start(|_, _| vec![Raw::answer(200, "text/plain", "ok")]).await.expect("bound");
    let hooks = open(&local());
    let config = secretive("t1", &format!("{}/hook?x=1", server.url()));
    assert_eq!(told(&hooks, config).await, Told { taken: 1, brought: 1, ..Told::default() });
    let seen = server.requests().remove(0);
    assert_eq!(seen.line, "POST /hook?x=1 HTTP/1.1");
    for (name, value) in [
        ("content-type", "application/a2a+json"),
        ("a2a-version", "1.0"),
        ("authorization", "Bearer cred-1234"),
        ("x-a2a-notification-token", "tok-1234"),
        ("a2a-notification-token", "tok-1234"),
    ] {
        assert_eq!(seen.headers[name], value);
    }
    let body: Value = serde_json::from_str(&seen.body).expect("JSON");
    assert_eq!(body["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let inner = RawServer::start(|_, _| vec![Raw::answer(200, "text/plain", "ok")]).await.expect("bound");
    let location = format!("{}/secret", inner.url());
    let outer = RawServer::start(move |_, _| {
        let head = format!("HTTP/1.1 307 X\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
        vec![Raw::Send(head.into_bytes())]
    });
    let outer = outer.await.expect("bound");
    let told = told(&open(&local()), config("t1", outer.url())).await;
    assert_eq!(told, Told { taken: 1, given_up: 1, ..Told::default() });
    assert_eq!((outer.requests().len(), inner.requests().len()), (1, 0));
}

/// Every name is this machine.
struct Here;

#[async_trait]
impl Names for Here {
    async fn addresses(&self, _: &str) -> std::io::Result<Vec<std::net::IpAddr>> {
        Ok(vec![[127, 0, 0, 1].into()])
    }
}

#[tokio::test]
async fn a_name_that_means_this_machine_is_not_dialled() {
    let server = RawServer::start(|_, _| vec![Raw::answer(200, "text/plain", "ok")]).await.expect("bound");
    let port = server.url().rsplit(':').next().expect("a port").to_owned();
    let over = |params: &params::Push| {
        let guard = Guard::new(params, Arc::new(Here));
        let client = Settings::default().connect_by(Arc::new(guard.clone()), &build()).expect("made");
        Webhooks::over(Arc::new(client), guard, params, &Keep::default(), Arc::<States>::default(), &build())
    };
    let url = format!("http://innocent.example.com:{port}/");
    let refused = told(&over(&params::Push::default()), config("t1", &url)).await;
    // It is not tried again: no time passes that would make it right.
    assert_eq!(refused, Told { taken: 1, given_up: 1, ..Told::default() });
    assert_eq!(server.requests().len(), 0);
    let block = params::Push { allow: vec!["127.0.0.0/8".to_owned()], ..params::Push::default() };
    let brought = told(&over(&block), config("t1", &url)).await;
    assert_eq!(brought, Told { taken: 1, brought: 1, ..Told::default() });
    assert_eq!(server.requests().len(), 1);
}
