//! What the server sends for the page: types, tags, and what a browser may do with it.

use crate::admin::client::Client;
use crate::admin::world::{Backend, World, on_both};

on_both! {
    async fn the_page_is_open_to_all_and_locked_against_everything_else(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        for (path, kind) in [
            ("/", "text/html; charset=utf-8"),
            ("/assets/main.js", "text/javascript; charset=utf-8"),
            ("/assets/page.css", "text/css; charset=utf-8"),
            ("/assets/icon.svg", "image/svg+xml"),
        ] {
            let answer = client.ask(&format!("GET {path} HTTP/1.1\r\n")).await;
            assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)), "{path}");
            let policy = answer.header("content-security-policy").unwrap();
            assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
            assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
            assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        }
        client.ask("GET /assets/nothing.js HTTP/1.1\r\n").await.problem(404);
        client.ask("GET /assets/../main.js HTTP/1.1\r\n").await.problem(404);
        client.ask("POST / HTTP/1.1\r\n").await.problem(405);
    }

    async fn a_file_that_has_not_changed_is_not_sent_again(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        let first = client.ask("GET /assets/main.js HTTP/1.1\r\n").await;
        assert_eq!(first.header("cache-control"), Some("no-cache"));
        let tag = first.header("etag").unwrap();
        let again = client.ask(&format!("GET /assets/main.js HTTP/1.1\r\nif-none-match: {tag}\r\n")).await;
        assert_eq!((again.status, again.header("etag")), (304, Some(tag)));
        let other = client.ask(&format!("GET /assets/api.js HTTP/1.1\r\nif-none-match: {tag}\r\n")).await;
        assert_eq!(other.status, 200);
        assert_eq!(client.get("/v1/status").await.header("cache-control"), Some("no-store"));
    }
}
