-- $1 outbox ids and $2 destinations
--
-- Those whose row has a newer version that is owed there, was delivered there, or may have arrived there. Ids ascend per row
-- key. The newest is looked at first: it is the likeliest, and a row can have very many versions.
select wanted.outbox_id, wanted.destination
from unnest($1::bigint[], $2::text[]) as wanted (outbox_id, destination)
join aftercommit.outbox on outbox.id = wanted.outbox_id
where (
    select 1
    from aftercommit.outbox as newer
    where newer.topic = outbox.topic
        and newer.row_key = outbox.row_key
        and newer.id > outbox.id
        and (
            exists (
                select 1 from aftercommit.owed
                where owed.destination = wanted.destination and owed.outbox_id = newer.id
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
                        )
                    )
            )
        )
    order by newer.id desc
    limit 1
) is not null
