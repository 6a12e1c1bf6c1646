select id, spec from aftercommit.rendering
