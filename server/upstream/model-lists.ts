/**
 * Lists of models, for vendors that generate with another model if they do not know the requested one: a mistyped model
 * is refused before anything is generated, and billed.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import { abortable } from "../lib/tasks.ts";
import { timeoutSignal } from "../lib/timers.ts";
import type { ImageAdapter, ImageRequestContext } from "./adapter.ts";
import { toMappedError } from "./adapters/wire/native-errors.ts";
import type { Upstream } from "./contract.ts";
import { invalidResponse } from "./invalid-response.ts";
import type { SendAuthenticated } from "./poll-operation.ts";

/** A model that a list has may be removed by the vendor: the list is read again after this time. */
const lifetimeMs = 3_600_000;
/** A model that a list lacks may be new, and a list that could not be read may be readable again. */
const retryMs = 60_000;
/** One read serves many requests, so it has its own timeout. */
const readTimeoutMs = 20_000;

interface ModelList {
  /** Undefined if the list was never read. */
  ids: ReadonlySet<unknown> | undefined;
  /** When the list is read again for a model that it has, and for one that it lacks. Unix milliseconds. */
  expiresAt: number;
  retryAt: number;
  /** The read in progress (single-flight). */
  pending: Promise<ReadonlySet<unknown>> | undefined;
}

/** `now`: Unix milliseconds. Returns a function that throws GatewayError if the vendor does not list the model. */
export function createModelLists(now: () => number) {
  // Weak: when a reload removes an upstream, its list is collected.
  const lists = new WeakMap<Upstream, ModelList>();

  const listOf = (upstream: Upstream): ModelList => {
    const list = lists.get(upstream) ?? {
      ids: undefined,
      expiresAt: 0,
      retryAt: 0,
      pending: undefined,
    };
    lists.set(upstream, list);
    return list;
  };

  /** If the list cannot be read, the earlier one is used for another minute. Rejects if there is none. */
  const read = async (list: ModelList, fetched: Promise<ReadonlySet<unknown>>) => {
    const startedAt = now();
    try {
      list.ids = await fetched;
      list.expiresAt = startedAt + lifetimeMs;
    } catch (error) {
      if (!list.ids) throw error;
      list.expiresAt = startedAt + retryMs;
    } finally {
      list.pending = undefined;
    }
    list.retryAt = startedAt + retryMs;
    return list.ids;
  };

  return async (
    models: NonNullable<ImageAdapter["models"]>,
    context: ImageRequestContext,
    send: SendAuthenticated,
    signal: AbortSignal,
  ): Promise<void> => {
    const { upstream, model } = context.target;
    const list = listOf(upstream);
    let { ids } = list;
    if (!ids || now() >= (ids.has(model) ? list.expiresAt : list.retryAt)) {
      list.pending ??= read(list, fetchIds(models, upstream, send));
      ids = await abortable(list.pending, signal).catch((error) => {
        throw error === signal.reason ? unreadable(error) : error;
      });
    }
    if (!ids.has(model)) {
      const { kind, message, details } = toMappedError("no such model", undefined, context);
      throw new GatewayError(kind, message, { ...details, notSent: true });
    }
  };
}

async function fetchIds(
  { request, read }: NonNullable<ImageAdapter["models"]>,
  upstream: Upstream,
  send: SendAuthenticated,
): Promise<ReadonlySet<unknown>> {
  using timeout = timeoutSignal(readTimeoutMs, timeoutError);
  try {
    const response = await send(request(upstream), timeout.signal);
    const ids = read(await response.json());
    if (!ids) throw invalidResponse("it has no list of models");
    return new Set(ids);
  } catch (error) {
    throw unreadable(error);
  }
}

const timeoutError = (): GatewayError =>
  new GatewayError("upstream_timeout", "The upstream did not respond in time.");

/** Nothing was sent to the model, and whether it would generate is not known. */
const unreadable = (error: unknown): unknown =>
  error instanceof GatewayError
    ? new GatewayError(
        error.kind,
        `The upstream's list of models cannot be read, so nothing was generated: ${error.message}`,
        { ...error.details, notSent: true, saysNothingAboutTarget: true },
      )
    : error;
