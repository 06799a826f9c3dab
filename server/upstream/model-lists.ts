/**
 * Lists of models, for vendors that generate with another model if they do not know the requested one: a mistyped model
 * is refused before anything is generated, and billed.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import type { ImageAdapter, ImageRequestContext } from "./adapter.ts";
import { toMappedError } from "./adapters/wire/native-errors.ts";
import type { GenerationQuery, Upstream } from "./contract.ts";
import { invalidResponse } from "./invalid-response.ts";
import type { SendAuthenticated } from "./poll-job.ts";

/** A model that a list has may be removed by the vendor: the list is read again after this time. */
const lifetimeMs = 3_600_000;
/** A model that a list lacks may be new: the list is read again after this time. */
const retryMs = 60_000;

interface ModelList {
  readonly ids: ReadonlySet<unknown>;
  readonly readAt: number;
}

/** `now`: Unix milliseconds. Returns a function that throws GatewayError if the vendor does not list the model. */
export function createModelLists(now: () => number) {
  // Weak: when a reload removes an upstream, its list is collected.
  const lists = new WeakMap<Upstream, ModelList>();
  return async <Q extends GenerationQuery>(
    { models }: ImageAdapter<Q>,
    context: ImageRequestContext,
    send: SendAuthenticated,
    signal: AbortSignal,
  ): Promise<void> => {
    if (!models) return;
    const { upstream, model } = context.target;
    let list = lists.get(upstream);
    const age = list ? now() - list.readAt : Infinity;
    if (!list || age >= (list.ids.has(model) ? lifetimeMs : retryMs)) {
      const readAt = now();
      list = { ids: await fetchIds(models, upstream, send, signal), readAt };
      lists.set(upstream, list);
    }
    if (!list.ids.has(model)) throw notSent(toMappedError("no such model", undefined, context));
  };
}

async function fetchIds(
  { request, read }: NonNullable<ImageAdapter["models"]>,
  upstream: Upstream,
  send: SendAuthenticated,
  signal: AbortSignal,
): Promise<ReadonlySet<unknown>> {
  try {
    const response = await send(request(upstream), signal);
    const ids = read(await response.json());
    if (!ids) throw invalidResponse("it has no list of models");
    return new Set(ids);
  } catch (error) {
    throw error instanceof GatewayError ? notSent(error) : error;
  }
}

const notSent = ({ kind, message, details }: GatewayError): GatewayError =>
  new GatewayError(kind, message, { ...details, notSent: true });
