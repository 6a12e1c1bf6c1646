-- $1 what this transaction has just made owed: outbox ids and destinations. Why, the statement for PostgreSQL says.
delete from owed
where (destination, outbox_id) in (
    select value ->> 'destination', value ->> 'outbox_id'
    from json_each($1)
    cross join settled
        on settled.outbox_id = value ->> 'outbox_id' and settled.destination = value ->> 'destination'
)
