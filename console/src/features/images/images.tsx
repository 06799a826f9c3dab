/** The images playground: generate and edit with one or more models side by side. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ShownModel } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Field } from "../../ui/field.tsx";
import { TextArea } from "../../ui/input.tsx";
import { Page } from "../../ui/page.tsx";
import { QueryView } from "../../ui/states.tsx";
import { ModelChoice } from "../models/model-choice.tsx";
import { modelsQuery } from "../models/models-query.ts";
import { exportMask } from "./draw-mask.ts";
import { EstimatedCost } from "./estimated-cost.tsx";
import { Gallery, galleryQuery } from "./gallery.tsx";
import type { GalleryEntry } from "./gallery-store.ts";
import { ImageCode } from "./image-code.tsx";
import { estimateOf, supportedOptions } from "./image-request.ts";
import { emptyHistory, type MaskHistory } from "./mask-history.ts";
import { MaskPainter } from "./mask-painter.tsx";
import { ModelOptions } from "./model-options.tsx";
import { ReferenceImages } from "./reference-images.tsx";
import { ResultCard } from "./result-card.tsx";
import { useBitmap } from "./use-bitmap.ts";
import { useImageRuns } from "./use-image-runs.ts";

export function ImagesPage() {
  const t = useT();
  const queryClient = useQueryClient();
  const query = useQuery(modelsQuery);
  const [prompt, setPrompt] = useState("");
  const [chosen, setChosen] = useState<readonly string[]>();
  const [options, setOptions] = useState<Readonly<Record<string, string>>>({});
  const [references, setReferences] = useState<readonly Blob[]>([]);
  const [history, setHistory] = useState<MaskHistory>(emptyHistory);
  const bitmap = useBitmap(references[0]);
  const { runs, start, cancel, isRunning } = useImageRuns(() =>
    queryClient.invalidateQueries({ queryKey: galleryQuery.queryKey }),
  );

  const isEdit = references.length > 0;
  const hasMask = isEdit && history.steps.length > 0;
  const unavailable = (model: ShownModel): string | undefined => {
    if (!isEdit) return undefined;
    if (!model.edits) return t("images.noEdits");
    if (references.length > model.edits.max_images)
      return t("images.tooManyReferences", { count: model.edits.max_images });
    return hasMask && !model.edits.mask ? t("images.noMask") : undefined;
  };
  const models = query.data?.data.filter(({ kind }) => kind === "image") ?? [];
  const available = models.filter((model) => unavailable(model) === undefined);
  const selected = available.filter(({ id }) =>
    chosen ? chosen.includes(id) : id === available[0]?.id,
  );
  const parameters = selected.map((model) => ({
    model: model.id,
    prompt,
    options: supportedOptions(model, isEdit, options),
  }));

  const generate = async (): Promise<void> => {
    const mask =
      bitmap && hasMask ? await exportMask(bitmap.width, bitmap.height, history.steps) : undefined;
    start(
      parameters.map((each) => ({ ...each, references, mask })),
      history.steps,
    );
  };
  const changeReferences = (images: readonly Blob[]): void => {
    // The mask belongs to the first image.
    if (images[0] !== references[0]) setHistory(emptyHistory);
    setReferences(images);
  };
  const useAgain = (entry: GalleryEntry): void => {
    setPrompt(entry.parameters.prompt);
    setOptions(entry.parameters.options);
    setChosen([entry.parameters.model]);
    setReferences(entry.references);
    setHistory({ steps: entry.maskSteps, undone: [] });
    scrollTo({ top: 0 });
  };
  const edit = (image: Blob): void => {
    changeReferences([image]);
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
          <ModelOptions models={selected} isEdit={isEdit} values={options} onChange={setOptions} />
          <ReferenceImages images={references} onChange={changeReferences} />
          {bitmap && <MaskPainter image={bitmap} history={history} onChange={setHistory} />}
          <div className="flex flex-wrap items-center gap-3">
            <Button
              look="primary"
              onClick={generate}
              disabled={isRunning || prompt.trim() === "" || selected.length === 0}
            >
              {isEdit ? t("images.edit") : t("images.generate")}
            </Button>
            {isRunning && <Button onClick={cancel}>{t("action.cancel")}</Button>}
            {selected.length > 0 && (
              <EstimatedCost
                requests={parameters.map((each) => estimateOf(each, references.length, hasMask))}
              />
            )}
          </div>
          {parameters[0] && prompt.trim() !== "" && (
            <ImageCode parameters={parameters[0]} references={references} hasMask={hasMask} />
          )}
        </div>
      </Card>
      <div className="grid gap-4 sm:grid-cols-2">
        {runs.map((run) => (
          <ResultCard key={run.id} run={run} onEdit={edit} />
        ))}
      </div>
      <Gallery onUseAgain={useAgain} onEdit={edit} />
    </Page>
  );
}
