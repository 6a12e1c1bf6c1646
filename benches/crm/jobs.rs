//! A job of the Bulk API as a loop without a database makes it.

use std::sync::Arc;
use std::time::Duration;

use aftercommit::mock::crm::Entry;
use reqwest::{Client, Method, Request, Url};
use serde_json::Value;

use crate::drain::bare::send;

/// The time between two looks at a job: the relay's first one.
const PACE: Duration = Duration::from_millis(200);

/// Whether a request opens a job.
pub(crate) fn opens(entry: &Entry) -> bool {
    entry.method == "POST" && entry.target.ends_with("/jobs/ingest")
}

/// Opens a job, gives it the data of `upload`, looks at it until it has ended, and fetches all three results.
pub(crate) async fn run(client: &Client, open: &Arc<Option<Request>>, upload: Request) -> anyhow::Result<()> {
    let open = (**open).as_ref().and_then(Request::try_clone);
    let open = open.ok_or_else(|| anyhow::anyhow!("the relay opened no job"))?;
    let jobs = open.url().clone();
    let opened: Value = serde_json::from_slice(&send(client, open).await?.bytes().await?)?;
    let id = opened["id"].as_str();
    let id = id.ok_or_else(|| anyhow::anyhow!("no id of a job in {opened}"))?;
    let job = format!("{jobs}/{id}");
    let like = upload.headers().clone();
    let step = |method: Method, url: &str, body: &'static str| -> anyhow::Result<Request> {
        let mut request = Request::new(method, url.parse::<Url>()?);
        *request.headers_mut() = like.clone();
        request
            .headers_mut()
            .insert("content-type", "application/json".parse()?);
        *request.body_mut() = (!body.is_empty()).then(|| body.into());
        Ok(request)
    };

    let mut data = upload;
    *data.url_mut() = format!("{job}/batches").parse()?;
    send(client, data).await?.bytes().await?;
    let complete = step(Method::PATCH, &job, r#"{"state":"UploadComplete"}"#)?;
    send(client, complete).await?.bytes().await?;
    let mut looks = tokio::time::interval(PACE);
    looks.tick().await;
    loop {
        looks.tick().await;
        let look = send(client, step(Method::GET, &job, "")?).await?.bytes().await?;
        if serde_json::from_slice::<Value>(&look)?["state"] == "JobComplete" {
            break;
        }
    }
    for results in ["successfulResults", "failedResults", "unprocessedrecords"] {
        let results = step(Method::GET, &format!("{job}/{results}/"), "")?;
        send(client, results).await?.bytes().await?;
    }
    Ok(())
}
