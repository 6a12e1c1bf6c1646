# syntax=docker/dockerfile:1
# The relay in an image: one program, the certificates of the system, no root.

FROM rust:1.95-slim-bookworm AS build
WORKDIR /build
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/build/target \
    cargo build --release --locked --features parquet && cp target/release/aftercommit /usr/local/bin/

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --create-home --home-dir /var/lib/aftercommit aftercommit
COPY --from=build /usr/local/bin/aftercommit /usr/local/bin/
# Where a SQLite outbox lies, unless the configuration says otherwise. A number, so that Kubernetes can see it is no root.
USER 10001
WORKDIR /var/lib/aftercommit
ENTRYPOINT ["aftercommit"]
