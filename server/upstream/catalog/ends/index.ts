/** End dates of models, by kind of upstream. A model without a row has no known end. */
import { embeddingEnds } from "./embeddings.ts";
import type { EndDate, EndRow } from "./end-date.ts";
import { imageEnds } from "./images.ts";

export type { EndDate, EndRow } from "./end-date.ts";

export const endRows: readonly EndRow[] = [...embeddingEnds, ...imageEnds];

const byName = new Map(
  endRows.flatMap((row) =>
    row.models.map((model): [string, EndDate] => [`${row.kind} ${model}`, row]),
  ),
);

/** Prefixes of a model's name: the region of a Bedrock inference profile, Google's paths. */
const prefixes: Readonly<Record<string, RegExp>> = {
  bedrock: /^(?:us|us-gov|eu|apac|au|ca|jp|global)\./,
  gemini: /^models\//,
  vertex: /^(?:publishers\/)?google\/(?:models\/)?/,
};

/** When this kind of upstream ends this model, where that is known. */
export function endDateOf(model: string, kind: string): EndDate | undefined {
  const name = model.toLowerCase();
  const prefix = prefixes[kind];
  return byName.get(`${kind} ${prefix ? name.replace(prefix, "") : name}`);
}

/** Whether that day has begun. `now`: Unix milliseconds. */
export const hasEnded = (end: EndDate, now: number): boolean => Date.parse(end.on) <= now;
