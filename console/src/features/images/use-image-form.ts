/** What the next image request will be: prompt, models, options, reference images and mask. */
import { useState } from "react";
import type { ShownModel } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { preselected } from "../models/preselected.ts";
import { exportMask } from "./draw-mask.ts";
import { estimateOf, type ImageRequest, supportedOptions } from "./image-request.ts";
import { emptyHistory, type MaskHistory } from "./mask-history.ts";
import { useBitmap } from "./use-bitmap.ts";
import type { ImageSettings } from "./use-image-runs.ts";

/** `models`: the image models. `first`: the id of the model that is chosen at first. */
export function useImageForm(models: readonly ShownModel[], first: string | undefined) {
  const t = useT();
  const [prompt, setPrompt] = useState("");
  const [chosen, setChosen] = useState<readonly string[] | undefined>(first ? [first] : undefined);
  const [options, setOptions] = useState<Readonly<Record<string, string>>>({});
  const [references, setImages] = useState<readonly Blob[]>([]);
  const [mask, setMask] = useState<MaskHistory>(emptyHistory);
  const bitmap = useBitmap(references[0]);

  const isEdit = references.length > 0;
  const hasMask = isEdit && mask.steps.length > 0;
  const unavailable = (model: ShownModel): string | undefined => {
    if (!isEdit) return undefined;
    if (!model.edits) return t("images.noEdits");
    if (references.length > model.edits.max_images)
      return t("images.tooManyReferences", { count: model.edits.max_images });
    return hasMask && !model.edits.mask ? t("images.noMask") : undefined;
  };
  const available = models.filter((model) => unavailable(model) === undefined);
  const selected = available.filter(({ id }) =>
    chosen ? chosen.includes(id) : id === preselected(available)?.id,
  );
  const parameters = selected.map((model) => ({
    model: model.id,
    prompt,
    options: supportedOptions(model, isEdit, options),
  }));

  const setReferences = (images: readonly Blob[]): void => {
    // The mask belongs to the first image.
    if (images[0] !== references[0]) setMask(emptyHistory);
    setImages(images);
  };

  return {
    prompt,
    setPrompt,
    selected,
    setChosen,
    unavailable,
    options,
    setOptions,
    references,
    setReferences,
    mask,
    setMask,
    /** The first reference image, which the mask is painted on. */
    bitmap,
    isEdit,
    hasMask,
    parameters,
    isComplete: prompt.trim() !== "" && selected.length > 0,
    estimates: parameters.map((each) => estimateOf(each, references.length, hasMask)),
    /** One request for each model. */
    requests: async (): Promise<readonly ImageRequest[]> => {
      const file =
        bitmap && hasMask ? await exportMask(bitmap.width, bitmap.height, mask.steps) : undefined;
      return parameters.map((each) => ({ ...each, references, mask: file }));
    },
    settings: {
      models: selected.map(({ id }) => id),
      prompt,
      options,
      references,
      maskSteps: hasMask ? mask.steps : [],
    } satisfies ImageSettings,
    useAgain: (used: ImageSettings): void => {
      setPrompt(used.prompt);
      setOptions(used.options);
      setChosen(used.models);
      setImages(used.references);
      setMask({ steps: used.maskSteps, undone: [] });
    },
  };
}

export type ImageForm = ReturnType<typeof useImageForm>;
