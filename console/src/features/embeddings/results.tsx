/** What the vectors of one run mean: figures, heat map, map, neighbors, truncation, and the request as code. */
import { useEffect, useState } from "react";
import { useT } from "../../i18n/messages.ts";
import { FileContent } from "../../lib/code-samples.ts";
import { Card } from "../../ui/card.tsx";
import { CodeSamples } from "../../ui/code-samples.tsx";
import { Dimensions } from "./dimensions.tsx";
import type { Embedded } from "./embed.ts";
import { type Entry, isImage } from "./entries.ts";
import { type Cell, HeatMap } from "./heat-map.tsx";
import { Neighbors } from "./neighbors.tsx";
import { ResultTable } from "./result-table.tsx";
import { TextMap } from "./text-map.tsx";

export interface Run {
  readonly entries: readonly Entry[];
  readonly results: readonly Embedded[];
  /** Models that failed, with the reason. */
  readonly failures: readonly { readonly model: string; readonly reason: string }[];
}

/** Of each kind: more would fill the page with code. */
const maxSampleEntries = 20;

export function Results({ run: { entries, results, failures } }: { run: Run }) {
  const t = useT();
  const [cell, setCell] = useState<Cell>({ row: 0, column: Math.min(1, entries.length - 1) });
  // The vectors of a run are released when the next run replaces it.
  useEffect(
    () => () => {
      for (const { vectors } of results) vectors.close();
    },
    [results],
  );
  const select = (row: number): void => setCell({ ...cell, row });
  const [first] = results;
  return (
    <>
      {failures.map(({ model, reason }) => (
        <p key={model} role="alert" className="rounded-md bg-bad-soft p-3 break-words text-bad">
          <code className="font-mono text-xs">{model}</code>: {reason}
        </p>
      ))}
      {first && (
        <>
          <Card title={t("embeddings.results")}>
            <ResultTable entries={entries} results={results} />
          </Card>
          {results.map(({ model, matrix, vectors }) => (
            <Card key={model} title={model}>
              <div className="grid gap-4 p-4 lg:grid-cols-2">
                <HeatMap entries={entries} matrix={matrix} selected={cell} onSelect={setCell} />
                <TextMap
                  entries={entries}
                  vectors={vectors}
                  selected={cell.row}
                  onSelect={select}
                />
              </div>
            </Card>
          ))}
          <Card title={t("embeddings.neighbors")}>
            <div className="p-4">
              <Neighbors
                entries={entries}
                matrices={results}
                selected={cell.row}
                onSelect={select}
              />
            </div>
          </Card>
          <Card title={t("embeddings.truncation")}>
            <div className="flex flex-col gap-6 p-4">
              <p className="text-muted">{t("embeddings.truncation.description")}</p>
              {results.map((embedded) => (
                <Dimensions key={embedded.model} embedded={embedded} size={entries.length} />
              ))}
            </div>
          </Card>
          <Card title={t("action.copyAsCode")}>
            <div className="p-4">
              <CodeSamples
                label={t("action.copyAsCode")}
                request={{
                  baseUrl: `${location.origin}/v1`,
                  endpoint: "embeddings",
                  body: { model: first.model, input: sampleInput(entries) },
                }}
              />
            </div>
          </Card>
        </>
      )}
    </>
  );
}

/** The reader has the images as files. */
const sampleInput = (entries: readonly Entry[]) => [
  ...entries.filter((entry) => !isImage(entry)).slice(0, maxSampleEntries),
  ...entries
    .filter(isImage)
    .slice(0, maxSampleEntries)
    .map(({ name }) => ({ image: new FileContent(name) })),
];
