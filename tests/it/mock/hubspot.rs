//! The HubSpot mock, answer by answer. Each answer is a value, so no socket is needed here; HubSpot's own client
//! drives the served mock in `tests/clients/hubspot_test.py`.

mod access;
mod batches;
mod bodies;
mod client;
mod faults;
mod objects;
mod world;
