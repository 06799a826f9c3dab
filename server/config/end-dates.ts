/** Applies the catalog's end dates to a configuration: the end date of a public model, and warnings about it. */
import { endDateOf, hasEnded } from "../upstream/catalog/ends/index.ts";
import type { Target } from "../upstream/contract.ts";
import type { Snapshot } from "./snapshot.ts";

/** End dates further ahead are only in `GET /v1/models`. */
const warnDaysAhead = 180;
const dayMs = 86_400_000;

/** The day from which no target serves the model. Undefined if any target has no known end date. */
export function endsOn(targets: readonly Target[]): string | undefined {
  const ends = targets.flatMap(({ upstream, model }) => endDateOf(model, upstream.kind)?.on ?? []);
  return ends.length === targets.length ? ends.sort().at(-1) : undefined;
}

/** `now`: Unix milliseconds. */
export const endWarnings = ({ models }: Pick<Snapshot, "models">, now: number): string[] =>
  [...models.values()].flatMap(({ id, targets }) =>
    targets.flatMap(({ upstream, model }) => {
      const end = endDateOf(model, upstream.kind);
      if (!end || Date.parse(end.on) - now > warnDaysAhead * dayMs) return [];
      const verb = hasEnded(end, now) ? "ended" : "ends";
      return [
        `the model ${JSON.stringify(id)}: ${JSON.stringify(model)} at ${JSON.stringify(upstream.id)} ${verb} on ${end.on} (${end.source})`,
      ];
    }),
  );
