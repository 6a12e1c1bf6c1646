-- From an index that holds nothing else.
select destination, state, count(*) as deliveries
from aftercommit.settled
where state in ('dead', 'uncertain')
group by destination, state
