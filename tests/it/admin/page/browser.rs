//! A headless Chromium, and the words to speak of what is seen and done in it.
//!
//! Nothing here sleeps: what is awaited is looked for whenever the document changes, by the browser itself.

use std::path::PathBuf;
use std::process::Stdio;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::wire::command;

/// Under which the protocol hands over elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";
/// Keys that are no letters.
pub(super) const TAB: char = '\u{e004}';
pub(super) const ENTER: char = '\u{e007}';
pub(super) const ESCAPE: char = '\u{e00c}';
/// A story waits no longer for the page, in milliseconds.
const PATIENCE_MS: u32 = 30_000;

/// Hands `done` what `look(…)` brings as soon as that is something.
const AWAIT: &str = "
    const done = arguments[arguments.length - 1];
    const given = [...arguments].slice(0, -1);
    const observer = new MutationObserver(attempt);
    function attempt() {
        const found = look(...given);
        if (!found) return;
        observer.disconnect();
        done(found);
    }
    observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
    attempt();";

/// What can be used and has this name: the first one that is seen, in a dialog if one is open.
const CONTROL: &str = "
    const look = (name) => {
        const within = document.querySelector('dialog[open]') ?? document;
        const named = (control) => control.getAttribute('aria-label') ?? (control.labels?.[0] ?? control).innerText;
        return [...within.querySelectorAll('a, button, summary, input, select')]
            .find((control) => control.checkVisibility() && !control.disabled && named(control).trim().startsWith(name));
    };";

/// A browser with one tab. It is gone when the value is dropped.
pub(super) struct Browser {
    driver: Driver,
    session: String,
    profile: TempDir,
}

/// chromedriver at work.
struct Driver {
    address: std::net::SocketAddr,
    _child: Child,
    /// Held, so that it can go on saying something.
    _says: Lines<BufReader<ChildStdout>>,
}

/// Something in the document.
pub(super) struct Element(String);

impl Browser {
    pub(super) async fn start() -> Self {
        let driver = Driver::start().await;
        let profile = tempfile::Builder::new()
            .prefix("aftercommit-page-")
            .tempdir()
            .unwrap();
        let mut options = json!({"args": [
            "--headless=new", "--hide-scrollbars", "--disable-dev-shm-usage", "--force-color-profile=srgb",
            // It wants rights that root and most build containers lack; nothing but our own page is shown.
            "--no-sandbox",
            // It ends once nobody holds the other end: whatever becomes of the story, chromedriver ends with it, and so does this.
            "--remote-debugging-pipe",
            format!("--user-data-dir={}", profile.path().display()),
        ]});
        let browsers = ["chromium", "chromium-browser", "google-chrome"];
        if let Some(program) = browsers.into_iter().find_map(find) {
            options["binary"] = json!(program);
        }
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
            "timeouts": {"script": PATIENCE_MS},
        }}});
        let made = command(driver.address, "POST", "/session", &wanted).await;
        let made = made.unwrap_or_else(|error| panic!("there is no browser: {error}; {INSTALL}"));
        let session = made["sessionId"].as_str().unwrap().to_owned();
        let browser = Self {
            driver,
            session,
            profile,
        };
        browser.resize(1280, 900).await;
        browser
    }

    /// Ends the browser in order, so that its folder can be cleared away.
    pub(super) async fn quit(self) {
        command(
            self.driver.address,
            "DELETE",
            &format!("/session/{}", self.session),
            &Value::Null,
        )
        .await
        .unwrap();
    }

    /// The processes that it consists of.
    pub(super) fn processes(&self) -> Vec<u32> {
        let profile = self.profile.path().display().to_string();
        let is_its = |id: &u32| {
            let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&profile)
        };
        let entries = std::fs::read_dir("/proc").unwrap();
        let ids = entries.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
        ids.filter(is_its).collect()
    }

    pub(super) async fn open(&self, url: &str) {
        self.post("/url", json!({ "url": url })).await;
    }

    /// Goes to a view, as a link to it does.
    pub(super) async fn go(&self, hash: &str) {
        self.script("location.hash = arguments[0]", json!([hash])).await;
    }

    /// What a script returns.
    pub(super) async fn script(&self, script: &str, arguments: Value) -> Value {
        self.post("/execute/sync", json!({ "script": script, "args": arguments }))
            .await
    }

    /// Waits until the page shows this text.
    pub(super) async fn shows(&self, text: &str) {
        let look = "const look = (text) => document.body.innerText.includes(text);";
        self.wait(look, json!([text]), text).await;
    }

    /// Waits until the page shows this text no more.
    pub(super) async fn lacks(&self, text: &str) {
        let look = "const look = (text) => !document.body.innerText.includes(text);";
        self.wait(look, json!([text]), text).await;
    }

    /// Waits until the view of this title is shown with what it asked for.
    pub(super) async fn view(&self, title: &str) {
        let look = "const look = (title) => document.querySelector('main h1')?.innerText === title
                        && !document.querySelector('[aria-busy=true]');";
        self.wait(look, json!([title]), title).await;
    }

    /// Waits until a condition in JavaScript holds, which some change of the document must bring.
    pub(super) async fn holds(&self, condition: &str) {
        self.wait(&format!("const look = () => {condition};"), json!([]), condition)
            .await;
    }

    /// Waits for a control of this name, or that begins so.
    pub(super) async fn control(&self, name: &str) -> Element {
        let found = self.wait(CONTROL, json!([name]), name).await;
        Element(found[ELEMENT].as_str().unwrap().to_owned())
    }

    pub(super) async fn press(&self, name: &str) {
        let control = self.control(name).await;
        self.post(&format!("/element/{}/click", control.0), json!({}))
            .await;
    }

    pub(super) async fn fill(&self, name: &str, text: &str) {
        let control = self.control(name).await;
        self.post(&format!("/element/{}/value", control.0), json!({ "text": text }))
            .await;
    }

    /// Presses keys, one after the other.
    pub(super) async fn keys(&self, keys: &str) {
        let strokes: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() }))
            })
            .collect();
        self.post(
            "/actions",
            json!({"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]}),
        )
        .await;
    }

    /// Goes from control to control until the one of this name has the focus.
    pub(super) async fn tab_to(&self, name: &str) {
        let mut passed = vec![];
        while passed.len() < 100 {
            self.keys(&TAB.to_string()).await;
            let at = self.focused().await;
            if at.starts_with(name) {
                return;
            }
            passed.push(at);
        }
        panic!("no way by the keyboard to {name:?}; passed {passed:?}");
    }

    /// The name of what has the focus, as a screen reader says it.
    pub(super) async fn focused(&self) -> String {
        let active = self.get("/element/active").await;
        self.name_of(&Element(active[ELEMENT].as_str().unwrap().to_owned()))
            .await
    }

    /// The name of an element, as a screen reader says it.
    pub(super) async fn name_of(&self, element: &Element) -> String {
        let label = self.get(&format!("/element/{}/computedlabel", element.0)).await;
        label.as_str().unwrap().to_owned()
    }

    /// The role of an element, as a screen reader says it.
    pub(super) async fn role_of(&self, element: &Element) -> String {
        let role = self.get(&format!("/element/{}/computedrole", element.0)).await;
        role.as_str().unwrap().to_owned()
    }

    /// Every element that this selector finds and somebody can see.
    pub(super) async fn all(&self, selector: &str) -> Vec<Element> {
        let script =
            "return [...document.querySelectorAll(arguments[0])].filter((one) => one.checkVisibility())";
        let found = self.script(script, json!([selector])).await;
        let ids = found
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one[ELEMENT].as_str().unwrap());
        ids.map(|id| Element(id.to_owned())).collect()
    }

    pub(super) async fn markup_of(&self, element: &Element) -> String {
        let script = "return arguments[0].outerHTML";
        let markup = self.script(script, json!([{ ELEMENT: element.0 }])).await;
        markup.as_str().unwrap().to_owned()
    }

    /// What is to be read now.
    pub(super) async fn text(&self) -> String {
        let text = self.script("return document.body.innerText", json!([])).await;
        text.as_str().unwrap().to_owned()
    }

    /// What the browser complained of since it was asked last: violations of the policy, failures, errors of scripts.
    pub(super) async fn complaints(&self) -> Vec<String> {
        let log = self.post("/se/log", json!({ "type": "browser" })).await;
        let grave = log
            .as_array()
            .unwrap()
            .iter()
            .filter(|entry| entry["level"] == "SEVERE" || entry["level"] == "WARNING");
        grave
            .map(|entry| entry["message"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The size of what is seen, in pixels.
    pub(super) async fn resize(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// `light` or `dark`.
    pub(super) async fn prefer(&self, scheme: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.devtools("Emulation.setEmulatedMedia", features).await;
    }

    /// What is seen, as a PNG.
    pub(super) async fn screenshot(&self) -> Vec<u8> {
        let encoded = self.get("/screenshot").await;
        BASE64_STANDARD.decode(encoded.as_str().unwrap()).unwrap()
    }

    async fn devtools(&self, name: &str, parameters: Value) {
        self.post("/goog/cdp/execute", json!({ "cmd": name, "params": parameters }))
            .await;
    }

    /// Waits until `look` finds something, or fails with what is to be read instead of what was `awaited`.
    async fn wait(&self, look: &str, arguments: Value, awaited: &str) -> Value {
        let script = json!({ "script": format!("{look}{AWAIT}"), "args": arguments });
        match self.attempt("POST", "/execute/async", &script).await {
            Ok(found) => found,
            Err(error) => panic!(
                "{awaited:?} was awaited in vain: {error}\n{}\n{:#?}",
                self.text().await,
                self.complaints().await
            ),
        }
    }

    async fn get(&self, path: &str) -> Value {
        let got = self.attempt("GET", path, &Value::Null).await;
        got.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let got = self.attempt("POST", path, &body).await;
        got.unwrap_or_else(|error| panic!("{path} with {body}: {error}"))
    }

    async fn attempt(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let path = format!("/session/{}{path}", self.session);
        command(self.driver.address, method, &path, body).await
    }
}

const INSTALL: &str =
    "install Chromium and its driver, for example with `apt-get install chromium chromium-driver`";

impl Driver {
    async fn start() -> Self {
        loop {
            match Self::on_drawn_port().await {
                Ok(driver) => return driver,
                // It draws a port for IPv6, and then wants the same one for IPv4, which another may have.
                Err(said) if said.contains("port not available") => {}
                Err(said) => panic!("chromedriver ended at once: {said}; {INSTALL}"),
            }
        }
    }

    /// A driver, or what it said before it ended.
    async fn on_drawn_port() -> Result<Self, String> {
        let program = find("chromedriver");
        let program = program.unwrap_or_else(|| panic!("chromedriver is not on this machine: {INSTALL}"));
        let mut child = Command::new(program)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut says = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = String::new();
        while let Some(line) = says.next_line().await.unwrap() {
            if let Some((_, port)) = line.split_once("started successfully on port ") {
                return Ok(Self {
                    address: ([127, 0, 0, 1], port.trim_end_matches('.').parse().unwrap()).into(),
                    _child: child,
                    _says: says,
                });
            }
            said = said + &line + " ";
        }
        Err(said)
    }
}

/// Where a program is, if it is in the path.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.exists())
}
