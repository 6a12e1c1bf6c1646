select destination, used, allowed, reserve, heard_at from aftercommit.usage
