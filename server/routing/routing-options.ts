/** What the routing stage needs to know about the requests of one endpoint. */
import type { ConcurrencySlots } from "../limits/concurrency-slots.ts";
import type { StageRequest } from "../request/stage.ts";
import type { Target } from "../upstream/contract.ts";
import type { TargetCapacity } from "./select-target.ts";
import type { TargetRegistry } from "./target-registry.ts";

/** The queue for targets at their hard concurrency limit. */
export interface TargetQueue<Q> {
  /** Takes a slot, after a wait if necessary. Throws GatewayError if none becomes free in time. */
  wait(request: StageRequest<Q>, slots: ConcurrencySlots): Promise<void>;
  /** A slot was released: admits waiting requests. */
  admitWaiting(): void;
}

export interface RouteRequestOptions<Q, A> {
  readonly registry: TargetRegistry;
  /** Whether the target supports the request. Absent: every target does. */
  readonly canServe?: (request: StageRequest<Q>, target: Target) => boolean;
  /** The size class of a request. Absent: requests are neither hedged nor canceled for being slow. */
  readonly sizeClassOf?: (query: Q) => number;
  /** The price of a request at a target, if known. */
  readonly priceOf?: (request: StageRequest<Q>, target: Target) => number | undefined;
  /** The gateway's own limits of targets. Absent: there are none. */
  readonly capacity?: TargetCapacity;
  /** Absent: requests do not queue, and go to targets beyond their hard limit. */
  readonly queue?: TargetQueue<Q>;
  /** Wraps a streamed response so that `end` is called after its last event. */
  readonly watchEnd?: (response: A, end: (failure?: unknown) => void) => A;
  /**
   * A free health check, for requests that are billed one by one. If set, no request is sent to an ejected target as a
   * probe while another target serves, unless this check has passed. True: the target is up.
   */
  readonly checkHealth?: (target: Target) => Promise<boolean>;
}
