-- $1 outbox ids and $2 destinations: what this transaction has just made owed
--
-- A statement later sees what the one that owed them could not: those that somebody else had owed and settled before. What
-- has ended stays so. Nobody else has seen the rows that go.
delete from aftercommit.owed
using unnest($1::bigint[], $2::text[]) as wanted (outbox_id, destination)
where owed.destination = any (array[wanted.destination])
    and owed.outbox_id = wanted.outbox_id
    and exists (
        select from aftercommit.settled
        where settled.outbox_id = wanted.outbox_id and settled.destination = wanted.destination
        offset 0
    )
