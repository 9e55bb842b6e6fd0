# Squall in a container. `docker build -t squall .`, then see docs/guide/run-in-production.md.
FROM rust:1.95-bookworm AS build
WORKDIR /squall
COPY . .
RUN cargo build --release --locked --package squall

FROM debian:bookworm-slim
# The data directory belongs to an account without privileges; a volume that is empty gets its owner from here.
RUN groupadd --system --gid 999 squall \
    && useradd --system --uid 999 --gid squall --home-dir /var/lib/squall --shell /usr/sbin/nologin squall \
    && install -d -m 0700 -o squall -g squall /var/lib/squall \
    && install -d -m 0755 -o squall -g squall /run/squall \
    && install -d /docker-entrypoint-initdb.d
COPY --from=build /squall/target/release/squall /usr/local/bin/squall
USER squall
VOLUME /var/lib/squall
EXPOSE 3306
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=10s --start-period=10min --retries=3 CMD ["squall", "ping"]
# MYSQL_ROOT_PASSWORD and the other variables of MySQL's images: squall serve --help.
ENTRYPOINT ["squall", "serve", "--init-from-env", "--datadir", "/var/lib/squall"]
CMD ["--bind-address", "*", "--socket", "/run/squall/squall.sock"]
