-- $1 topics, row keys, destinations, and outbox ids of older versions
--
-- What the statement for PostgreSQL says; there is no `lateral` here.
select topic, row_key, destination, outbox_id
from (
    select
        value ->> 'topic' as topic, value ->> 'row_key' as row_key, value ->> 'destination' as destination,
        (
            select newer.id
            from outbox as newer
            where newer.topic = value ->> 'topic'
                and newer.row_key = value ->> 'row_key'
                and newer.id > value ->> 'older'
                and (
                    exists (
                        select 1 from owed
                        where owed.destination = value ->> 'destination' and owed.outbox_id = newer.id
                    )
                    or exists (
                        select 1 from settled
                        where settled.outbox_id = newer.id
                            and settled.destination = value ->> 'destination'
                            and (
                                settled.state in ('delivered', 'uncertain')
                                or exists (
                                    select 1 from attempt
                                    where attempt.outbox_id = newer.id
                                        and attempt.destination = settled.destination
                                        and attempt.key_epoch = settled.key_epoch
                                        and attempt.outcome = 'unknown'
                                )
                            )
                    )
                )
            order by newer.id desc
            limit 1
        ) as outbox_id
    from json_each($1)
    -- Else it would be worked out twice.
    limit -1
) as newest
where outbox_id is not null
