/** The embeddings playground: embed texts and images with one or more models, and see what the vectors mean. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useRef, useState } from "react";
import type { ShownModel } from "../../../../contract/admin.ts";
import { errorText } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { type AcceptedImages, acceptImages, noImages } from "../../lib/accept-images.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { ImageFiles } from "../../ui/image-files.tsx";
import { Page } from "../../ui/page.tsx";
import { QueryView } from "../../ui/states.tsx";
import { ModelChoice } from "../models/model-choice.tsx";
import { modelsQuery } from "../models/models-query.ts";
import { embed } from "./embed.ts";
import { type Entry, imageLimits } from "./entries.ts";
import { readTexts } from "./read-texts.ts";
import { Results, type Run } from "./results.tsx";
import { sampleTexts } from "./sample-texts.ts";
import { TextInput } from "./text-input.tsx";

export function EmbeddingsPage() {
  const t = useT();
  const query = useQuery(modelsQuery);
  const models = query.data?.data.filter(({ kind }) => kind === "embedding") ?? [];
  const [content, setContent] = useState(sampleTexts);
  const { model } = useSearch({ from: "/signed-in/playground/embeddings" });
  const [chosen, setChosen] = useState<readonly string[] | undefined>(model ? [model] : undefined);
  const [accepted, setAccepted] = useState<AcceptedImages<File>>(noImages);
  const { images } = accepted;
  const unavailable = ({ reads_images: readsImages }: ShownModel): string | undefined =>
    images.length > 0 && !readsImages ? t("embeddings.textsOnly") : undefined;
  const available = models.filter((model) => unavailable(model) === undefined);
  const selected = available.filter(({ id }) =>
    chosen ? chosen.includes(id) : id === available[0]?.id,
  );
  const takesImages = selected.some((model) => model.reads_images);
  const entries = [...readTexts(content).texts, ...images];
  const abort = useRef<AbortController>(null);
  const run = useMutation({
    mutationFn: (): Promise<Run> => {
      abort.current = new AbortController();
      return embedWithAll(
        selected.map(({ id }) => id),
        entries,
        abort.current.signal,
      );
    },
  });
  return (
    <Page title={t("nav.embeddings")} description={t("embeddings.description")}>
      <Card>
        <div className="flex flex-col gap-4 p-4">
          <TextInput
            content={content}
            onChange={setContent}
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
          <QueryView query={query}>
            {() => (
              <ModelChoice
                models={models}
                selected={selected.map(({ id }) => id)}
                onChange={setChosen}
                unavailable={unavailable}
              />
            )}
          </QueryView>
          <div className="flex gap-2">
            <Button
              look="primary"
              onClick={() => run.mutate()}
              disabled={run.isPending || selected.length === 0 || entries.length === 0}
            >
              {run.isPending ? t("embeddings.running") : t("embeddings.run")}
            </Button>
            {run.isPending && (
              <Button onClick={() => abort.current?.abort()}>{t("action.cancel")}</Button>
            )}
          </div>
        </div>
      </Card>
      {run.data && <Results key={run.submittedAt} run={run.data} />}
    </Page>
  );
}

/** One model that fails does not hide the results of the others. */
async function embedWithAll(
  models: readonly string[],
  entries: readonly Entry[],
  signal: AbortSignal,
): Promise<Run> {
  const outcomes = await Promise.all(
    models.map((model) =>
      embed(model, entries, signal).catch((error: unknown) => ({
        model,
        reason: errorText(error),
      })),
    ),
  );
  return {
    entries,
    results: outcomes.filter((outcome) => "vectors" in outcome),
    failures: outcomes.filter((outcome) => "reason" in outcome),
  };
}
