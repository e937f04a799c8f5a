# The operator's image for clusters that are not the lab: docker build --tag REGISTRY/vworkspace-operator:VERSION .
FROM docker.io/library/rust:1.95-alpine AS build
# What the parts in C of ring and mimalloc need, and the authorities that the image trusts.
RUN apk add --no-cache ca-certificates musl-dev
WORKDIR /source
COPY . .
RUN cargo build --release --locked --package vworkspace-operator --bin vworkspace-operator

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /source/target/release/vworkspace-operator /usr/local/bin/vworkspace-operator
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/vworkspace-operator"]
