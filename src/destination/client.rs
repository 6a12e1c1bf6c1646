//! The guarded HTTP client: the only place that sends.
