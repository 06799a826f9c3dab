/**
 * The idempotency store of image requests: an image is not billed twice for a retry. A request with the idempotency key
 * (`Idempotency-Key`) of an earlier request gets the stored response, or an error if its request fingerprint differs. A
 * concurrent duplicate waits for the request in flight. The response of a client that disconnected (undelivered
 * response) goes to the next identical request, until it was delivered completely, and to every GET with its request
 * ID.
 */

import { GatewayError } from "../lib/gateway-error.ts";
import { abortable } from "../lib/tasks.ts";
import { sleep } from "../lib/timers.ts";
import { clientClosedError } from "../request/deadline.ts";
import type {
  ResponseStore,
  ResponseWriter,
  StoredResponse,
} from "../storage/ports/response-store.ts";
import type { ClaimAnswer, ClaimOutcome, RequestClaims } from "../storage/redis/request-claims.ts";
import {
  abandonedError,
  type ClaimOptions,
  type FailedRequest,
  InFlightRequest,
  type InFlightRequests,
  idName,
  idNames,
  parseFailure,
  storeName,
  unknownOutcomeError,
} from "./in-flight-request.ts";

export type Claim =
  | {
      readonly kind: "replay";
      readonly response: StoredResponse;
      readonly endDelivery: EndDelivery;
    }
  | ({ readonly kind: "failed" } & FailedRequest)
  | { readonly kind: "proceed"; readonly request: InFlightRequest };

/** Called once, when the delivery ends. `isComplete`: the client received the whole response. */
type EndDelivery = (isComplete: boolean) => void;

/** A request with an idempotency key. */
interface KeyedRequest {
  /** The store name of the key. */
  readonly name: string;
  readonly fingerprint: string;
  readonly options: ClaimOptions;
}

/** The interval at which a request checks whether an identical request on another replica has ended. */
const pollMs = 100;

export class IdempotencyStore implements InFlightRequests {
  readonly #responses: ResponseStore;
  readonly reportStorageError: (error: unknown) => void;
  /** Requests in flight that duplicates may wait for, by store name. */
  readonly #inFlight = new Map<string, InFlightRequest>();
  readonly #undelivered = new UndeliveredResponses();
  readonly #claims: Pick<RequestClaims, "claim"> | undefined;

  /** `claims`: the claims that all replicas share. If absent, this is the only replica. */
  constructor(
    responses: ResponseStore,
    reportStorageError: (error: unknown) => void,
    claims?: Pick<RequestClaims, "claim"> | undefined,
  ) {
    this.#responses = responses;
    this.reportStorageError = reportStorageError;
    this.#claims = claims;
  }

  /** Returns the stored response if there is one, otherwise the right to send the request upstream. */
  async claim(options: ClaimOptions): Promise<Claim> {
    const { owner, idempotencyKey } = options;
    if (idempotencyKey === undefined && !this.#undelivered.has(owner)) {
      return { kind: "proceed", request: new InFlightRequest(this, options, undefined) };
    }
    const fingerprint = await options.fingerprint();
    if (idempotencyKey === undefined) return this.#claimUndelivered(options, fingerprint);
    return this.#claimKey({ name: storeName("key", owner, idempotencyKey), fingerprint, options });
  }

  async #claimKey(keyed: KeyedRequest): Promise<Claim> {
    const { name, fingerprint, options } = keyed;
    for (;;) {
      const inFlight = this.#inFlight.get(name);
      if (inFlight) {
        checkFingerprint(inFlight, fingerprint);
        const failed = await waitFor(inFlight, options);
        if (failed) return { kind: "failed", ...failed };
        continue;
      }
      const response = await this.#responses.find(name);
      if (response) return this.#replay(response, keyed);
      // A duplicate may have started during the lookup.
      if (!this.#inFlight.has(name)) break;
    }
    // An image whose response could not be stored is refused before it is billed: its retry would be billed again.
    this.#responses.ensureSpace(options.owner);
    const request = new InFlightRequest(this, options, fingerprint);
    request.register([name, ...idNames(options)]);
    let claim: Claim | undefined;
    try {
      claim = await this.#claimShared(request, keyed);
      return claim;
    } finally {
      // Duplicates on this replica continue: each finds the same result as this request.
      if (claim?.kind !== "proceed") request.settle();
    }
  }

  /** Claims the request among all replicas, and waits while another replica processes an identical one. */
  async #claimShared(request: InFlightRequest, keyed: KeyedRequest): Promise<Claim> {
    const { name, fingerprint, options } = keyed;
    const { requestId, signal } = options;
    if (!this.#claims) return { kind: "proceed", request };
    let waitsFor: string | undefined;
    for (;;) {
      const answer = await this.#claims.claim({ name, fingerprint, requestId, waitsFor });
      if (answer.kind === "claimed") return this.#proceedUnlessStored(request, keyed, answer);
      checkFingerprint(answer, fingerprint);
      if (answer.kind !== "held") return this.#resultOf(answer, keyed);
      waitsFor = answer.claim;
      await sleep(pollMs, signal).catch(() => Promise.reject(clientClosedError()));
    }
  }

  /** Another replica may have stored the response after it was looked up. */
  async #proceedUnlessStored(
    request: InFlightRequest,
    keyed: KeyedRequest,
    claimed: Extract<ClaimAnswer, { kind: "claimed" }>,
  ): Promise<Claim> {
    const settle = (outcome: ClaimOutcome): void =>
      void claimed.settle(outcome).catch(this.reportStorageError);
    let response: StoredResponse | undefined;
    try {
      response = await this.#responses.find(keyed.name);
    } catch (error) {
      // A claim that is not settled is renewed until this process ends, and blocks its key on every replica.
      settle({ kind: "released" });
      throw error;
    }
    if (response) {
      settle({ kind: "stored" });
      return this.#replay(response, keyed);
    }
    request.setClaim(settle);
    return { kind: "proceed", request };
  }

  /** The result of an identical request that has ended on another replica. */
  async #resultOf(
    ended: Extract<ClaimAnswer, { kind: "failed" | "abandoned" | "stored" }>,
    keyed: KeyedRequest,
  ): Promise<Claim> {
    if (ended.kind === "abandoned") throw abandonedError();
    if (ended.kind === "failed") {
      return { kind: "failed", requestId: ended.requestId, error: parseFailure(ended.error) };
    }
    const response = await this.#responses.find(keyed.name);
    if (!response) throw storedElsewhereError();
    return this.#replay(response, keyed);
  }

  #replay(response: StoredResponse, { fingerprint, options }: KeyedRequest): Claim {
    checkFingerprint(response, fingerprint);
    if (response.isAbandoned) throw abandonedError();
    return { kind: "replay", response, endDelivery: this.startDelivery(options.owner, response) };
  }

  /** An undelivered response goes to one client at a time: a concurrent identical request generates its own images. */
  async #claimUndelivered(options: ClaimOptions, fingerprint: string): Promise<Claim> {
    const fingerprintName = storeName("fingerprint", options.owner, fingerprint);
    for (;;) {
      const name = this.#undelivered.first(fingerprintName);
      if (name === undefined) {
        return { kind: "proceed", request: new InFlightRequest(this, options, fingerprint) };
      }
      const inFlight = this.#inFlight.get(name);
      if (inFlight) {
        const failed = await waitFor(inFlight, options);
        if (failed) return { kind: "failed", ...failed };
        continue;
      }
      // Before the lookup: a concurrent identical request must not claim the same response.
      const endDelivery = this.#undelivered.startDelivery(name);
      let response: StoredResponse | undefined;
      try {
        response = await this.#responses.find(name);
      } catch (error) {
        endDelivery(false);
        throw error;
      }
      if (response) return { kind: "replay", response, endDelivery };
      this.#undelivered.remove(name);
    }
  }

  /** A response by its request ID, the gateway's or the client's. "in_progress" while the request is in flight. */
  async findById(owner: string, id: string): Promise<StoredResponse | "in_progress" | undefined> {
    const name = idName(owner, id);
    if (this.#inFlight.has(name)) return "in_progress";
    const response = await this.#responses.find(name);
    if (response?.isAbandoned) throw abandonedError();
    return response;
  }

  /**
   * Starts the delivery of a stored response. An undelivered response is not replayed to an identical request until the
   * delivery ends, and after a complete delivery never again. After an incomplete delivery, the client can retry.
   */
  startDelivery(owner: string, { requestId }: StoredResponse): EndDelivery {
    return this.#undelivered.startDelivery(idName(owner, requestId));
  }

  register(name: string, request: InFlightRequest): void {
    this.#inFlight.set(name, request);
  }

  /** A later request may have registered the same name meanwhile; its entry stays. */
  unregister(name: string, request: InFlightRequest): void {
    if (this.#inFlight.get(name) === request) this.#inFlight.delete(name);
  }

  addUndelivered({ owner, requestId }: ClaimOptions, fingerprint: string): void {
    const fingerprintName = storeName("fingerprint", owner, fingerprint);
    this.#undelivered.add(idName(owner, requestId), { owner, fingerprintName });
  }

  /** The request ended without a response. */
  removeUndelivered({ owner, requestId }: ClaimOptions): void {
    this.#undelivered.remove(idName(owner, requestId));
  }

  startRecording(owner: string): ResponseWriter {
    return this.#responses.begin(owner);
  }
}

/** Above it, the oldest are evicted: most have expired by then, or are fetched by their request ID. */
export const maxUndelivered = 4096;

interface UndeliveredResponse {
  readonly owner: string;
  /** A hash of the owner and the fingerprint of the request. */
  readonly fingerprintName: string;
  /** How many deliveries of the response have not ended. */
  deliveries: number;
}

/**
 * Undelivered responses: stored responses whose client disconnected before it received them. OpenAI's SDKs retry after
 * a timeout or a proxy that cuts the connection, without an idempotency key: the retry of the same request claims one
 * of them, so that its images are not billed again. A response can be claimed until it was delivered completely, by
 * one retry at a time. The index is in memory only; after a restart a response is still found by its request ID.
 */
export class UndeliveredResponses {
  /**
   * By the store name of the request, oldest first. Searched from the start: there are few, and image requests are
   * slow.
   */
  readonly #undelivered = new Map<string, UndeliveredResponse>();

  /** Whether an owner has undelivered responses. If not, its requests need no fingerprint. */
  has(owner: string): boolean {
    return this.#undelivered.values().some(({ owner: each }) => each === owner);
  }

  add(name: string, response: Omit<UndeliveredResponse, "deliveries">): void {
    if (this.#undelivered.has(name)) return;
    this.#undelivered.set(name, { ...response, deliveries: 0 });
    const [oldest] = this.#undelivered.keys();
    if (oldest !== undefined && this.#undelivered.size > maxUndelivered)
      this.#undelivered.delete(oldest);
  }

  /** The oldest request with this fingerprint whose response is not being delivered. */
  first(fingerprintName: string): string | undefined {
    for (const [name, response] of this.#undelivered) {
      if (response.fingerprintName === fingerprintName && response.deliveries === 0) return name;
    }
    return undefined;
  }

  /** The returned function ends the delivery. */
  startDelivery(name: string): EndDelivery {
    const response = this.#undelivered.get(name);
    if (response) response.deliveries++;
    return (isComplete) => {
      if (isComplete) this.remove(name);
      else if (response) response.deliveries--;
    };
  }

  /** The response was delivered to a client, or does not exist. */
  remove(name: string): void {
    this.#undelivered.delete(name);
  }
}

/** `settled` never rejects: an error says that the client disconnected. */
const waitFor = (
  { settled }: InFlightRequest,
  { signal }: ClaimOptions,
): Promise<FailedRequest | undefined> =>
  abortable(settled, signal).catch(() => Promise.reject(clientClosedError()));

const storedElsewhereError = (): GatewayError =>
  unknownOutcomeError(
    "The images of this Idempotency-Key were generated and billed, but this gateway cannot read the stored response: another gateway has it. Use a new Idempotency-Key to generate them again. The operator sets BLOB_URL, so that all gateways share stored responses.",
  );

/** `earlier`: the request that used the idempotency key before, or its response. */
function checkFingerprint(
  earlier: { readonly fingerprint: string | undefined },
  fingerprint: string,
): void {
  if (earlier.fingerprint === fingerprint) return;
  throw new GatewayError(
    "idempotency_mismatch",
    "This Idempotency-Key was used before with a different request. Use a new key for each new request.",
  );
}
