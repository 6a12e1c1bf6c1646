-- $1 destination, $2 shard, $3 owner, $4 epoch of the lease, $5 relay, $6 sequence, $7 job
--
-- The lock makes the fence, as for a record: who takes the lease over waits for this, and then finds the job.
with held as materialized (
    select from aftercommit.lease
    where destination = $1 and shard = $2 and owner = $3 and epoch = $4
    for no key update
)
update aftercommit.dispatch set job = $7
where relay = $5 and sequence = $6 and exists (select from held)
returning sequence
