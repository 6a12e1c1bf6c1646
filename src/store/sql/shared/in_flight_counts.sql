select destination, sum(json_array_length(entries)) as in_flight
from aftercommit.dispatch
group by destination
