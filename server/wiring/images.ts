/** Wires the image pipeline: image worker, downloads behind the SSRF guard, and the idempotency store. */
import { join } from "node:path";
import { IdempotencyStore } from "../idempotency/idempotency-store.ts";
import type { ImageTools } from "../images/generate.ts";
import type { LinkTools } from "../images/image-links.ts";
import { checkImage, checkMarkup, checkMask } from "../images/preflight.ts";
import { logReason } from "../lib/gateway-error.ts";
import { ignoreRejection } from "../lib/tasks.ts";
import type { TargetLimitOptions } from "../limits/target-limits.ts";
import type { Execute } from "../pipeline/handle-request.ts";
import { createCheckPrompt } from "../pipeline/internal-requests.ts";
import { imageStages } from "../pipeline/stages.ts";
import type { TargetRegistry } from "../routing/target-registry.ts";
import type { Settings } from "../settings.ts";
import { ResponseFiles, type ResponseFilesOptions } from "../storage/files/response-files.ts";
import type { RequestClaims } from "../storage/ports/request-claims.ts";
import type { SharedResponses } from "../storage/ports/shared-responses.ts";
import { SharedResponseStore } from "../storage/shared-response-store.ts";
import type { UpstreamClient } from "../upstream/client.ts";
import type { Target } from "../upstream/contract.ts";
import {
  createDownload,
  hasCredentials,
  isPrivateHost,
  trustedHost,
} from "../upstream/download/index.ts";
import { toFilePart } from "../workers/image/file-part.ts";
import { createImageWorker, type ImageWorker, inspectOnce } from "../workers/image/image-worker.ts";
import { reportImplausibleUsage } from "./report-implausible-usage.ts";
import type { Runtime } from "./runtime.ts";

interface ImagesWiringOptions {
  readonly upstreamClient: UpstreamClient;
  readonly registry: TargetRegistry;
  readonly limits: TargetLimitOptions;
  /** Free health check of a target. */
  readonly isReachable: (target: Target) => Promise<boolean>;
  readonly disk: ResponseFilesOptions["disk"];
  readonly execute: Execute;
  /** The responses that all replicas replay. Undefined: responses are in the data folder only. */
  readonly sharedResponses: SharedResponses | undefined;
  /** The claims that replicas share. Undefined: this is the only replica. */
  readonly claims: RequestClaims | undefined;
}

export function wireImages(
  { settings, log, now, clock, resources }: Runtime,
  options: ImagesWiringOptions,
) {
  const { upstreamClient, registry, limits, isReachable, disk, execute, sharedResponses } = options;
  const imageWorker = createImageWorker({ idleMs: settings.VEXEL_CHILD_PROCESS_IDLE * 1000 });
  resources.defer(() => imageWorker.close());
  const responses = new ResponseFiles({
    folder: join(settings.VEXEL_DATA, "responses"),
    ttlMs: settings.VEXEL_RESPONSE_TTL * 1000,
    maxBytes: settings.VEXEL_RESPONSES_MAX_BYTES,
    disk,
    now,
  });
  const store =
    sharedResponses &&
    new SharedResponseStore({
      local: responses,
      shared: sharedResponses,
      clock,
      reportUnshared: (error) => log.warn("response-not-shared", { reason: logReason(error) }),
    });
  const sweep = (): void => {
    void responses.sweep();
    // While the shared storage is unreachable, expired responses wait for the next sweep.
    ignoreRejection(sharedResponses?.sweep());
  };
  const sweeping = setInterval(sweep, 60_000);
  sweeping.unref();
  resources.defer(() => clearInterval(sweeping));
  sweep();
  const idempotencyStore = new IdempotencyStore(
    store ?? responses,
    (error) => log.warn("response-not-stored", { reason: logReason(error) }),
    options.claims,
  );
  const tools = createTools(settings, upstreamClient, imageWorker);
  return {
    ...imageStages(upstreamClient, {
      tools,
      checkPrompt: createCheckPrompt({
        execute,
        moderation: upstreamClient.moderation,
        limits,
        imageTimeoutMs: settings.VEXEL_IMAGES_TIMEOUT * 1000,
        onImplausibleUsage: reportImplausibleUsage(log),
      }),
      checkHealth: isReachable,
      registry,
      limits,
      onImplausibleUsage: reportImplausibleUsage(log),
    }),
    idempotencyStore,
    downloadLink: createOptionalDownload(settings),
  };
}

function createTools(
  settings: Settings,
  upstreamClient: UpstreamClient,
  imageWorker: ImageWorker,
): ImageTools {
  const download = createDownload({
    maxBytes: settings.VEXEL_DOWNLOAD_MAX_BYTES,
    timeoutMs: settings.VEXEL_DOWNLOAD_TIMEOUT * 1000,
    trusted: parseHosts(settings.VEXEL_DOWNLOAD_PRIVATE),
  });
  const inspections = inspectOnce(imageWorker);
  return {
    capabilitiesOf: upstreamClient.imageCapabilities,
    download: (url, target, signal, temp) =>
      download(url, { signal, temp, origin: "upstream", trusted: ownHosts(target), svg: true }),
    fetchSource: async (url, param, { signal, temp, key }) => {
      const image = await download(url, { signal, temp, origin: { param } });
      const inspection = await checkImage(image, param, { imageWorker, key }, signal);
      if (param.startsWith("mask")) checkMask(inspection, undefined, param);
      if (param.startsWith("markup")) checkMarkup(inspection, undefined, param);
      const file = toFilePart(image, { field: param, filename: "image" }, inspection.type);
      inspections.set(file, inspection);
      return file;
    },
    inspect: (file, { signal, key }) => inspections.inspect(file, signal, undefined, key),
    isPrivate,
    convert: imageWorker.convert,
    convertFile: async (file, to, job) =>
      toFilePart(await imageWorker.convert(file, to, job), file, `image/${to.format}`),
    convertMask: async (mask, to, job) =>
      toFilePart(await imageWorker.mask(mask, to, job), mask, "image/png"),
    uploads: { imageWorker: inspections, maxBytes: settings.VEXEL_MAX_FILE_BYTES },
  };
}

/** The client waits for a response that is complete without the download, so the timeout is short. */
const optionalDownloadTimeoutMs = 10_000;

/** Downloads the image behind an upstream's link. */
function createOptionalDownload(settings: Settings): LinkTools["download"] {
  const download = createDownload({
    maxBytes: settings.VEXEL_DOWNLOAD_MAX_BYTES,
    timeoutMs: Math.min(optionalDownloadTimeoutMs, settings.VEXEL_DOWNLOAD_TIMEOUT * 1000),
    trusted: parseHosts(settings.VEXEL_DOWNLOAD_PRIVATE),
  });
  return (url, target, signal, temp) =>
    download(url, { signal, temp, origin: "upstream", trusted: ownHosts(target), svg: true });
}

const parseHosts = (list: string): string[] =>
  list
    .split(",")
    .map((host) => host.trim())
    .filter((host) => host !== "");

/** Decided by the URL alone, without a DNS lookup: the client would resolve the name itself. */
function isPrivate(link: string): boolean {
  const url = URL.parse(link);
  return url !== null && (hasCredentials(url) || isPrivateHost(url.hostname));
}

/** An upstream in a private network returns links to itself. */
const ownHosts = ({ upstream }: Target): string[] =>
  upstream.baseUrl === undefined ? [] : [trustedHost(upstream.baseUrl)];
