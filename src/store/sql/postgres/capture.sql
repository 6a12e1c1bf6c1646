select admitted, unchanged, stale, deleted
from aftercommit.capture($1, $2, $3::bigint <> 0, $4::text::double precision)
