-- $1 topics, $2 row keys and $3 destinations; $4 outbox ids of older versions
--
-- The newest version of each row, newer than that one, that is owed there, was delivered there, or may have arrived there. Ids
-- ascend per row key. The newest is looked at first: it is the likeliest, and a row can have very many versions. What
-- `offset 0` is for, see `fetch`.
select wanted.topic, wanted.row_key, wanted.destination, newest.id as outbox_id
from unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) as wanted (topic, row_key, destination, older)
cross join lateral (
    select newer.id
    from aftercommit.outbox as newer
    where newer.topic = wanted.topic
        and newer.row_key = wanted.row_key
        and newer.id > wanted.older
        and (
            exists (
                select 1 from aftercommit.owed
                where owed.destination = wanted.destination and owed.outbox_id = newer.id
                offset 0
            )
            or exists (
                select 1 from aftercommit.settled
                where settled.outbox_id = newer.id
                    and settled.destination = wanted.destination
                    and (
                        settled.state in ('delivered', 'uncertain')
                        or exists (
                            select 1 from aftercommit.attempt
                            where attempt.outbox_id = newer.id
                                and attempt.destination = wanted.destination
                                and attempt.key_epoch = settled.key_epoch
                                and attempt.outcome = 'unknown'
                            offset 0
                        )
                    )
                offset 0
            )
        )
    order by newer.id desc
    limit 1
) as newest
