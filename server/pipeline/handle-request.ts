/**
 * The request pipeline: the life of an HTTP request, from its head to its response. Read this first; every step is one
 * file. `execute.ts` is the part without HTTP, and `request-lifetime.ts` owns its resources.
 */
import type { AttributedQuery } from "../attribution/attribution.ts";
import { authenticate, defaultModel, resolveModel } from "../auth/authenticate.ts";
import type { Snapshot } from "../config/snapshot.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { quotedList } from "../lib/quoted-list.ts";
import { createSerialize, runInSteps, type Serialize } from "../lib/tasks.ts";
import { LoadShedder } from "../limits/load-shedder.ts";
import type { LimitedQuery } from "../limits/request-demand.ts";
import type { Caller, PermittedModel } from "../request/caller.ts";
import { clientClosedError } from "../request/deadline.ts";
import { toErrorResponse, toGatewayError } from "../request/error-response.ts";
import type {
  CachePolicy,
  IncomingRequest,
  OutgoingResponse,
  Priority,
  RequestHeaders,
} from "../request/http-types.ts";
import { RequestRecord } from "../request/request-record.ts";
import type { Send } from "../request/stage.ts";
import type { GenerationQuery } from "../upstream/contract.ts";
import type { PipelineServices } from "./dependencies.ts";
import type { Endpoint, NameModel, ReadsImages } from "./endpoint.ts";
import { execute, executeWithin, type InternalRequest } from "./execute.ts";
import { RequestLifetime } from "./request-lifetime.ts";
import { writeReplay, writeResponse } from "./write-response.ts";

interface HttpRequest<Q extends LimitedQuery, A> {
  readonly services: PipelineServices;
  readonly loadShedder: LoadShedder;
  /** Responses that take long to write are written one after the other. */
  readonly writeInTurn: Serialize;
  readonly endpoint: Endpoint<Q, A>;
  /** The stages of the endpoint's operation. */
  readonly send: Send<Q, A>;
  readonly incoming: IncomingRequest;
  /** The model in the request path, which takes precedence over the one in the body. */
  readonly pathModel: string | undefined;
  /** If absent, the request is authenticated by its API key. */
  readonly caller?: Caller | undefined;
}

async function handleRequest<Q extends LimitedQuery, A>(
  http: HttpRequest<Q, A>,
): Promise<OutgoingResponse> {
  const { services, endpoint, incoming } = http;
  const at = incoming.line?.vendor?.at ?? services.now();
  const record = new RequestRecord(incoming.requestId, endpoint.operation, at);
  const lifetime = new RequestLifetime(services, http.loadShedder, record, incoming);
  record.replica = services.replica;
  record.startedAt = services.clock();
  record.clientAddress = incoming.clientAddress;
  record.route = incoming.route;
  try {
    record.trace = services.startTrace?.(incoming.requestId, incoming.headers);
    const snapshot = services.snapshot(); // pinned: a reload never changes a request half-way
    services.ledger.admit(); // before anything that would need a row
    let caller = http.caller ?? authenticate(incoming.headers, snapshot, services.now());
    record.caller = caller; // from now on, the request gets a ledger row
    record.line = incoming.line;
    record.priority = incoming.line?.priority ?? priorityOf(incoming.headers, caller);
    lifetime.admitLoad(caller, record.priority);
    if (endpoint.kind === "embedding") {
      record.cachePolicy = cachePolicyOf(incoming.headers);
    }
    const nameModel = modelNamer(http, record, caller, snapshot);
    const readsImages = imageReaders(snapshot);
    const parsed = await endpoint.read(incoming, caller.id, nameModel, readsImages);
    lifetime.ownFiles(parsed);
    record.receivedAt = services.clock();
    const query = attribute(http, record, parsed.query);
    if (record.endUser !== null || record.tags !== null) {
      caller = await services.attribution.limit(caller, record, snapshot);
      record.caller = caller;
    }
    const model = resolveModel(query.model, endpoint.kind, caller, snapshot);
    record.permittedModel = model;
    if (model.storeContentMs !== undefined) await lifetime.recordContent(model, query);
    return lifetime.finish(await respond(http, lifetime, caller, model, query));
  } catch (thrown) {
    return lifetime.finish(await writeFailure(http, lifetime, thrown));
  } finally {
    if (lifetime.isOpen) await lifetime.close();
  }
}

/** Records the tags and the end user. Returns the query for the upstream. */
function attribute<Q extends LimitedQuery, A>(
  { services, endpoint, incoming }: HttpRequest<Q, A>,
  record: RequestRecord,
  query: Q & AttributedQuery,
): Q {
  const tags = incoming.headers.get("vexel-tags");
  if (tags === null && !isAttributed(query)) return query;
  const isJob = endpoint.kind === "image" && asksForJob(incoming, query);
  const extraFields = services.attribution.attribute(record, tags, query, isJob);
  return extraFields ? { ...query, extraFields } : query;
}

/** Most requests name no end user. */
function isAttributed({ user, options, extraFields }: AttributedQuery): boolean {
  return (
    user !== undefined ||
    options?.user !== undefined ||
    options?.safety_identifier !== undefined ||
    extraFields?.metadata !== undefined ||
    extraFields?.safety_identifier !== undefined
  );
}

/** From the resolved model to the response. */
async function respond<Q extends LimitedQuery, A>(
  { services, writeInTurn, endpoint, send, incoming }: HttpRequest<Q, A>,
  lifetime: RequestLifetime,
  caller: Caller,
  model: PermittedModel,
  query: Q,
): Promise<OutgoingResponse> {
  if (endpoint.kind === "image") {
    const { submitJob } = services;
    if (submitJob && asksForJob(incoming, query)) {
      const image = query as Q & GenerationQuery;
      return submitted(
        lifetime,
        await submitJob({ endpoint, incoming, caller, model, query: image }),
      );
    }
    const idempotent = lifetime.openIdempotent(caller, model, query, incoming);
    const replayed = await idempotent.claim();
    if (replayed) return writeReplay(lifetime, replayed);
  } else if ("input" in query && query.input.kind === "mixed") lifetime.openTemp(caller);
  const execution = { endpoint, caller, model, query, send, client: incoming };
  const response = await executeWithin(lifetime, execution);
  const written = await endpoint.write(response, query, () => {
    const replay = lifetime.replayContext();
    return {
      runInSteps: (steps) => writeInTurn(() => runInSteps(whileConnected(steps, incoming.signal))),
      publicUrl: () => incoming.publicUrl,
      now: Math.floor(services.now() / 1000),
      links: replay ? services.links.lasting(replay) : services.links.plain,
      target: () => lifetime.record.routing.target,
    };
  });
  return writeResponse(lifetime, written, services.streamTimes);
}

/** Whether the response is fetched later: by the header `prefer` (RFC 7240), or by the field `async`. */
function asksForJob({ headers, line }: IncomingRequest, query: LimitedQuery): boolean {
  if (line) return false;
  if ("isAsync" in query && query.isAsync) return true;
  const prefer = headers.get("prefer");
  return prefer !== null && /(?:^|[,;\s])respond-async\b/i.test(prefer);
}

/** The job costs nothing yet, and owns copies of the files. */
async function submitted(
  lifetime: RequestLifetime,
  response: OutgoingResponse,
): Promise<OutgoingResponse> {
  await lifetime.clearFiles();
  await lifetime.settle(response.status);
  return response;
}

/**
 * The error response of a request. Everything the request holds is released here, whether its ledger row was written,
 * could not be written, or is written now.
 */
async function writeFailure<Q extends LimitedQuery, A>(
  { endpoint, incoming }: HttpRequest<Q, A>,
  lifetime: RequestLifetime,
  thrown: unknown,
): Promise<OutgoingResponse> {
  const { record, isSettled } = lifetime;
  // If the request is settled, its row could not be written, and the client gets that error. The ledger keeps the row
  // in memory, unless too many rows wait there already, and retries to write it.
  const plain = toGatewayError(thrown, isSettled ? undefined : lifetime.signal);
  const error = endpoint.withClientFieldNames?.(plain, incoming) ?? plain;
  const response = toErrorResponse(record.clientError(error));
  // Before the ledger row is written: afterwards a gateway that ends closes its storage.
  await lifetime.releaseFailed(error);
  if (!isSettled) {
    // A client that has disconnected receives nothing.
    record.outcome.bytesOut = error.kind === "client_closed" ? 0 : Buffer.byteLength(response.body);
    try {
      await lifetime.settle(response.status, error);
    } catch {
      // The ledger keeps the row; the client gets the original error.
    }
  }
  return response;
}

/**
 * The model of a request: from its path, from its body, or the default model of its endpoint. The record has it also if
 * the rest of the body is invalid.
 */
function modelNamer<Q extends LimitedQuery, A>(
  { endpoint, pathModel }: HttpRequest<Q, A>,
  record: RequestRecord,
  caller: Caller,
  snapshot: Snapshot,
): NameModel {
  return (given) => {
    const isAbsent = given === undefined || given === "";
    const name = pathModel ?? (isAbsent ? defaultModel(endpoint.kind, caller, snapshot) : given);
    // Not the name as it was sent: an unknown model name may be anything, such as an API key or a prompt.
    if (typeof name === "string") record.model = snapshot.models.get(name)?.id;
    return name;
  };
}

/** Undefined if no model reads images. */
const imageReaders = ({ models, embedsImages }: Snapshot): ReadsImages | undefined =>
  embedsImages
    ? (name) => typeof name === "string" && models.get(name)?.readsImages === true
    : undefined;

const priorityHeader = "vexel-priority";
const priorities: readonly Priority[] = ["interactive", "batch"];

/** The priority of an HTTP request: of its API key, else of its header, else interactive. Throws GatewayError. */
function priorityOf(headers: RequestHeaders, caller: Caller): Priority {
  const given = headers.get(priorityHeader)?.toLowerCase();
  const requested = priorities.find((priority) => priority === given);
  if (given !== undefined && requested === undefined) {
    throw new GatewayError(
      "invalid_value",
      `Invalid value of the header '${priorityHeader}': '${given.slice(0, 40)}'. Supported values are: ${quotedList(priorities)}.`,
      { param: priorityHeader },
    );
  }
  return caller.priority ?? requested ?? "interactive";
}

/**
 * The cache policy of an HTTP request, by the directives of its `cache-control` header. Unknown directives are ignored.
 */
function cachePolicyOf(headers: RequestHeaders): CachePolicy {
  const header = headers.get("cache-control");
  if (header === null) return "use";
  const directives = header.split(",").map((directive) => directive.trim().toLowerCase());
  if (directives.includes("no-store")) return "no-store";
  return directives.includes("no-cache") ? "refresh" : "use";
}

/** Runs the steps, and throws as soon as the client has disconnected. */
function* whileConnected<T>(steps: Iterator<void, T>, signal: AbortSignal): Generator<void, T> {
  for (;;) {
    if (signal.aborted) throw clientClosedError();
    const { done, value } = steps.next();
    if (done) return value;
    yield;
  }
}

/** Handles an HTTP request for a model. */
export type Serve = <Q extends LimitedQuery, A>(
  endpoint: Endpoint<Q, A>,
  send: Send<Q, A>,
  incoming: IncomingRequest,
  /** The model, if the request path names it. */
  pathModel?: string,
  /** A caller that was authenticated without an API key. */
  caller?: Caller,
) => Promise<OutgoingResponse>;

/** Executes a request for a model without HTTP. */
export type Execute = <Q extends LimitedQuery, A, T>(
  request: InternalRequest<Q, A, T>,
) => Promise<T>;

interface Pipeline {
  readonly serve: Serve;
  readonly execute: Execute;
  inFlight(): number;
}

/**
 * Creates the functions that handle every request for a model, with or without HTTP, and counts the requests in flight.
 */
export function createPipeline(services: PipelineServices): Pipeline {
  const loadShedder = new LoadShedder(services.maxConcurrent);
  const writeInTurn = createSerialize();
  return {
    serve: (endpoint, send, incoming, pathModel, caller) =>
      handleRequest({
        services,
        loadShedder,
        writeInTurn,
        endpoint,
        send,
        incoming,
        pathModel,
        caller,
      }),
    execute: (request) => execute(services, loadShedder, request),
    inFlight: () => loadShedder.count,
  };
}
