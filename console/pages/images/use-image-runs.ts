/** The runs of one click: one for each model, at the same time. */
import { useRef, useState } from "react";
import { errorText } from "../../api/client.ts";
import { addToGallery } from "./gallery-store.ts";
import { type GeneratedImages, generateImages } from "./generate-images.ts";
import type { ImageRequest } from "./image-request.ts";

export interface ImageRun {
  readonly id: string;
  readonly request: ImageRequest;
  /** The newest partial image of a stream. */
  readonly partial?: Blob;
  readonly result?: GeneratedImages;
  readonly error?: string;
}

/** `onStored`: called when results were added to the gallery. */
export function useImageRuns(onStored: () => unknown) {
  const [runs, setRuns] = useState<readonly ImageRun[]>([]);
  const abort = useRef<AbortController>(null);

  const update = (id: string, changes: Partial<ImageRun>): void =>
    setRuns((present) => present.map((run) => (run.id === id ? { ...run, ...changes } : run)));

  const execute = async ({ id, request }: ImageRun, signal: AbortSignal): Promise<void> => {
    try {
      const onPartial = (partial: Blob): void => update(id, { partial });
      const result = await generateImages(request, onPartial, signal);
      update(id, { result });
      await store(request, result);
      await onStored();
    } catch (error) {
      update(id, { error: errorText(error) });
    }
  };

  const start = (requests: readonly ImageRequest[]): void => {
    abort.current = new AbortController();
    const { signal } = abort.current;
    const started = requests.map((request) => ({ id: crypto.randomUUID(), request }));
    setRuns(started);
    for (const run of started) void execute(run, signal);
  };

  return {
    runs,
    start,
    cancel: () => abort.current?.abort(),
    isRunning: runs.some(({ result, error }) => !result && error === undefined),
  };
}

async function store(request: ImageRequest, result: GeneratedImages): Promise<void> {
  const { model, prompt, options } = request;
  for (const image of result.images) {
    await addToGallery({
      id: crypto.randomUUID(),
      at: Date.now(),
      parameters: { model, prompt, options },
      image,
      durationMs: result.durationMs,
      cost: result.cost,
    });
  }
}
