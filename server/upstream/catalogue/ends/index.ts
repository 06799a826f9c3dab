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

/** Bedrock puts the inference profile's region before the model: `us.amazon.nova-canvas-v1:0`. */
const region = /^(?:us|us-gov|eu|apac|au|ca|jp|global)\./;

/** When this kind of upstream ends this model, where that is known. */
export function endOf(model: string, kind: string): EndDate | undefined {
  const name = model.toLowerCase();
  return (
    byName.get(`${kind} ${name}`) ??
    (kind === "bedrock" ? byName.get(`${kind} ${name.replace(region, "")}`) : undefined)
  );
}

/** Whether that day has begun. `now`: Unix milliseconds. */
export const hasEnded = (end: EndDate, now: number): boolean => Date.parse(end.on) <= now;
