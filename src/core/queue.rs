//! What may be sent next from one shard of one destination.
