# The image of the gateway: `docker build -t vexel .`. The image has no shell and no package manager, the user is not root,
# and the root file system can be read-only; only /data is written.
FROM node:24-bookworm-slim AS build
WORKDIR /src
COPY . .
# The same package that `npm pack` makes, with the console built.
RUN node bin/prepare.mjs \
 && npm pack --pack-destination /tmp \
 && mkdir -p /data /opt/vexel
WORKDIR /opt/vexel
RUN echo '{"private":true}' > package.json \
 && npm install --no-audit --no-fund /tmp/vexel-*.tgz \
 && sh /src/deploy/docker/prune.sh node_modules

FROM gcr.io/distroless/cc-debian12:nonroot
LABEL org.opencontainers.image.title="Vexel" \
      org.opencontainers.image.description="OpenAI-compatible gateway for embeddings and images" \
      org.opencontainers.image.licenses="MIT"
COPY --from=build /opt/vexel/node_modules /opt/vexel/node_modules
COPY --from=build --chown=65532:65532 /data /data
WORKDIR /data
USER 65532:65532
ENV HOST=0.0.0.0 \
    PORT=8080 \
    VEXEL_DATA=/data \
    VEXEL_LOG_FORMAT=json \
    VEXEL_COMMAND="docker exec CONTAINER /opt/vexel/node_modules/bun/bin/bun.exe /opt/vexel/node_modules/vexel/cli/main.ts"
EXPOSE 8080
VOLUME /data
# SIGTERM drains the gateway: give it more than VEXEL_DRAIN_TIMEOUT and VEXEL_IMAGES_TIMEOUT together, such as
# `docker run --stop-timeout 740`.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 \
  CMD ["/opt/vexel/node_modules/bun/bin/bun.exe", "-e", "process.exit((await fetch(`http${process.env.VEXEL_TLS_CERT ? 's' : ''}://127.0.0.1:${process.env.PORT}/healthz`, { tls: { rejectUnauthorized: false } })).ok ? 0 : 1)"]
ENTRYPOINT ["/opt/vexel/node_modules/bun/bin/bun.exe", "--no-install", "/opt/vexel/node_modules/vexel/cli/start.ts"]
