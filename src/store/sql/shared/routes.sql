select topic, destination from aftercommit.route order by topic, destination
