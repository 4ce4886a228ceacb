# A static binary in an image with nothing else but the certificates of the system's authorities:
#
#     docker build -t springload .
#     docker run --rm -v "$PWD:/runs" --user "$(id -u)" springload run http://user@host:5984
#
# The folder /runs is where runs are saved; like /tmp, it is open to any user. An image that is
# given to others has to have the notices of what is in it, which `make notices` writes before.

FROM rust:1-alpine AS build
RUN apk add --no-cache build-base ca-certificates
WORKDIR /source
# The crates that springload stands on, in a layer of their own: it is built again only if a
# manifest changes. The workspace's own crates are empty here.
COPY Cargo.toml Cargo.lock ./
COPY crates/core/Cargo.toml crates/core/
COPY crates/driver/Cargo.toml crates/driver/
COPY crates/embedded/Cargo.toml crates/embedded/
COPY crates/engine/Cargo.toml crates/engine/
COPY crates/load/Cargo.toml crates/load/
COPY crates/report/Cargo.toml crates/report/
COPY crates/workload/Cargo.toml crates/workload/
RUN for crate in . crates/*; do mkdir "$crate/src" && touch "$crate/src/lib.rs"; done \
    && echo 'fn main() {}' > src/main.rs \
    && sed -i '/^\[\[\(test\|bench\|example\)\]\]/,/^$/d' Cargo.toml \
    && cargo build --profile dist --locked --features databases,broker,push,http2
COPY . .
# The sources may be older than what was built of empty ones.
RUN find src crates -name '*.rs' -exec touch {} + \
    && cargo build --profile dist --locked --features databases,broker,push,http2 \
    && mkdir -p /image/usr/local/bin /image/etc/ssl/certs /image/runs /image/tmp \
    && chmod 1777 /image/runs /image/tmp \
    && strip -o /image/usr/local/bin/springload target/dist/springload \
    && cp /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ \
    && cp LICENSE-APACHE LICENSE-MIT /image/ \
    && if [ -f target/package-files/NOTICES.txt ]; then \
        cp target/package-files/NOTICES.txt /image/; fi

FROM scratch
COPY --from=build --chown=65532:65532 /image /
ENV PATH=/usr/local/bin
USER 65532:65532
WORKDIR /runs
ENTRYPOINT ["springload"]
CMD ["run"]
