/** Shutdown dates of models, by kind of upstream. A model without a row has no known shutdown date. */
import { embeddingShutdowns } from "./embeddings.ts";
import { imageShutdowns } from "./images.ts";
import type { ShutdownDate, ShutdownRow } from "./shutdown-date.ts";

export type { ShutdownDate, ShutdownRow } from "./shutdown-date.ts";

export const shutdownRows: readonly ShutdownRow[] = [...embeddingShutdowns, ...imageShutdowns];

const byName = new Map(
  shutdownRows.flatMap((row) =>
    row.models.map((model): [string, ShutdownDate] => [`${row.kind} ${model}`, row]),
  ),
);

/** Prefixes of a model's name: the region of a Bedrock inference profile, Google's paths. */
const prefixes: Readonly<Record<string, RegExp>> = {
  bedrock: /^(?:us|us-gov|eu|apac|au|ca|jp|global)\./,
  gemini: /^models\//,
  vertex: /^(?:publishers\/)?google\/(?:models\/)?/,
};

/** When this kind of upstream shuts this model down. Undefined if no date is known. */
export function shutdownDateOf(model: string, kind: string): ShutdownDate | undefined {
  const name = model.toLowerCase();
  const prefix = prefixes[kind];
  return byName.get(`${kind} ${prefix ? name.replace(prefix, "") : name}`);
}

/** Whether that day has begun. `now`: Unix milliseconds. */
export const isShutDown = (shutdown: ShutdownDate, now: number): boolean =>
  Date.parse(shutdown.on) <= now;
