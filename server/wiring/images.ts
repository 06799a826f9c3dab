/** Puts together what pictures need besides adapters: the darkroom, guarded downloads, the plan, and what is kept of paid calls. */
import { join } from "node:path";
import { IdempotencyStore } from "../idempotency/idempotency-store.ts";
import { type ImageTools, keyOf } from "../images/generate.ts";
import type { LinkTools } from "../images/image-links.ts";
import { inspectOnce } from "../images/inspect-once.ts";
import { checkEdit, checkImage, checkMask } from "../images/preflight.ts";
import type { TargetLimitOptions } from "../limits/target-limits.ts";
import type { Log } from "../observe/log.ts";
import { imageStacks, type Stacks } from "../pipeline/stages.ts";
import type { TargetRegistry } from "../routing/target-registry.ts";
import type { Settings } from "../settings.ts";
import {
  ResponseFiles,
  type ResponseFilesOptions,
  StoreFullError,
} from "../storage/response-files.ts";
import type { UpstreamClient } from "../upstream/client.ts";
import type { Target } from "../upstream/contract.ts";
import { hasCredentials, isPrivateHost } from "../upstream/download/address-ranges.ts";
import { createDownload } from "../upstream/download/download.ts";
import { trustedHost } from "../upstream/download/ssrf-guard.ts";
import { toFilePart } from "../workers/image/file-part.ts";
import { createImageWorker, type ImageWorker } from "../workers/image/image-worker.ts";
import { reportImplausibleUsage } from "./report-implausible-usage.ts";

export interface ImagesWiringOptions {
  readonly settings: Settings;
  readonly upstream: UpstreamClient;
  readonly log: Log;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly registry: TargetRegistry;
  readonly limits: TargetLimitOptions;
  /** By a question that costs nothing. */
  readonly isReachable: (target: Target) => Promise<boolean>;
  readonly disk: ResponseFilesOptions["disk"];
}

export interface ImagesWiring extends Pick<Stacks, "generations" | "edits"> {
  readonly kept: IdempotencyStore;
  /** What lies behind an upstream's link, where that is better had than left where it is. */
  readonly downloadLink: LinkTools["download"];
  close(): Promise<void>;
}

export function wireImages(options: ImagesWiringOptions): ImagesWiring {
  const {
    settings,
    upstream: reach,
    log,
    now,
    clock,
    registry: roster,
    limits,
    isReachable: isThere,
    disk,
  } = options;
  const darkroom = createImageWorker({ idleMs: settings.VEXEL_EMBEDDED_IDLE * 1000, clock });
  const answers = new ResponseFiles({
    folder: join(settings.VEXEL_DATA, "responses"),
    ttlMs: settings.VEXEL_RESPONSE_TTL * 1000,
    maxBytes: settings.VEXEL_RESPONSES_MAX_BYTES,
    disk,
    now,
  });
  const sweeping = setInterval(() => void answers.sweep(), 60_000);
  sweeping.unref();
  void answers.sweep();
  const kept = new IdempotencyStore(answers, (error) =>
    log.warn("response-not-stored", {
      reason: error instanceof StoreFullError ? `no room: ${error.message}` : String(error),
    }),
  );
  const tools = createTools(settings, reach, darkroom);
  return {
    ...imageStacks(reach, {
      tools,
      moderation: reach.moderation,
      isThere,
      roster,
      limits,
      onDisbelieved: reportImplausibleUsage(log),
    }),
    kept,
    downloadLink: fetchSoon(settings),
    close: async () => {
      clearInterval(sweeping);
      await darkroom.close();
    },
  };
}

function createTools(settings: Settings, reach: UpstreamClient, darkroom: ImageWorker): ImageTools {
  const download = createDownload({
    maxBytes: settings.VEXEL_DOWNLOAD_MAX_BYTES,
    timeoutMs: settings.VEXEL_DOWNLOAD_TIMEOUT * 1000,
    trusted: hostsIn(settings.VEXEL_DOWNLOAD_PRIVATE),
  });
  const looks = inspectOnce(darkroom);
  return {
    traits: reach.imageCapabilities,
    download: (url, target, signal, temp) =>
      download(url, { signal, temp, origin: "upstream", trusted: ownHosts(target), svg: true }),
    fetchSource: async (url, param, { signal, temp, key }) => {
      const picture = await download(url, { signal, temp, origin: { param } });
      const seen = await checkImage(picture, param, { imageWorker: darkroom, key }, signal);
      if (param.startsWith("mask")) checkMask(seen, undefined, param);
      const file = toFilePart(picture, { field: param, filename: "image" }, seen.type);
      looks.set(file, seen);
      return file;
    },
    inspect: (file, { signal, key }) => looks.inspect(file, signal, undefined, key),
    isPrivate,
    convert: (picture, to, { signal, temp, key }) =>
      darkroom.convert(picture, to, signal, temp, key),
    convertFile: async (file, to, { signal, temp, key }) =>
      toFilePart(await darkroom.convert(file, to, signal, temp, key), file, `image/${to.format}`),
    convertMask: async (mask, to, { signal, temp, key }) =>
      toFilePart(await darkroom.mask(mask, to, signal, temp, key), mask, "image/png"),
    checkEdit: async (query, call) => {
      const { signal, temp, route } = call;
      const reads = route.targets.flatMap(
        (target) => reach.imageCapabilities(target, "edits").edits?.reads ?? [],
      );
      const maxBytes = settings.VEXEL_MAX_FILE_BYTES;
      const rules = { imageWorker: looks, temp, reads, maxBytes, key: keyOf(call) };
      const checked = await checkEdit(query, rules, signal);
      return checked.query;
    },
  };
}

/** Somebody may wait for an answer that is good without it. */
const soonMs = 10_000;

function fetchSoon(settings: Settings): LinkTools["download"] {
  const download = createDownload({
    maxBytes: settings.VEXEL_DOWNLOAD_MAX_BYTES,
    timeoutMs: Math.min(soonMs, settings.VEXEL_DOWNLOAD_TIMEOUT * 1000),
    trusted: hostsIn(settings.VEXEL_DOWNLOAD_PRIVATE),
  });
  return (url, target, signal, temp) =>
    download(url, { signal, temp, origin: "upstream", trusted: ownHosts(target), svg: true });
}

const hostsIn = (list: string): string[] =>
  list
    .split(",")
    .map((host) => host.trim())
    .filter((host) => host !== "");

/** By what the link itself says: whoever follows it would look its name up for themselves. */
function isPrivate(link: string): boolean {
  const url = URL.parse(link);
  return url !== null && (hasCredentials(url) || isPrivateHost(url.hostname));
}

/** An upstream in one's own network gives links to itself. */
const ownHosts = ({ upstream }: Target): string[] =>
  upstream.baseUrl === undefined ? [] : [trustedHost(upstream.baseUrl)];
