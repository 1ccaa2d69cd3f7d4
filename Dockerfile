# One image for every process: api (the default), worker, migrate and ops.
#
#   docker build --tag relay-and-sign .
#   docker run relay-and-sign                                              the api
#   docker run relay-and-sign node dist/temporal/worker.js                 the worker
#   docker run relay-and-sign node dist/src/db/run-migrations.js           brings the database up to date
#   docker run relay-and-sign node dist/temporal/ops.js status             the operator's commands
#
# `npm run rehearse` carries out these steps without Docker.

FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY patches patches
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm run build

FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
COPY patches patches
RUN npm ci --omit=dev --no-audit --no-fund

FROM node:24-bookworm-slim
# A worker's connection to Temporal trusts the system's authorities, not Node's own list; certificates and timestamps are made by openssl.
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates openssl && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 WORKFLOW_BUNDLE=dist/workflows.cjs
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json ./
USER node
EXPOSE 8080
# Every process answers on its operators' port: 9464 the api, 9465 the worker, or the one it was told.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "Promise.any([process.env.METRICS_PORT || 9464, 9465].map((port) => fetch(`http://127.0.0.1:${port}/healthz`).then(({ ok }) => ok || Promise.reject()))).catch(() => process.exit(1))"]
CMD ["node", "dist/api/server.js"]
