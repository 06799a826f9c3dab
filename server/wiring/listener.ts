/** Starts the HTTP listener with the certificate, limits and timeouts of the settings, and that of the metrics. */

import {
  type Certificate,
  type CertificateFiles,
  readCertificate,
  watchCertificate,
} from "../http/certificate.ts";
import { createCors } from "../http/cors.ts";
import { type Listener, type ListenOptions, listen } from "../http/listen.ts";
import { KeyShares } from "../lib/key-shares.ts";
import type { Metrics } from "../observe/metrics/open-metrics.ts";
import { logInternalError } from "../observe/request-line.ts";
import type { Settings } from "../settings.ts";
import type { OpenedTempStorage } from "../temp-storage/open-temp-storage.ts";
import type { Runtime } from "./runtime.ts";

const quietRoutes: ReadonlySet<string> = new Set(["health", "ready", "metrics"]);

interface ConfiguredCertificate {
  readonly files: CertificateFiles;
  readonly first: Certificate;
}

/** Throws CertificateError. Undefined for plain HTTP. */
export function readConfiguredCertificate(settings: Settings): ConfiguredCertificate | undefined {
  const { VEXEL_TLS_CERT: certPath, VEXEL_TLS_KEY: keyPath } = settings;
  if (certPath === "") return undefined;
  const files = { certPath, keyPath };
  return { files, first: readCertificate(files) };
}

/** Reloads a renewed certificate. */
export function wireCertificate(runtime: Runtime, configured: ConfiguredCertificate) {
  const certificate = watchCertificate({ ...runtime, ...configured });
  runtime.resources.defer(certificate.close);
  return certificate;
}

interface ListenerParts
  extends Pick<ListenOptions, "handlers" | "mounts" | "maxConnections" | "minBodyRate"> {
  /** The current certificate. Undefined for plain HTTP. */
  readonly tls: ListenOptions["tls"] | undefined;
  readonly temp: OpenedTempStorage;
  readonly metrics: Metrics | undefined;
  /** The process is one of several workers: it shares its port, and its supervisor serves the port of the metrics. */
  readonly isWorker: boolean;
}

/** Throws if a port cannot be opened. Then nothing is listening. */
export function startListener(
  { settings, log, clock, replica }: Runtime,
  { handlers, mounts, maxConnections, minBodyRate, tls, temp, metrics, isWorker }: ListenerParts,
): Listener {
  const listener = listen({
    ...(tls && { tls }),
    host: settings.HOST,
    port: settings.PORT,
    reusePort: isWorker,
    replica,
    handlers,
    mounts,
    cors: createCors(settings.VEXEL_CORS_ORIGINS),
    maxBodyBytes: settings.VEXEL_MAX_BODY_BYTES,
    // One key may hold half of the memory, which must be enough for the largest body and its values.
    jsonMemory: new KeyShares(
      Math.max(settings.VEXEL_JSON_MEMORY_BYTES, 4 * settings.VEXEL_MAX_BODY_BYTES),
    ),
    form: {
      folder: temp.folder,
      memory: temp.uploadMemory,
      maxFileBytes: settings.VEXEL_MAX_FILE_BYTES,
      maxFormBytes: settings.VEXEL_MAX_UPLOAD_BYTES,
      storage: temp.storage,
    },
    publicUrl: settings.VEXEL_PUBLIC_URL,
    trustedProxies: settings.VEXEL_TRUSTED_PROXIES,
    bodyMs: settings.VEXEL_BODY_TIMEOUT * 1000,
    minBodyRate,
    maxConnections,
    onConnectionsRefused: (report) => log.warn("connections-refused", { ...report }),
    clock,
    report: ({ latencyMs, requestId, route, ...fields }) => {
      // Health checks every second would hide all other lines.
      const level = quietRoutes.has(route) && fields.status < 400 ? "debug" : "info";
      const durationMs = Math.round(latencyMs * 10) / 10;
      log[level]("request", { ...fields, endpoint: route, durationMs, requestId });
      metrics?.requests.observeOther({ route, status: fields.status });
    },
    onInternalError: (requestId, error) => logInternalError(log, requestId, error),
  });
  try {
    if (!isWorker) metrics?.listen();
  } catch (error) {
    void listener.stop(true);
    throw error;
  }
  return listener;
}
