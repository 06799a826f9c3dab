/** Embeds the entries with every chosen model. */
import { failureOf, type RequestFailure } from "../../api/client.ts";
import type { Column } from "./color-scale.ts";
import { type Embedded, embed } from "./embed.ts";
import type { Entry } from "./entries.ts";

export interface Run {
  /** Different for each run. */
  readonly id: number;
  readonly entries: readonly Entry[];
  /** Of the file that the texts are from. */
  readonly columns: readonly Column[];
  readonly results: readonly Embedded[];
  readonly failures: readonly (RequestFailure & { readonly model: string })[];
}

let lastId = 0;

/** One model that fails does not hide the results of the others. `onProgress`: with the share of all models together. */
export async function runEmbeddings(
  models: readonly string[],
  { entries, columns }: Pick<Run, "entries" | "columns">,
  signal: AbortSignal,
  onProgress: (share: number) => void,
): Promise<Run> {
  const embedded = models.map(() => 0);
  const outcomes = await Promise.all(
    models.map((model, at) =>
      embed(model, entries, signal, (count) => {
        embedded[at] = count;
        const sum = embedded.reduce((total, each) => total + each, 0);
        onProgress(sum / (models.length * entries.length));
      }).catch((error: unknown) => ({ model, ...failureOf(error) })),
    ),
  );
  lastId++;
  return {
    id: lastId,
    entries,
    columns,
    results: outcomes.filter((outcome) => "vectors" in outcome),
    failures: outcomes.filter((outcome) => "reason" in outcome),
  };
}
