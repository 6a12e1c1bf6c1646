-- Admission: what becomes of a row that a pipeline inserts into the outbox, decided in the pipeline's own transaction.
--
--   insert ──▶ before: refused with an error, or dropped as known
--          ──▶ after:  admitted: written to the ledger, which counts its generation, and one owed row per route
--
-- The rules are those of the PostgreSQL migration of the same name; why they are so is said there. What differs:
--   * There is one writer at a time, and triggers run under its lock: here it is safe to look before deciding. The
--     ledger is written after the row, so that it knows no row that `insert or ignore` has skipped.
--   * The order in which triggers of one moment fire is undefined. These are right in any order: an abort undoes what
--     the others wrote, and a row that is dropped early is one that changes nothing.
--   * `raise` takes constant messages only, so an error names the rule and not the row.
--   * A trigger cannot change the new row. So an id is refused, not overwritten, and `insert … returning` knows the id
--     but not yet the generation.
--   * There is no hash: fingerprints are texts, so that another order of keys is a change, and every slot is 0.

-- Drops what the ledger knows: equal content, or an older version. Equal content of a newer version moves the version on.
create trigger outbox_drop_known_state before insert on outbox
when new.op in ('upsert', 'delete')
begin
    update ledger set row_version = new.row_version
    where topic = new.topic and identity = new.row_key
        and (fingerprint, op) = (iif(new.op = 'delete', 'null', new.payload), new.op)
        and (new.row_version > row_version or (row_version is null and new.row_version is not null));

    select raise(ignore) from ledger
    where topic = new.topic and identity = new.row_key
        and ((fingerprint, op) = (iif(new.op = 'delete', 'null', new.payload), new.op) or new.row_version < row_version);
end;

create trigger outbox_admit_state after insert on outbox
when new.op in ('upsert', 'delete')
begin
    insert into ledger (topic, identity, fingerprint, row_version, generation, op, outbox_id, admitted)
    values (new.topic, new.row_key, iif(new.op = 'delete', 'null', new.payload), new.row_version, 1, new.op, new.id, true)
    on conflict (topic, identity) do update set
        fingerprint = excluded.fingerprint,
        row_version = coalesce(max(row_version, excluded.row_version), row_version, excluded.row_version),
        generation = generation + 1,
        op = excluded.op,
        outbox_id = excluded.outbox_id;

    update outbox set
        generation = (select generation from ledger where topic = new.topic and identity = new.row_key),
        payload = iif(new.op = 'delete', 'null', payload)
    where id = new.id
        -- Spares most rows of a first load the second write.
        and (generation <> (select generation from ledger where topic = new.topic and identity = new.row_key)
            or payload is not iif(new.op = 'delete', 'null', payload));
end;

-- Drops an event that is known. Two are one fact if row key, version and content are equal; the length says where the
-- key ends.
create trigger outbox_drop_known_event before insert on outbox
when new.op = 'event'
begin
    select raise(ignore) from ledger
    where topic = new.topic
        and identity = length(new.row_key) || ':' || new.row_key || ',' || coalesce(new.row_version, '-') || ',' || new.payload;
end;

create trigger outbox_admit_event after insert on outbox
when new.op = 'event'
begin
    insert into ledger (topic, identity, fingerprint, row_version, generation, op, outbox_id, admitted)
    values (new.topic,
        length(new.row_key) || ':' || new.row_key || ',' || coalesce(new.row_version, '-') || ',' || new.payload,
        '', new.row_version, 1, new.op, new.id, true);

    update outbox set generation = 1 where id = new.id and generation <> 1;
end;

-- Takes in a topic that nobody has registered.
create trigger outbox_register after insert on outbox
when not exists (select 1 from topic where name = new.topic)
begin
    insert into topic (name, kind, max_payload_bytes)
    values (new.topic, iif(new.op = 'event', 'event', 'state'),
        coalesce((select cast(value as integer) from setting where name = 'max_payload_bytes'), 1048576));
end;

create trigger outbox_owe after insert on outbox begin
    insert into owed (destination, outbox_id)
    select destination, new.id from route where topic = new.topic
    union all
    select '', new.id where not exists (select 1 from route where topic = new.topic);
end;

create trigger outbox_refuse before insert on outbox begin
    select raise(abort, 'outbox: leave id out; it is assigned, so that ids ascend per row key')
    where new.id <> -1; -- what SQLite shows here for an id that was left out

    select raise(abort, 'outbox: created_at is a whole number, microseconds since 1970; leave it out')
    where typeof(new.created_at) <> 'integer';

    select raise(abort, 'outbox: a topic is a text of 1 to 255 bytes without NUL')
    where typeof(new.topic) <> 'text' or length(cast(new.topic as blob)) not between 1 and 255
        or instr(new.topic, char(0));

    select raise(abort, 'outbox: a row key is a text of 1 to 1024 bytes without NUL; hash a longer one')
    where typeof(new.row_key) <> 'text' or length(cast(new.row_key as blob)) not between 1 and 1024
        or instr(new.row_key, char(0));

    select raise(abort, 'outbox: a row version is a whole number of 64 bits, or null')
    where typeof(new.row_version) not in ('integer', 'null');

    select raise(abort, 'outbox: the op is unknown; write upsert or delete to a state topic, event to an event topic')
    where coalesce(new.op, '') not in ('upsert', 'delete', 'event');

    select raise(abort, 'outbox: the op does not fit: a state topic takes upsert and delete, an event topic takes event')
    from topic
    where name = new.topic and kind <> iif(new.op = 'event', 'event', 'state');

    select raise(abort, 'outbox: the payload is missing; write ''null'' if the JSON value null is meant')
    where new.payload is null and new.op <> 'delete';

    select raise(abort, 'outbox: the payload exceeds max_payload_bytes of its topic; raise that, or send a reference')
    where length(cast(new.payload as blob)) > coalesce(
        (select max_payload_bytes from topic where name = new.topic),
        (select cast(value as integer) from setting where name = 'max_payload_bytes'),
        1048576);

    -- SQLite itself would read no further than a NUL.
    select raise(abort, 'outbox: the payload is not JSON')
    where new.payload is not null
        and (typeof(new.payload) <> 'text' or not json_valid(new.payload) or instr(new.payload, char(0)));

    select raise(abort, 'outbox: a delete carries a payload; leave it out, and to tell more of the row upsert it first')
    where new.op = 'delete' and json_type(new.payload) <> 'null';

    select raise(abort, 'outbox: the headers are not a JSON object of strings, such as {"traceparent": "00-…"}')
    where case
        when new.headers is null then false
        when typeof(new.headers) <> 'text' or not json_valid(new.headers) then true
        when json_type(new.headers) <> 'object' then true
        else exists (select 1 from json_each(new.headers) where type <> 'text')
    end;
end;
