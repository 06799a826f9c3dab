/** What the vectors of one run mean: figures, heat map, map, neighbors, truncation, and the request as code. */
import { useEffect, useState } from "react";
import { useT } from "../../i18n/messages.ts";
import { Card } from "../../ui/card.tsx";
import { CodeSamples } from "../../ui/code-samples.tsx";
import { Dimensions } from "./dimensions.tsx";
import type { Embedded } from "./embed.ts";
import { type Cell, HeatMap } from "./heat-map.tsx";
import { Neighbors } from "./neighbors.tsx";
import { ResultTable } from "./result-table.tsx";
import { TextMap } from "./text-map.tsx";

export interface Run {
  readonly texts: readonly string[];
  readonly results: readonly Embedded[];
  /** Models that failed, with the reason. */
  readonly failures: readonly { readonly model: string; readonly reason: string }[];
}

/** More would fill the page with code. */
const maxSampleTexts = 20;

export function Results({ run: { texts, results, failures } }: { run: Run }) {
  const t = useT();
  const [cell, setCell] = useState<Cell>({ row: 0, column: Math.min(1, texts.length - 1) });
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
            <ResultTable texts={texts} results={results} />
          </Card>
          {results.map(({ model, matrix, vectors }) => (
            <Card key={model} title={model}>
              <div className="grid gap-4 p-4 lg:grid-cols-2">
                <HeatMap texts={texts} matrix={matrix} selected={cell} onSelect={setCell} />
                <TextMap texts={texts} vectors={vectors} selected={cell.row} onSelect={select} />
              </div>
            </Card>
          ))}
          <Card title={t("embeddings.neighbors")}>
            <div className="p-4">
              <Neighbors texts={texts} matrices={results} selected={cell.row} onSelect={select} />
            </div>
          </Card>
          <Card title={t("embeddings.truncation")}>
            <div className="flex flex-col gap-6 p-4">
              <p className="text-muted">{t("embeddings.truncation.description")}</p>
              {results.map((embedded) => (
                <Dimensions key={embedded.model} embedded={embedded} size={texts.length} />
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
                  body: { model: first.model, input: texts.slice(0, maxSampleTexts) },
                }}
              />
            </div>
          </Card>
        </>
      )}
    </>
  );
}
