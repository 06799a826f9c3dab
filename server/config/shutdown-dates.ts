/** Applies the catalog's shutdown dates to a configuration: the date of a public model, and warnings about it. */
import { isShutDown, shutdownDateOf } from "../upstream/catalog/shutdowns/index.ts";
import type { Target } from "../upstream/contract.ts";
import type { Snapshot } from "./snapshot.ts";

/** Later shutdown dates are only in `GET /v1/models`. */
const warnDaysAhead = 180;
const dayMs = 86_400_000;

/** The day from which no target serves the model. Undefined if any target has no known shutdown date. */
export function modelShutdownDate(targets: readonly Target[]): string | undefined {
  const dates = targets.flatMap(
    ({ upstream, model }) => shutdownDateOf(model, upstream.kind)?.on ?? [],
  );
  return dates.length === targets.length ? dates.sort().at(-1) : undefined;
}

/** `now`: Unix milliseconds. */
export const shutdownWarnings = ({ models }: Pick<Snapshot, "models">, now: number): string[] =>
  [...models.values()].flatMap(({ id, targets }) =>
    targets.flatMap(({ upstream, model }) => {
      const shutdown = shutdownDateOf(model, upstream.kind);
      if (!shutdown || Date.parse(shutdown.on) - now > warnDaysAhead * dayMs) return [];
      const verb = isShutDown(shutdown, now) ? "was shut down" : "will be shut down";
      return [
        `the model ${JSON.stringify(id)}: ${JSON.stringify(model)} at ${JSON.stringify(upstream.id)} ${verb} on ${shutdown.on} (${shutdown.source}). Configure another model as its target`,
      ];
    }),
  );
