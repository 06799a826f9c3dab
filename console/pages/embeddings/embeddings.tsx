/** The embeddings playground: embed texts with one or more models, and see what the vectors mean. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { type DragEvent, useMemo, useRef, useState } from "react";
import { errorText } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { count, dollars, milliseconds } from "../../lib/format.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Field } from "../../ui/field.tsx";
import { TextArea } from "../../ui/input.tsx";
import { Page } from "../../ui/page.tsx";
import { Table } from "../../ui/table.tsx";
import { modelsQuery } from "../models/models-query.ts";
import { Dimensions } from "./dimensions.tsx";
import { downloadVectors } from "./download-vectors.ts";
import { type Embedded, embed } from "./embed.ts";
import { type Cell, HeatMap } from "./heat-map.tsx";
import { Neighbors } from "./neighbors.tsx";
import { readTexts } from "./read-texts.ts";
import { TextMap } from "./text-map.tsx";
import { similarityMatrix } from "./vectors.ts";

const sample = [
  "The cat sleeps on the sofa.",
  "A kitten naps on the couch.",
  "Dogs love to play in the park.",
  "The stock market fell sharply today.",
  "Shares dropped after the earnings report.",
  "How do I bake sourdough bread?",
  "A recipe for a crusty loaf.",
  "The train to Berlin leaves at noon.",
].join("\n");

interface Run {
  readonly texts: readonly string[];
  readonly results: readonly Embedded[];
}

export function EmbeddingsPage() {
  const t = useT();
  const { data: models } = useQuery(modelsQuery);
  const embeddingModels = models?.data.filter(({ kind }) => kind === "embedding") ?? [];
  const [content, setContent] = useState(sample);
  const [chosen, setChosen] = useState<readonly string[]>();
  const [problem, setProblem] = useState<string>();
  const selectedModels = chosen ?? embeddingModels.slice(0, 1).map(({ id }) => id);
  const abort = useRef<AbortController>(null);
  const run = useMutation({
    mutationFn: async (): Promise<Run> => {
      abort.current = new AbortController();
      const { signal } = abort.current;
      const { texts } = readTexts(content);
      const results = await Promise.all(selectedModels.map((model) => embed(model, texts, signal)));
      return { texts, results };
    },
  });

  const drop = async (event: DragEvent): Promise<void> => {
    event.preventDefault();
    const file = event.dataTransfer.files[0];
    if (!file) return;
    try {
      setContent(readTexts(await file.text(), file.name).texts.join("\n"));
      setProblem(undefined);
    } catch (error) {
      setProblem(errorText(error));
    }
  };

  return (
    <Page title={t("nav.embeddings")} description={t("embeddings.description")}>
      <Card>
        <div className="flex flex-col gap-3 p-4">
          <Field label={t("embeddings.texts")} hint={t("embeddings.textsHint")} error={problem}>
            {(ids) => (
              <TextArea
                {...ids}
                rows={8}
                value={content}
                onChange={(event) => setContent(event.target.value)}
                onDrop={drop}
                onDragOver={(event) => event.preventDefault()}
              />
            )}
          </Field>
          <fieldset className="flex flex-wrap gap-x-4 gap-y-1">
            <legend className="mb-1 text-xs font-medium text-muted">{t("nav.models")}</legend>
            {embeddingModels.map(({ id }) => (
              <label key={id} className="flex items-center gap-1.5">
                <input
                  type="checkbox"
                  checked={selectedModels.includes(id)}
                  onChange={({ target }) =>
                    setChosen(
                      target.checked
                        ? [...selectedModels, id]
                        : selectedModels.filter((other) => other !== id),
                    )
                  }
                />
                <span className="font-mono text-xs">{id}</span>
              </label>
            ))}
          </fieldset>
          {run.error && (
            <p role="alert" className="text-bad">
              {errorText(run.error)}
            </p>
          )}
          <div className="flex gap-2">
            <Button
              look="primary"
              onClick={() => run.mutate()}
              disabled={run.isPending || selectedModels.length === 0}
            >
              {t("embeddings.run")}
            </Button>
            {run.isPending && (
              <Button onClick={() => abort.current?.abort()}>{t("action.cancel")}</Button>
            )}
          </div>
        </div>
      </Card>
      {run.data && run.data.texts.length > 0 && <Results run={run.data} />}
    </Page>
  );
}

function Results({ run: { texts, results } }: { run: Run }) {
  const t = useT();
  const [cell, setCell] = useState<Cell>({ row: 0, column: Math.min(1, texts.length - 1) });
  const matrices = useMemo(
    () => results.map(({ model, vectors }) => ({ model, matrix: similarityMatrix(vectors) })),
    [results],
  );
  const select = (row: number): void => setCell({ ...cell, row });
  return (
    <>
      <Card title={t("embeddings.results")}>
        <Table
          label={t("embeddings.results")}
          rows={results}
          rowKey={({ model }) => model}
          columns={[
            {
              key: "model",
              header: t("requests.model"),
              cell: ({ model }) => <code className="font-mono text-xs">{model}</code>,
            },
            {
              key: "dimensions",
              header: t("models.dimensions"),
              align: "right",
              cell: ({ vectors }) => vectors[0]?.length ?? 0,
            },
            {
              key: "tokens",
              header: t("figure.tokens"),
              align: "right",
              cell: ({ tokens }) => count(tokens),
            },
            {
              key: "latency",
              header: t("requests.latency"),
              align: "right",
              cell: ({ durationMs }) => milliseconds(durationMs),
            },
            {
              key: "cost",
              header: t("figure.cost"),
              align: "right",
              cell: ({ cost }) => dollars(cost),
            },
            {
              key: "download",
              header: t("column.actions"),
              cell: (embedded) => (
                <Button size="small" onClick={() => downloadVectors(texts, embedded)}>
                  {t("embeddings.download")}
                </Button>
              ),
            },
          ]}
        />
      </Card>
      {results.map((embedded, at) => {
        const matrix = matrices[at]?.matrix ?? new Float32Array();
        return (
          <Card key={embedded.model} title={embedded.model}>
            <div className="grid gap-4 p-4 lg:grid-cols-2">
              <HeatMap texts={texts} matrix={matrix} selected={cell} onSelect={setCell} />
              <TextMap
                texts={texts}
                vectors={embedded.vectors}
                selected={cell.row}
                onSelect={select}
              />
            </div>
          </Card>
        );
      })}
      <Card title={t("embeddings.neighbors")}>
        <div className="p-4">
          <Neighbors texts={texts} matrices={matrices} selected={cell.row} onSelect={select} />
        </div>
      </Card>
      <Card title={t("embeddings.truncation")}>
        <div className="flex flex-col gap-4 p-4">
          {results.map((embedded, at) => (
            <Dimensions
              key={embedded.model}
              embedded={embedded}
              matrix={matrices[at]?.matrix ?? new Float32Array()}
            />
          ))}
        </div>
      </Card>
    </>
  );
}
