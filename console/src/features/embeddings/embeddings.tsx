/** The embeddings playground: embed texts and images with one or more models, and see what the vectors mean. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useDeferredValue, useMemo, useRef, useState, useTransition } from "react";
import type { ShownModel } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { type AcceptedImages, acceptImages, noImages } from "../../lib/accept-images.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { ImageFiles } from "../../ui/image-files.tsx";
import { Progress } from "../../ui/progress.tsx";
import { Empty } from "../../ui/states.tsx";
import { scrollToResults, Workbench } from "../../ui/workbench.tsx";
import { ModelChoice } from "../models/model-choice.tsx";
import { modelsQuery } from "../models/models-query.ts";
import { preselected } from "../models/preselected.ts";
import type { Column } from "./color-scale.ts";
import { imageLimits } from "./entries.ts";
import { readTexts } from "./read-texts.ts";
import { Results } from "./results.tsx";
import { type Run, runEmbeddings } from "./run-embeddings.ts";
import { sampleTexts } from "./sample-texts.ts";
import { TextInput, type TextSource } from "./text-input.tsx";

export function EmbeddingsPage() {
  const t = useT();
  const query = useQuery(modelsQuery);
  const models = query.data?.data.filter(({ kind }) => kind === "embedding") ?? [];
  const [source, setSource] = useState<TextSource>({ content: sampleTexts });
  const { model } = useSearch({ from: "/signed-in/playground/embeddings" });
  const [chosen, setChosen] = useState<readonly string[] | undefined>(model ? [model] : undefined);
  const [accepted, setAccepted] = useState<AcceptedImages<File>>(noImages);
  const { images } = accepted;
  const unavailable = ({ reads_images: readsImages }: ShownModel): string | undefined =>
    images.length > 0 && !readsImages ? t("embeddings.textsOnly") : undefined;
  const available = models.filter((each) => unavailable(each) === undefined);
  const selected = available.filter(({ id }) =>
    chosen ? chosen.includes(id) : id === preselected(available)?.id,
  );
  const takesImages = selected.some((each) => each.reads_images);
  const [isReading, startReading] = useTransition();
  const typed = useMemo(() => readTexts(source.content), [source.content]);
  const entries = [...typed.texts, ...images];
  const [progress, setProgress] = useState<RunProgress>({ share: undefined, count: 0 });
  const abort = useRef<AbortController>(null);
  const results = useRef<HTMLDivElement>(null);
  const run = useMutation({
    mutationFn: (): Promise<Run> => {
      abort.current = new AbortController();
      setProgress({ share: undefined, count: entries.length });
      scrollToResults(results.current);
      return runEmbeddings(
        selected.map(({ id }) => id),
        { entries, columns: columnsOf(source, entries.length) },
        abort.current.signal,
        (share) => setProgress({ share, count: entries.length }),
      );
    },
  });
  // A deferred value is rendered in small tasks: the page responds meanwhile.
  const shown = useDeferredValue(run.data);
  return (
    <Workbench
      title={t("nav.embeddings")}
      query={query}
      request={
        <>
          <ModelChoice
            models={models}
            selected={selected.map(({ id }) => id)}
            onChange={setChosen}
            unavailable={unavailable}
          />
          <TextInput
            source={source}
            typed={typed}
            isReading={isReading}
            startReading={startReading}
            onChange={setSource}
            onImages={
              takesImages
                ? (files) => setAccepted(acceptImages(images, files, imageLimits))
                : undefined
            }
          />
          {(takesImages || images.length > 0) && (
            <ImageFiles
              label={t("embeddings.images")}
              hint={t("embeddings.imagesHint")}
              limits={imageLimits}
              {...accepted}
              alt={({ name }) => name}
              onChange={setAccepted}
            />
          )}
        </>
      }
      actions={
        <div className="flex gap-2">
          <Button
            look="primary"
            className="flex-1"
            onClick={() => run.mutate()}
            disabled={run.isPending || isReading || selected.length === 0 || entries.length === 0}
          >
            {run.isPending ? t("embeddings.running") : t("embeddings.run")}
          </Button>
          {run.isPending && (
            <Button onClick={() => abort.current?.abort()}>{t("action.cancel")}</Button>
          )}
        </div>
      }
      resultsRef={results}
    >
      {run.isPending && <Running {...progress} />}
      {run.isIdle && (
        <Empty title={t("embeddings.noResults")}>{t("embeddings.noResults.hint")}</Empty>
      )}
      {shown && <Results key={shown.id} run={shown} />}
    </Workbench>
  );
}

interface RunProgress {
  /** Of all models together. `undefined`: no response has arrived yet. */
  readonly share: number | undefined;
  readonly count: number;
}

/** In the shape of the results: the table, the map, and the neighbors beside it. */
function Running({ share, count }: RunProgress) {
  const t = useT();
  const label = t("embeddings.running.count", { count });
  return (
    <div className="flex flex-col gap-4">
      <Card>
        <div className="flex flex-col gap-2 p-4">
          <p role="status" className="text-muted">
            {label}
          </p>
          <Progress label={label} share={share} />
        </div>
      </Card>
      <Card className="h-[70dvh] animate-pulse">{null}</Card>
    </div>
  );
}

/** The columns of the file beside that of the texts. Images, which are after the texts, have no values. */
function columnsOf({ file }: TextSource, entryCount: number): readonly Column[] {
  if (!file) return [];
  const { column, rows } = file.read;
  return [...new Set(rows.flatMap((row) => Object.keys(row)))]
    .filter((name) => name !== column)
    .map((name) => ({
      name,
      values: Array.from({ length: entryCount }, (_, at) => rows[at]?.[name] ?? ""),
    }));
}
