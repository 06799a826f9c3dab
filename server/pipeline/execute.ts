/**
 * Executes a query without HTTP: admission (rate limits, concurrency slots), budget reservation, request timeout, and the
 * stages, which route, send and verify it. The caller of `execute` owns the lifetime and settles it.
 */

import { GatewayError } from "../lib/gateway-error.ts";
import type { AdmissionTicket } from "../limits/admission.ts";
import type { LimitedQuery } from "../limits/request-cost.ts";
import type { Caller, Route } from "../request/caller.ts";
import type { Send } from "../request/stage.ts";
import type { RequestLifetime } from "./request-lifetime.ts";

export interface Execution<Q, A> {
  readonly caller: Caller;
  readonly route: Route;
  readonly query: Q;
  /** The stages of the operation. */
  readonly send: Send<Q, A>;
  /** Its signal is aborted when the client disconnects. It is read only if the request waits or takes long. */
  readonly client: { readonly signal: AbortSignal };
}

export async function execute<Q extends LimitedQuery, A>(
  lifetime: RequestLifetime,
  execution: Execution<Q, A>,
): Promise<A> {
  const { services, record, operation, kind } = lifetime;
  const { caller, route, query, send, client } = execution;
  const isLimited = Boolean(route.scopes || caller.scopes || kind === "image");

  // Limits before budgets: a queued request reserves no budget that others could spend.
  if (isLimited) lifetime.ticket = await admit(lifetime, execution);
  let waitedMs = lifetime.ticket?.waitedMs ?? 0;

  const budgetWait =
    caller.budgets && services.charging.begin(operation, query, route, record, client);
  if (budgetWait) {
    // While it waits for reservations of others to be released, it holds no slots. Then it is admitted again.
    lifetime.ticket?.release({ usage: undefined, wasSent: false, error: waitsForBudget() });
    lifetime.ticket = undefined;
    waitedMs += await budgetWait;
    if (isLimited) lifetime.ticket = await admit(lifetime, execution);
    waitedMs += lifetime.ticket?.waitedMs ?? 0;
  }

  const timeoutMs = (route.timeoutMs ?? services.timeoutMs[kind]) - Math.round(waitedMs);
  if (timeoutMs <= 0) throw timedOutInQueue();
  const signal = lifetime.startDeadline(timeoutMs, client);
  return send({ operation, query, route, signal, temp: lifetime.temp, record });
}

async function admit<Q extends LimitedQuery, A>(
  { services }: RequestLifetime,
  { caller, route, query, client }: Execution<Q, A>,
): Promise<AdmissionTicket | undefined> {
  return services.admission.admit({ caller, route, query, signal: () => client.signal });
}

/** Gives back what the ticket took: that the request waits is not its fault. */
const waitsForBudget = (): GatewayError =>
  new GatewayError("over_budget", "The request waits for its budget.", {
    overrides: { retry: "later" },
    notSent: true,
  });

const timedOutInQueue = (): GatewayError =>
  new GatewayError(
    "upstream_timeout",
    "Timed out while queued: no upstream was called. Please retry your request after a brief delay.",
    { notSent: true },
  );
