//! Millions of deliveries in all states, put into the tables at once: nobody delivers them.

use crate::drain::base::Base;

/// Rows that one statement writes.
const AT_ONCE: u64 = 500_000;

/// Fills the tables, one delivery for each row.
pub(crate) async fn fill(base: &Base, rows: u64) -> anyhow::Result<()> {
    base.execute(
        "insert into aftercommit.topic (name, kind, max_payload_bytes) values ('orders', 'event', 1000000), ('accounts', 'state', 1000000);
         insert into aftercommit.route (topic, destination)
         select topic, destination from (values ('orders'), ('accounts')) as t (topic),
             (values ('crm'), ('erp'), ('hook'), ('mail')) as d (destination);
         alter table aftercommit.outbox disable trigger all",
    )
    .await?;
    for from in (1..=rows).step_by(usize::try_from(AT_ONCE)?) {
        let to = rows.min(from + AT_ONCE - 1);
        base.execute(&chunk(from, to)).await?;
        eprintln!("{to} of {rows} deliveries");
    }
    base.come_to_rest().await
}

fn chunk(from: u64, to: u64) -> String {
    let series = format!("generate_series({from}, {to}) as n");
    let destination = "(array['crm', 'erp', 'hook', 'mail'])[n % 4 + 1]";
    format!(
        "insert into aftercommit.outbox (id, topic, row_key, row_version, op, payload, created_at)
         select n, case when n % 3 = 0 then 'accounts' else 'orders' end, 'row-' || n % 1000000, n,
             case when n % 3 = 0 then 'upsert' else 'event' end, ('{{\"id\":' || n || '}}')::json,
             now() - interval '30 days' + n * interval '500 milliseconds'
         from {series};
         insert into aftercommit.owed (destination, outbox_id, due_at)
         select {destination}, n, now() + (n % 100) * interval '1 minute' from {series} where n % 20 = 7;
         insert into aftercommit.settled (outbox_id, destination, state, reason, attempts, key_epoch)
         select n, {destination}, state, reason, 1, 0
         from {series}
         cross join lateral (
             select
                 case when n % 50 = 1 then 'dead' when n % 100 = 2 then 'uncertain' when n % 30 = 3 then 'superseded'
                     else 'delivered' end as state,
                 case
                     when n % 50 = 1 then (array['refused', 'attempts_exhausted', 'age_exhausted', 'stored_failure'])[n / 50 % 4 + 1]
                     when n % 100 = 2 then (array['outcome_unknown', 'window_passed'])[n / 100 % 2 + 1]
                     when n % 30 = 3 then 'newer_version' else 'accepted'
                 end as reason
         ) as ended
         where n % 20 <> 7;
         insert into aftercommit.attempt (outbox_id, destination, number, key_epoch, lease_epoch, outcome, http_status,
             started_at, duration_us)
         select n, {destination}, 1, 0, 1, case when n % 50 = 1 then 'refused' else 'accepted' end,
             case when n % 50 = 1 then 422 + n / 50 % 3 else 200 end, now(), 1000
         from {series} where n % 20 <> 7"
    )
}
