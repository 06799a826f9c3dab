/** The images playground: generate and edit with one or more models side by side. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Field } from "../../ui/field.tsx";
import { TextArea } from "../../ui/input.tsx";
import { Page } from "../../ui/page.tsx";
import { modelsQuery } from "../models/models-query.ts";
import { exportMask } from "./draw-mask.ts";
import { Gallery, galleryQuery } from "./gallery.tsx";
import type { ImageParameters } from "./image-request.ts";
import { emptyHistory, type MaskHistory } from "./mask-history.ts";
import { MaskPainter } from "./mask-painter.tsx";
import { ModelOptions } from "./model-options.tsx";
import { ReferenceImages } from "./reference-images.tsx";
import { ResultCard } from "./result-card.tsx";
import { useImageRuns } from "./use-image-runs.ts";

export function ImagesPage() {
  const t = useT();
  const queryClient = useQueryClient();
  const { data: models } = useQuery(modelsQuery);
  const imageModels = models?.data.filter(({ kind }) => kind === "image") ?? [];
  const [prompt, setPrompt] = useState("");
  const [chosen, setChosen] = useState<readonly string[]>();
  const [options, setOptions] = useState<Readonly<Record<string, string>>>({});
  const [references, setReferences] = useState<readonly Blob[]>([]);
  const [history, setHistory] = useState<MaskHistory>(emptyHistory);
  const bitmap = useBitmap(references[0]);
  const { runs, start, cancel, isRunning } = useImageRuns(() =>
    queryClient.invalidateQueries({ queryKey: galleryQuery.queryKey }),
  );
  const selected = imageModels.filter(({ id }) =>
    chosen ? chosen.includes(id) : id === imageModels[0]?.id,
  );

  const generate = async (): Promise<void> => {
    const mask =
      bitmap && history.steps.length > 0
        ? await exportMask(bitmap.width, bitmap.height, history.steps)
        : undefined;
    // An option is sent only to models that have it.
    const supported = (model: (typeof selected)[number]) =>
      Object.fromEntries(Object.entries(options).filter(([name]) => name in model.options));
    start(
      selected.map((model) => ({
        model: model.id,
        prompt,
        options: supported(model),
        references,
        mask,
      })),
    );
  };
  const rerun = (parameters: ImageParameters): void => {
    setPrompt(parameters.prompt);
    setOptions(parameters.options);
    setChosen([parameters.model]);
    setReferences([]);
    scrollTo({ top: 0 });
  };

  return (
    <Page title={t("nav.images")} description={t("images.description")}>
      <Card>
        <div className="flex flex-col gap-4 p-4">
          <Field label={t("images.prompt")}>
            {(ids) => (
              <TextArea
                {...ids}
                rows={3}
                value={prompt}
                onChange={(event) => setPrompt(event.target.value)}
              />
            )}
          </Field>
          <fieldset className="flex flex-wrap gap-x-4 gap-y-1">
            <legend className="mb-1 text-xs font-medium text-muted">{t("nav.models")}</legend>
            {imageModels.map(({ id }) => (
              <label key={id} className="flex items-center gap-1.5">
                <input
                  type="checkbox"
                  checked={selected.some((model) => model.id === id)}
                  onChange={({ target }) => {
                    const others = selected.map((model) => model.id).filter((each) => each !== id);
                    setChosen(target.checked ? [...others, id] : others);
                  }}
                />
                <span className="font-mono text-xs">{id}</span>
              </label>
            ))}
          </fieldset>
          <ModelOptions models={selected} values={options} onChange={setOptions} />
          <ReferenceImages
            images={references}
            onChange={(images) => {
              // The mask belongs to the first image.
              if (images[0] !== references[0]) setHistory(emptyHistory);
              setReferences(images);
            }}
          />
          {bitmap && <MaskPainter image={bitmap} history={history} onChange={setHistory} />}
          <div className="flex flex-wrap items-center gap-3">
            <Button
              look="primary"
              onClick={generate}
              disabled={isRunning || prompt.trim() === "" || selected.length === 0}
            >
              {references.length > 0 ? t("images.edit") : t("images.generate")}
            </Button>
            {isRunning && <Button onClick={cancel}>{t("action.cancel")}</Button>}
            <span className="text-muted">
              {selected
                .map(({ id, price }) => `${id}: ${price ?? t("images.priceUnknown")}`)
                .join(" · ")}
            </span>
          </div>
        </div>
      </Card>
      <div className="grid gap-4 sm:grid-cols-2">
        {runs.map((run) => (
          <ResultCard key={run.id} run={run} />
        ))}
      </div>
      <Gallery onRerun={rerun} />
    </Page>
  );
}

/** The decoded image that the mask is painted on. */
function useBitmap(blob: Blob | undefined): ImageBitmap | undefined {
  const [bitmap, setBitmap] = useState<ImageBitmap>();
  useEffect(() => {
    let isCurrent = true;
    setBitmap(undefined);
    if (blob) {
      createImageBitmap(blob).then(
        (decoded) => isCurrent && setBitmap(decoded),
        () => isCurrent && setBitmap(undefined),
      );
    }
    return () => {
      isCurrent = false;
    };
  }, [blob]);
  return bitmap;
}
