# A static binary in an image with nothing else but the certificates of the system's authorities:
#
#     docker build -t springload .
#     docker run --rm -v "$PWD:/runs" --user "$(id -u)" springload run http://user@host:5984
#
# The folder /runs is where runs are saved.

FROM rust:1-alpine AS build
RUN apk add --no-cache build-base ca-certificates
WORKDIR /source
COPY . .
RUN cargo build --profile dist --locked --features databases,broker \
    && mkdir -p /image/usr/local/bin /image/etc/ssl/certs /image/runs /image/tmp \
    && cp target/dist/springload /image/usr/local/bin/ \
    && cp /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ \
    && cp LICENSE-APACHE LICENSE-MIT /image/

FROM scratch
COPY --from=build --chown=65532:65532 /image /
ENV PATH=/usr/local/bin
USER 65532:65532
WORKDIR /runs
ENTRYPOINT ["springload"]
CMD ["run"]
