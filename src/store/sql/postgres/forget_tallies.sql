delete from aftercommit.tally
where minute < cast(floor(extract(epoch from now()) / 60) as bigint) - 2 * 24 * 60
