//! The relay: leases, dispatchers, and the supervisor that owns them.
