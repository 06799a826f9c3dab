/**
 * Executes a query without HTTP: response memory, admission (rate limits, concurrency slots), budget reservation,
 * request timeout, and the stages, which route, send and verify it. `executeWithin` runs these steps within the
 * lifetime of an HTTP request. `execute` runs a request of the gateway itself: it creates the lifetime and writes the
 * ledger row.
 */
import { resolveModel } from "../auth/authenticate.ts";
import type { ChargedRequest } from "../budgets/charge-request.ts";
import { itemsOf } from "../embeddings/split.ts";
import type { LoadShedder } from "../limits/load-shedder.ts";
import type { LimitedQuery } from "../limits/request-demand.ts";
import type { Caller, PermittedModel } from "../request/caller.ts";
import {
  clientClosedError,
  type RequestClient,
  SignalClient,
  timedOutInQueue,
} from "../request/deadline.ts";
import { toGatewayError } from "../request/error-response.ts";
import type { CachePolicy, Priority, RequestUsage } from "../request/http-types.ts";
import type { Operation } from "../request/operation.ts";
import { RequestRecord } from "../request/request-record.ts";
import type { RequestTrace } from "../request/request-trace.ts";
import type { Send } from "../request/stage.ts";
import type { PipelineServices } from "./dependencies.ts";
import type { Endpoint } from "./endpoint.ts";
import { RequestLifetime } from "./request-lifetime.ts";

interface Execution<Q extends LimitedQuery, A> {
  readonly endpoint: Pick<Endpoint<Q, A>, "operation" | "kind" | "responseBytes">;
  readonly caller: Caller;
  readonly model: PermittedModel;
  readonly query: Q;
  /** The stages of the operation. */
  readonly send: Send<Q, A>;
  readonly client: RequestClient;
  /** The request timeout. The default is that of the model, or the setting. */
  readonly timeoutMs?: number;
  /** The request needs no admission: it is part of one that was admitted. */
  readonly isPartOfRequest?: boolean;
}

/** A request that did not come over HTTP. */
export interface InternalRequest<Q extends LimitedQuery, A, T> {
  readonly requestId: string;
  readonly caller: Caller;
  /** Of the request that it is part of. If absent, it has none. */
  readonly attribution?: Pick<RequestRecord, "endUser" | "tags">;
  readonly query: Q;
  readonly priority: Priority;
  /** Embeddings. The default is `use`. */
  readonly cachePolicy?: CachePolicy;
  readonly signal: AbortSignal;
  /** The request timeout. The default is that of the model, or the setting. */
  readonly timeoutMs?: number;
  /**
   * The request is part of an HTTP request that waits for it and was admitted with it. It does not count in the load
   * shedder or toward the limits of the key, the project and the model: with a limit of one, it would wait for itself.
   */
  readonly isPartOfRequest?: boolean;
  /** Its trace context, as part of another request. If absent, the request is not traced. */
  readonly trace?: RequestTrace;
  readonly endpoint: Pick<Endpoint<Q, A>, "operation" | "kind" | "responseBytes">;
  /** The stages of the operation. */
  readonly send: Send<Q, A>;
  /** The usage that the upstream reported, and the number of images, for the ledger. */
  readonly usageOf: (response: A) => RequestUsage | undefined;
  /** Reads the response before its files are cleared. */
  readonly use: (response: A) => Promise<T>;
}

/** Executes a whole request. Throws GatewayError. */
export async function execute<Q extends LimitedQuery, A, T>(
  services: PipelineServices,
  loadShedder: LoadShedder,
  request: InternalRequest<Q, A, T>,
): Promise<T> {
  const { requestId, caller, query, endpoint, send, timeoutMs, isPartOfRequest = false } = request;
  const shedder = isPartOfRequest ? undefined : loadShedder;
  const record = new RequestRecord(requestId, endpoint.operation, services.now());
  const lifetime = new RequestLifetime(services, shedder, record, { bytesReceived: 0 });
  record.replica = services.replica;
  record.startedAt = services.clock();
  record.receivedAt = record.startedAt;
  record.trace = request.trace;
  try {
    const snapshot = services.snapshot(); // pinned, as for an HTTP request
    services.ledger.admit();
    record.caller = caller;
    Object.assign(record, request.attribution);
    record.priority = request.priority;
    lifetime.admitLoad(caller, request.priority);
    record.cachePolicy = request.cachePolicy ?? "use";
    record.model = snapshot.models.get(query.model)?.id;
    const model = resolveModel(query.model, endpoint.kind, caller, snapshot);
    record.permittedModel = model;
    if (endpoint.kind === "image" && !isPartOfRequest)
      lifetime.temp = services.createTemp(caller.id);
    if (request.signal.aborted) throw clientClosedError();
    const client = new SignalClient(request.signal);
    const response = await executeWithin(lifetime, {
      endpoint,
      caller,
      model,
      query,
      send,
      client,
      isPartOfRequest,
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
    record.usage = request.usageOf(response);
    const result = await request.use(response);
    record.images.delivered = record.usage?.images;
    await lifetime.settle(200);
    return result;
  } catch (thrown) {
    // An error after the settlement is one of the ledger.
    if (lifetime.isSettled) throw toGatewayError(thrown, undefined);
    const error = toGatewayError(thrown, lifetime.signal);
    await lifetime.logIfRejects(() => lifetime.settle(error.definition.status, error));
    throw error;
  } finally {
    if (lifetime.isOpen) await lifetime.close();
  }
}

/** Steps of every request, with or without HTTP, from the resolved model to the response of the stages. */
export async function executeWithin<Q extends LimitedQuery, A>(
  lifetime: RequestLifetime,
  execution: Execution<Q, A>,
): Promise<A> {
  const { services, record } = lifetime;
  const { charging } = services;
  const { endpoint, caller, model, query, send, client, isPartOfRequest } = execution;
  const { operation, kind } = endpoint;
  // A line that the batch of a vendor has run takes from no rate limit.
  const isLimited = needsAdmission(execution) && !record.line?.vendor;
  // An image that cannot be stored is refused before it is billed.
  if (kind === "image") lifetime.temp.ensureSpace();

  let wholeMs = execution.timeoutMs ?? model.timeoutMs ?? services.timeoutMs[kind];
  const bytes = endpoint.responseBytes?.(query, model) ?? 0;
  if (bytes > 0) {
    const memory = { keyId: caller.id, bytes, signal: () => client.signal, timeoutMs: wholeMs };
    wholeMs -= Math.round(await lifetime.reserveMemory(memory));
  }

  // A queued request reserves no budget that others could spend.
  const charged = { operation, query, model, record };
  record.logAttempt = (attempts) => charging.logAttempt(charged, attempts);
  if (isLimited) await admit(lifetime, execution, charged);
  const reserving = record.reservation ? undefined : charging.reserve(charged);
  if (reserving) await reserving;

  const waitedMs = lifetime.ticket?.waitedMs ?? 0;
  record.queuedMs = waitedMs;
  const timeoutMs = wholeMs - Math.round(waitedMs);
  if (timeoutMs <= 0) throw timedOutInQueue();
  const deadline = lifetime.startDeadline(timeoutMs, client, kind === "image" && !isPartOfRequest);
  // The client may have disconnected while the request was queued.
  if (waitedMs > 0) deadline.signal.throwIfAborted();
  recordQuery(record, operation, query);
  return send({
    operation,
    query,
    model,
    signal: () => deadline.signal,
    deadline,
    temp: lifetime.temp,
    context: record,
    report: record,
  });
}

function recordQuery(record: RequestRecord, operation: Operation, query: LimitedQuery): void {
  if (!("input" in query)) record.images.requested = query.options.n ?? 1;
  else if (operation === "embeddings") record.embeddings.inputs = itemsOf(query.input);
}

const needsAdmission = <Q extends LimitedQuery, A>({
  endpoint: { kind },
  caller,
  model,
  isPartOfRequest,
}: Execution<Q, A>): boolean =>
  !isPartOfRequest && Boolean(model.scopes || caller.scopes || kind === "image");

/** Takes from the limits. `charged`: with shared limits, the budgets are reserved in the same call. */
async function admit<Q extends LimitedQuery, A>(
  lifetime: RequestLifetime,
  { caller, model, query, client }: Execution<Q, A>,
  charged: ChargedRequest,
): Promise<void> {
  const { admission, charging } = lifetime.services;
  const { priority } = lifetime.record;
  const signal = (): AbortSignal => client.signal;
  const budgets = charging.demand(charged);
  lifetime.ticket = await admission.admit({ caller, model, query, priority, signal, budgets });
}
