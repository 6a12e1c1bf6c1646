-- $1 whether the key is to be new, $2 whether versions of a row are guarded against newer ones
-- $3 outbox ids, $4 destinations and $5 states: what was found settled
--
-- The delete decides: of two requeues at once, or of a requeue and a cancel, one gets the row. All attempts so far are
-- excused, so that a replay has the whole budget of attempts. Under the same key the same bytes are sent, hence the same
-- rendering.
with taken as (
    delete from aftercommit.settled
    using unnest($3::bigint[], $4::text[], $5::text[]) as wanted (outbox_id, destination, state)
    -- By key, from what is wanted; why it is written so, see `record`.
    where settled.outbox_id = any (array[wanted.outbox_id])
        and settled.destination = any (array[wanted.destination])
        and settled.state = wanted.state
    returning settled.outbox_id, settled.destination, settled.attempts, settled.key_epoch, settled.rendering
),
requeued as (
    insert into aftercommit.owed (destination, outbox_id, slot, attempts, excused, key_epoch, rendering, guarded)
    select
        taken.destination, taken.outbox_id, aftercommit.slot_of(outbox.row_key), taken.attempts, taken.attempts,
        taken.key_epoch + $1::integer, case when $1 = 0 then taken.rendering end, $2::integer = 1 and outbox.op <> 'event'
    from taken
    cross join lateral (
        select row_key, op from aftercommit.outbox where outbox.id = taken.outbox_id offset 0
    ) as outbox
    -- It may be owed once more already.
    on conflict (destination, outbox_id) do nothing
)
select count(*) as requeued from taken
