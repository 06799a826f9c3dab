/** What the vectors of one run mean: figures, heat map, map, neighbors, truncation, and the request as code. */
import { useEffect, useState } from "react";
import { useT } from "../../i18n/messages.ts";
import { classNames } from "../../lib/class-names.ts";
import { FileContent } from "../../lib/code-samples.ts";
import { Card } from "../../ui/card.tsx";
import { CodeSamples } from "../../ui/code-samples.tsx";
import { FailedRequest } from "../../ui/failed-request.tsx";
import { ColorBy, ColorLegend } from "./color-by.tsx";
import { colorColumns } from "./color-scale.ts";
import { Dimensions } from "./dimensions.tsx";
import { type Entry, isImage } from "./entries.ts";
import { type Cell, HeatMap } from "./heat-map.tsx";
import { Neighbors } from "./neighbors.tsx";
import { ResultTable } from "./result-table.tsx";
import type { Run } from "./run-embeddings.ts";
import { TextMap } from "./text-map.tsx";

/** Of each kind: more would fill the page with code. */
const maxSampleEntries = 20;

export function Results({ run: { entries, columns, results, failures } }: { run: Run }) {
  const t = useT();
  const colorable = colorColumns(columns);
  const [columnName, setColumnName] = useState("");
  const column = colorable.find(({ name }) => name === columnName);
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
  const several = results.length > 1;
  return (
    <div className="flex flex-col gap-4">
      {failures.map(({ model, ...failure }) => (
        <FailedRequest key={model} failure={failure}>
          <code className="font-mono text-xs wrap-anywhere">{model}</code>
        </FailedRequest>
      ))}
      {first && (
        <>
          <Card title={t("embeddings.results")}>
            <ResultTable entries={entries} results={results} />
          </Card>
          <div className="@container">
            {/* The neighbors of one model are beside the map and as high. */}
            <div
              className={classNames(
                "grid gap-4",
                !several && "@2xl:grid-cols-[minmax(0,3fr)_minmax(15rem,2fr)]",
              )}
            >
              <Card
                title={t("embeddings.mapTitle")}
                className="min-w-0"
                actions={
                  colorable.length > 0 && (
                    <ColorBy columns={colorable} value={columnName} onChange={setColumnName} />
                  )
                }
              >
                {column && <ColorLegend column={column} />}
                <div className={classNames("grid gap-4 p-4", several && "xl:grid-cols-2")}>
                  {results.map(({ model, vectors }) => (
                    <section key={model} aria-label={t("embeddings.mapOf", { model })}>
                      {several && <ModelName model={model} />}
                      <TextMap
                        entries={entries}
                        vectors={vectors}
                        column={column}
                        selected={cell.row}
                        onSelect={select}
                      />
                    </section>
                  ))}
                </div>
              </Card>
              <div className={classNames("relative min-w-0", !several && "@2xl:min-h-80")}>
                <Card
                  title={t("embeddings.neighbors")}
                  className={classNames("flex flex-col", !several && "@2xl:absolute @2xl:inset-0")}
                >
                  <div className="flex min-h-0 flex-1 flex-col p-4">
                    <Neighbors
                      entries={entries}
                      matrices={results}
                      selected={cell.row}
                      onSelect={select}
                    />
                  </div>
                </Card>
              </div>
            </div>
          </div>
          <Card title={t("embeddings.similarity")}>
            <div className={classNames("grid gap-6 p-4", several && "xl:grid-cols-2")}>
              {results.map(({ model, matrix, pixels }) => (
                <div key={model} className="max-w-[40rem] min-w-0">
                  {several && <ModelName model={model} />}
                  <HeatMap
                    entries={entries}
                    matrix={matrix}
                    pixels={pixels}
                    selected={cell}
                    onSelect={setCell}
                  />
                </div>
              ))}
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
    </div>
  );
}

const ModelName = ({ model }: { model: string }) => (
  <h3 className="mb-2 font-mono text-xs wrap-anywhere text-muted">{model}</h3>
);

/** The reader has the images as files. */
const sampleInput = (entries: readonly Entry[]) => [
  ...entries.filter((entry) => !isImage(entry)).slice(0, maxSampleEntries),
  ...entries
    .filter(isImage)
    .slice(0, maxSampleEntries)
    .map(({ name }) => ({ image: new FileContent(name) })),
];
