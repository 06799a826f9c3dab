/** Constructs what reaches the upstreams: connections, the client, and the registry of all targets. */
import { realTimers } from "../lib/timers.ts";
import { estimateImagesAt } from "../limits/estimate-cost.ts";
import type { TargetChange } from "../routing/health/target-health.ts";
import { TargetRegistry } from "../routing/target-registry.ts";
import { adapters } from "../upstream/adapters/index.ts";
import { createUpstreamClient } from "../upstream/client.ts";
import { isReachable } from "../upstream/connection-test/check-health.ts";
import type { BuiltInModel, Target } from "../upstream/contract.ts";
import {
  type CredentialCache,
  createCredentialCache,
} from "../upstream/credentials/credential-cache.ts";
import {
  createTransport,
  type FetchOnly,
  type SendUpstreamRequest,
} from "../upstream/transport/index.ts";
import type { Runtime } from "./runtime.ts";

interface UpstreamsOptions {
  readonly builtInModels: ReadonlyMap<string, BuiltInModel>;
  readonly fetchOnly: FetchOnly;
  /** The most bytes of a response. */
  readonly maxResponseBytes: number | undefined;
  /** Called before each upstream request is sent. */
  readonly beforeSend: () => void;
  /** Called if earlier responses may belong to other requests. */
  readonly onSuspectResponses: () => void;
}

/** Ten large images as base64. */
const defaultMaxResponseBytes = 256 * 1024 * 1024;

export function wireUpstreams(runtime: Runtime, options: UpstreamsOptions) {
  const { snapshot, log, systemNow: now, clock, random, resources } = runtime;
  const { builtInModels, fetchOnly, beforeSend, onSuspectResponses } = options;
  const { maxResponseBytes = defaultMaxResponseBytes } = options;
  resources.defer(async () => {
    await Promise.all([...new Set(builtInModels.values())].map((model) => model.close?.()));
  });
  const { send, sendDirect, close } = createTransport({
    maxResponseBytes,
    clock,
    fetchOnly,
    onUnsolicited: ({ address, earlierResponsesSuspect }) => {
      log.error("unsolicited-response", { address, cacheCleared: earlierResponsesSuspect });
      if (earlierResponsesSuspect) onSuspectResponses();
    },
  });
  resources.defer(close);
  const registry = new TargetRegistry({
    snapshot,
    clock,
    random,
    timers: realTimers,
    onTargetChange: (change) => reportChange(runtime, change),
  });
  const credentials = createCredentialCache({
    send,
    sendToMetadata: sendDirect,
    now,
    env: process.env,
  });
  const clientOptions = { adapters, builtInModels, credentials, now };
  return {
    send,
    sendToMetadata: sendDirect,
    registry,
    client: createUpstreamClient({
      ...clientOptions,
      send: (request, signal) => {
        beforeSend();
        return send(request, signal);
      },
      onRateLimitExhausted: registry.reportExhausted.bind(registry),
      estimateImages: estimateImagesAt,
    }),
    /** A client that sends requests in another way, and reports nothing to the registry. */
    createClient: (sendBy: SendUpstreamRequest, credentialsBy: CredentialCache) =>
      createUpstreamClient({ ...clientOptions, send: sendBy, credentials: credentialsBy }),
    /** Free health check of a target. */
    isReachable: ({ upstream }: Target): Promise<boolean> =>
      isReachable(upstream, { send, credentials }),
  };
}

/** Ejections and recoveries of targets go to the log and the events. */
function reportChange({ log, emit }: Runtime, { transition, target, reason }: TargetChange): void {
  const { id: upstream } = target.upstream;
  const fields = { upstream, targetModel: target.model, reason };
  if (transition === "ejected") log.error("target-ejected", fields);
  else log.warn("target-recovered", fields);
  emit({ type: `target.${transition}`, data: { upstream, target_model: target.model, reason } });
}
