-- $1 and $2 the window; $3 actor, $4 action, $5 part of the subject: null if it does not matter; $6 how many
select id, at, actor, origin, action, subject, reason, detail
from aftercommit.audit
where id < $1 and id >= $2
    and (cast($3 as text) is null or actor = $3)
    and (cast($4 as text) is null or action = $4)
    -- Both databases can replace a text, and without the wildcards of `like`.
    and (cast($5 as text) is null or replace(subject, $5, '') <> subject)
order by id desc
limit $6
