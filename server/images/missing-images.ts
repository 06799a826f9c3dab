/**
 * Missing images of a request: counts them, attributes them to errors, reports them in the routing steps, and charges the
 * request for those that may have been billed.
 */

import type { ErrorKind } from "../../contract/errors.ts";
import type { Step } from "../../contract/request-steps.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { toGatewayError } from "../request/error-response.ts";
import type { RequestReport } from "../request/request-report.ts";
import { targetName } from "../request/timeline.ts";
import { errorKindOf } from "../routing/retry-policy.ts";
import type {
  Deviations,
  ImageEvent,
  ImageResponse,
  MissingGroup,
  MissingImages,
  Target,
} from "../upstream/contract.ts";
import { mayHaveBeenBilled } from "../upstream/may-have-been-billed.ts";
import { countImagesIn } from "./fan-out.ts";

/** Those of a stream, as far as they are known. */
export const deviationsOf = (response: ImageResponse): Deviations =>
  (response.kind === "stream" ? response.deviations?.() : response.deviations) ?? {};

export const missingFor = (count: number, error: unknown): MissingImages =>
  toMissing([{ count, error }]);

/** Undefined where no image is missing. */
const missingFrom = (groups: readonly MissingGroup[]): MissingImages | undefined =>
  countMissing(groups) > 0 ? toMissing(groups) : undefined;

function toMissing(groups: readonly MissingGroup[]): MissingImages {
  const failed = groups.find(({ error }) => error !== undefined);
  const kind = missingKindOf(failed?.error);
  return { count: countMissing(groups), kind, ...(failed && { error: failed.error }) };
}

const countMissing = (groups: readonly MissingGroup[]): number =>
  groups.reduce((sum, { count }) => sum + count, 0);

/**
 * Assigns missing images to the failed upstream requests. The remaining images failed afterwards, with
 * `error`, or for an unknown reason.
 */
function attributeMissing(
  missingCount: number,
  failedRequests: readonly MissingGroup[],
  error: unknown,
): MissingGroup[] {
  const groups: MissingGroup[] = [];
  let remaining = Math.max(0, missingCount);
  for (const failed of failedRequests) {
    const count = Math.min(remaining, failed.count);
    if (count > 0) groups.push({ ...failed, count });
    remaining -= count;
  }
  if (remaining > 0) groups.push({ count: remaining, error });
  return groups;
}

/** One step for each error kind. */
function missingSteps(
  groups: readonly MissingGroup[],
  requested: number,
  target: string,
): readonly Step[] {
  const counts = new Map<string, { count: number; mayBeBilled: boolean }>();
  for (const { count, error, mayBeBilled = false } of groups) {
    const entry = counts.get(`${missingKindOf(error)} ${mayBeBilled}`);
    if (entry) entry.count += count;
    else counts.set(`${missingKindOf(error)} ${mayBeBilled}`, { count, mayBeBilled });
  }
  return [...counts].map(([key, { count, mayBeBilled }]) => {
    const [error = ""] = key.split(" ");
    if (requested === 1) return [mayBeBilled ? "failed_billed" : "failed", { target, error }];
    const values = { target, error, count, requested };
    return [mayBeBilled ? "images_billed" : "images_failed", values];
  });
}

/** Without an error, the upstream returned fewer images than requested. */
function missingKindOf(error: unknown): ErrorKind {
  if (error === undefined) return "upstream_invalid";
  return error instanceof GatewayError ? error.kind : "internal";
}

interface TargetAttempt {
  readonly report: RequestReport;
  readonly target: Target;
  readonly signal: AbortSignal;
  /** How many images are requested from the target. */
  readonly imageCount: number;
  /** Charges the request for images that may have been billed without a response. */
  readonly onPossiblyBilled: (images: number) => void;
}

/** Whether an upstream request that ended with this error may have been billed. */
const isBillingUncertain = (error: unknown, signal: AbortSignal): boolean =>
  mayHaveBeenBilled(1, toGatewayError(error, signal));

/** The missing images of one attempt. */
export class AttemptedImages {
  readonly #attempt: TargetAttempt;
  readonly #failures: MissingGroup[] = [];
  #charged = 0;
  /** Known when the attempt has ended. */
  missing: MissingImages | undefined;

  constructor(attempt: TargetAttempt) {
    this.#attempt = attempt;
  }

  /** One upstream request failed. */
  addFailure({ count, error }: MissingGroup): void {
    const mayBeBilled = isBillingUncertain(error, this.#attempt.signal);
    this.#failures.push({ count, error, mayBeBilled });
  }

  /** All upstream requests failed: the target failed with this error. */
  failAll(error: unknown): void {
    const { imageCount, signal, report, target } = this.#attempt;
    const name = targetName(target);
    const steps = missingSteps(this.#failures, imageCount, name);
    if (steps.length > 1) for (const step of steps) report.addStep(...step);
    report.addStep("failed", { target: name, error: errorKindOf(error) });
    // Without fan-out, the only upstream request failed.
    if (this.#failures.length === 0)
      this.#failures.push({
        count: imageCount,
        error,
        mayBeBilled: isBillingUncertain(error, signal),
      });
    this.#chargeBilled();
  }

  /** `delivered`: the number of delivered images. `error`: why other images that arrived were not delivered. */
  settle(delivered: number, error: unknown): void {
    const { imageCount, report, target } = this.#attempt;
    const groups = attributeMissing(imageCount - delivered, this.#failures, error);
    this.missing = missingFrom(groups);
    const name = targetName(target);
    for (const step of missingSteps(groups, imageCount, name)) report.addStep(...step);
    this.#chargeBilled();
  }

  #chargeBilled(): void {
    const billed = countMissing(this.#failures.filter(({ mayBeBilled }) => mayBeBilled));
    if (billed > this.#charged) this.#attempt.onPossiblyBilled(billed - this.#charged);
    this.#charged = billed;
  }

  /** Passes the events through. The missing images are known at their end. */
  async *watch(events: AsyncIterable<ImageEvent>): AsyncGenerator<ImageEvent> {
    let delivered = 0;
    try {
      for await (const event of events) {
        delivered += countImagesIn(event);
        yield event;
      }
    } catch (error) {
      // The error of one upstream request says nothing about the images of the others.
      this.settle(delivered, this.#failures.length > 0 ? undefined : error);
      throw error;
    } finally {
      this.#chargeBilled();
    }
    this.settle(delivered, undefined);
  }
}
