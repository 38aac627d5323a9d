use std::net::IpAddr;

use mas_comm_kit::http::Resolver;

use super::*;
use crate::push::guard::Names;

/// Names that mean what a test says, each time the next; none but those.
struct Zone(Mutex<HashMap<&'static str, Vec<Vec<IpAddr>>>>);

#[async_trait]
impl Names for Zone {
    async fn addresses(&self, host: &str) -> std::io::Result<Vec<IpAddr>> {
        let mut all = self.0.lock().expect("no panic");
        let found = all.get_mut(host).filter(|found| !found.is_empty()).map(|found| found.remove(0));
        found.ok_or_else(|| std::io::Error::other("no such name"))
    }
}

fn addresses(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().expect("an address")).collect()
}

fn guard(allow: &[&str], private: bool, zone: &[(&'static str, &[&[&str]])]) -> Guard {
    let allow = allow.iter().map(ToString::to_string).collect();
    let params = params::Push { allow, allow_private: private, ..params::Push::default() };
    let zone = zone.iter().map(|(host, found)| (*host, found.iter().map(|found| addresses(found)).collect()));
    Guard::new(&params, Arc::new(Zone(Mutex::new(zone.collect()))))
}

/// What is said of a URL when it is registered.
async fn said(allow: &[&str], private: bool, url: &str) -> String {
    let allow = allow.iter().map(ToString::to_string).collect();
    let params = params::Push { allow, allow_private: private, ..params::Push::default() };
    let at = Hooks::with(&params, |_, _| Act::Answer(200));
    match at.hooks.create(&scope("me"), config("t1", url)).await {
        Ok(_) => "fine".to_owned(),
        Err(failure) => failure.message.into_owned(),
    }
}

#[tokio::test]
async fn what_is_refused_when_it_is_registered() {
    let mut told = String::new();
    for url in [
        "http://127.0.0.1:9",
        "http://[::1]",
        "http://[::ffff:127.0.0.1]",
        "http://169.254.169.254/latest",
        "http://100.64.0.1",
        "http://2130706433",
        "http://0x7f.1",
        "http://0177.0.0.1",
        "http://0/",
        "http://localhost",
        "http://localhost.",
        "http://a.localhost:80",
        "http://10.0.0.1",
        "http://[64:ff9b::7f00:1]",
        "http://[fe80::1]",
        "file:///etc/passwd",
        "gopher://x",
        "ftp://example.com",
        "http://user:pw@10.0.0.1",
        "https://user@example.com",
        "https://example.com:0/",
        "https://",
        "example.com",
        "https://exa mple.com",
        "https://example.com/a\nb",
        "https://example.com/\ta",
        "",
    ] {
        told.push_str(&format!("{url:?}: {}\n", said(&[], false, url).await));
    }
    insta::assert_snapshot!(told, @r#"
    "http://127.0.0.1:9": `url` is an address of this machine or of a private network, which may not be posted to
    "http://[::1]": `url` is an address of this machine or of a private network, which may not be posted to
    "http://[::ffff:127.0.0.1]": `url` is an address of this machine or of a private network, which may not be posted to
    "http://169.254.169.254/latest": `url` is an address of a special kind, which may not be posted to
    "http://100.64.0.1": `url` is an address of this machine or of a private network, which may not be posted to
    "http://2130706433": `url` is an address of this machine or of a private network, which may not be posted to
    "http://0x7f.1": `url` is an address of this machine or of a private network, which may not be posted to
    "http://0177.0.0.1": `url` is an address of this machine or of a private network, which may not be posted to
    "http://0/": `url` is an address of a special kind, which may not be posted to
    "http://localhost": `url` is a name of this machine, which may not be posted to
    "http://localhost.": `url` is a name of this machine, which may not be posted to
    "http://a.localhost:80": `url` is a name of this machine, which may not be posted to
    "http://10.0.0.1": `url` is an address of this machine or of a private network, which may not be posted to
    "http://[64:ff9b::7f00:1]": `url` is an address of a special kind, which may not be posted to
    "http://[fe80::1]": `url` is an address of a special kind, which may not be posted to
    "file:///etc/passwd": `url` has to begin with `https://` or `http://`
    "gopher://x": `url` has to begin with `https://` or `http://`
    "ftp://example.com": `url` has to begin with `https://` or `http://`
    "http://user:pw@10.0.0.1": `url` holds a name or a password; use `authentication` for those
    "https://user@example.com": `url` holds a name or a password; use `authentication` for those
    "https://example.com:0/": `url` has the port 0, which nobody can be reached at
    "https://": `url` is no URL; write it as `https://host/path`
    "example.com": `url` is no URL; write it as `https://host/path`
    "https://exa mple.com": `url` holds white space or a control character
    "https://example.com/a\nb": `url` holds white space or a control character
    "https://example.com/\ta": `url` holds white space or a control character
    "": `url` is no URL; write it as `https://host/path`
    "#);
}

#[tokio::test]
async fn nothing_is_looked_up_when_it_is_registered() {
    for url in [
        "https://example.com/webhook",
        "http://no-such-name.invalid",
        "HTTPS://Example.COM",
        "http://8.8.8.8",
    ] {
        assert_eq!(said(&[], false, url).await, "fine", "{url}");
    }
    for url in ["http://localhost:8080/hook", "http://127.0.0.1:9", "http://[::1]:9", "http://10.1.2.3"] {
        assert_eq!(said(&[], true, url).await, "fine", "{url}");
    }
    // Those are private to nobody.
    for url in ["http://169.254.169.254", "http://0.0.0.0", "http://[fe80::1]", "http://224.0.0.1"] {
        let expected = "`url` is an address of a special kind, which may not be posted to";
        assert_eq!(said(&[], true, url).await, expected, "{url}");
    }
}

#[tokio::test]
async fn a_list_says_where_may_be_posted_to() {
    let allow = ["hooks.example.com", "*.example.org", "10.1.0.0/16", "fd00::/8", "192.0.2.7"];
    for url in [
        "https://hooks.example.com",
        "https://HOOKS.example.com./",
        "https://a.b.example.org",
        "http://10.1.255.1",
        "http://[fd12::1]",
        "http://192.0.2.7",
        // What it means is seen when it is dialled.
        "https://other.example.com",
    ] {
        assert_eq!(said(&allow, false, url).await, "fine", "{url}");
    }
    for url in ["http://10.2.0.1", "http://8.8.8.8", "http://192.0.2.8", "http://127.0.0.1"] {
        assert_eq!(said(&allow, false, url).await, "`url` is no host that may be posted to", "{url}");
    }
    let names = ["hooks.example.com", "*.example.org"];
    for url in ["https://other.example.com", "https://example.org", "https://aexample.org", "http://8.8.8.8"]
    {
        assert_eq!(said(&names, true, url).await, "`url` is no host that may be posted to", "{url}");
    }
    assert_eq!(said(&["*", "127.0.0.0/8"], false, "http://localhost").await, "fine");
    assert_eq!(said(&["*", "127.0.0.0/8"], false, "http://8.8.8.8").await, "fine");
    for wrong in ["", "*.", "*.*.com", "a b", "http://h", "h/8", "10.0.0.0/33", "::/129", "10.0.0.0/x", "a@b"]
    {
        assert_eq!(Entry::read(wrong), None, "{wrong}");
    }
}

#[tokio::test]
async fn addresses_are_looked_at_each_time_they_are_dialled() {
    let zone: [(&str, &[&[&str]]); 4] = [
        // A name that means another address the second time.
        (
            "flips.test",
            &[&["8.8.8.8"], &["127.0.0.1"], &["8.8.8.8", "10.0.0.1"], &["169.254.169.254", "::1"]],
        ),
        ("lan.test", &[&["10.1.0.7"], &["10.2.0.7"]]),
        ("none.test", &[&[]]),
        ("mapped.test", &[&["::ffff:127.0.0.1"]]),
    ];
    let open = guard(&[], false, &zone);
    let found = |texts: &[&str]| Ok(addresses(texts));
    let refused = |host: &str, what: &str| {
        Err((
            "mas::a2a::webhook_refused".to_owned(),
            format!("the host `{host}` {what}; name it in `a2a.push.allow` if it should be"),
        ))
    };
    let ask = |guard: &Guard, host: &'static str| {
        let guard = guard.clone();
        async move {
            let found = guard.resolve(host).await;
            found.map_err(|error| (error.code().into_owned(), error.message().to_owned()))
        }
    };
    let private = "is an address of this machine or of a private network, which may not be posted to";
    assert_eq!(ask(&open, "flips.test").await, found(&["8.8.8.8"]));
    assert_eq!(ask(&open, "flips.test").await, refused("flips.test", private));
    assert_eq!(ask(&open, "flips.test").await, found(&["8.8.8.8"]));
    assert_eq!(ask(&open, "flips.test").await, refused("flips.test", private));
    assert_eq!(ask(&open, "mapped.test").await, refused("mapped.test", private));
    assert_eq!(ask(&open, "none.test").await, refused("none.test", "has no address"));
    let unknown = ask(&open, "unknown.test").await;
    assert_eq!(
        unknown,
        Err((
            "mas::a2a::webhook_unknown".to_owned(),
            "the host `unknown.test` is not known: no such name".to_owned()
        ))
    );
    assert_eq!(ask(&open, "127.0.0.1").await, refused("127.0.0.1", private));
    let block = guard(&["10.1.0.0/16"], false, &zone);
    assert_eq!(ask(&block, "lan.test").await, found(&["10.1.0.7"]));
    assert_eq!(ask(&block, "lan.test").await, refused("lan.test", "is no host that may be posted to"));
    assert_eq!(ask(&guard(&[], true, &zone), "lan.test").await, found(&["10.1.0.7"]));
}
