select max(version) as version from aftercommit.migration where success
