/** The runs of one click: one for each model, at the same time. */
import { useRef, useState } from "react";
import { errorText } from "../../api/client.ts";
import { requestCost } from "../../api/request-cost.ts";
import { addToGallery } from "./gallery-store.ts";
import { type GeneratedImages, generateImages } from "./generate-images.ts";
import type { ImageRequest } from "./image-request.ts";
import type { MaskStep } from "./mask-history.ts";

export interface ImageRun {
  readonly id: string;
  readonly request: ImageRequest;
  /** The newest partial image of a stream. */
  readonly partial?: Blob;
  readonly result?: GeneratedImages;
  /** US dollars. `null`: unknown. Absent: not known yet. */
  readonly cost?: number | null;
  readonly error?: string;
}

/** `onStored`: called when results were added to the gallery. */
export function useImageRuns(onStored: () => unknown) {
  const [runs, setRuns] = useState<readonly ImageRun[]>([]);
  const abort = useRef<AbortController>(null);

  const update = (id: string, changes: Partial<ImageRun>): void =>
    setRuns((present) => present.map((run) => (run.id === id ? { ...run, ...changes } : run)));

  const execute = async (
    { id, request }: ImageRun,
    maskSteps: readonly MaskStep[],
    signal: AbortSignal,
  ): Promise<void> => {
    try {
      const onPartial = (partial: Blob): void => update(id, { partial });
      const result = await generateImages(request, onPartial, signal);
      update(id, { result });
      const cost = await requestCost(result.requestId);
      update(id, { cost });
      await store(request, maskSteps, result, cost);
      await onStored();
    } catch (error) {
      update(id, { error: errorText(error) });
    }
  };

  /** `maskSteps`: kept in the gallery, so that the mask can be painted further. */
  const start = (requests: readonly ImageRequest[], maskSteps: readonly MaskStep[]): void => {
    abort.current = new AbortController();
    const { signal } = abort.current;
    const started = requests.map((request) => ({ id: newId(), request }));
    setRuns(started);
    for (const run of started) void execute(run, maskSteps, signal);
  };

  return {
    runs,
    start,
    cancel: () => abort.current?.abort(),
    isRunning: runs.some(({ result, error }) => !result && error === undefined),
  };
}

/** `crypto.randomUUID` exists in secure contexts only; a gateway on plain http in a company network is not one. */
const newId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");

async function store(
  { model, prompt, options, references }: ImageRequest,
  maskSteps: readonly MaskStep[],
  result: GeneratedImages,
  cost: number | null,
): Promise<void> {
  for (const image of result.images) {
    await addToGallery({
      id: newId(),
      at: Date.now(),
      parameters: { model, prompt, options },
      references,
      maskSteps,
      image,
      durationMs: result.durationMs,
      cost,
    });
  }
}
