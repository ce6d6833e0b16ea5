# The command with its web UI, for a server:
#   docker build --tag stepscope .
#   docker run --rm --read-only --network host --volume stepscope-cache:/cache --volume "$PWD/runs:/runs:ro" \
#     stepscope open /runs --no-open --port 8080
# The web UI is served to the machine itself, so the container shares its network.

FROM node:20-trixie-slim AS pages
WORKDIR /stepscope
COPY . .
RUN npm --prefix ui install --no-save --no-audit --no-fund && npm --prefix ui run build

FROM rust:1.95-slim-trixie AS command
RUN apt-get update && apt-get install --yes --no-install-recommends make && rm -rf /var/lib/apt/lists/*
WORKDIR /stepscope
COPY . .
COPY --from=pages /stepscope/ui/dist ui/dist
RUN cargo install --profile dist --locked --path crates/cli --root /built && install --directory --mode 700 /cache

FROM debian:trixie-slim
COPY --from=command /built/bin/stepscope /usr/local/bin/stepscope
COPY --from=command --chown=65532:65532 /cache /cache
# All that is written goes there, so that the rest can be read-only.
ENV STEPSCOPE_CACHE=/cache TMPDIR=/cache XDG_STATE_HOME=/cache
VOLUME /cache
USER 65532:65532
ENTRYPOINT ["stepscope"]
CMD ["--help"]
