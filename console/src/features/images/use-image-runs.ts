/** The runs of every click, the oldest first. A click has one run for each model, at the same time. */
import { useRef, useState } from "react";
import { failureOf, type RequestFailure } from "../../api/client.ts";
import { requestCost } from "../../api/request-cost.ts";
import { addToGallery, type GalleryEntry } from "./gallery-store.ts";
import { type GeneratedImages, generateImages } from "./generate-images.ts";
import type { ImageRequest } from "./image-request.ts";
import type { MaskStep } from "./mask-history.ts";

/** What the form had at a click, to be used again. */
export interface ImageSettings {
  readonly models: readonly string[];
  readonly prompt: string;
  readonly options: Readonly<Record<string, string>>;
  readonly references: readonly Blob[];
  readonly maskSteps: readonly MaskStep[];
}

export interface ImageClick {
  readonly id: string;
  readonly settings: ImageSettings;
  readonly runs: readonly ImageRun[];
}

/** Earlier ones leave the page. The history has their images. */
const maxClicks = 20;

export interface ImageRun {
  readonly id: string;
  readonly request: ImageRequest;
  /** By `performance.now()`. */
  readonly startedAt: number;
  /** The partial images of a stream: the newest one, and how many there were. */
  readonly partial?: { readonly image: Blob; readonly count: number };
  readonly result?: GeneratedImages;
  /** The images of the result, as the gallery keeps them. */
  readonly entries?: readonly GalleryEntry[];
  readonly failure?: RequestFailure;
  readonly isCanceled?: true;
}

export const isRunning = ({ result, failure, isCanceled }: ImageRun): boolean =>
  !result && !failure && !isCanceled;

/** `onStored`: called when results were added to the gallery. */
export function useImageRuns(onStored: () => unknown) {
  const [clicks, setClicks] = useState<readonly ImageClick[]>([]);
  const abort = useRef<AbortController>(null);

  const update = (id: string, changes: (run: ImageRun) => Partial<ImageRun>): void =>
    setClicks((present) =>
      present.map((click) =>
        click.runs.some((run) => run.id === id)
          ? {
              ...click,
              runs: click.runs.map((run) => (run.id === id ? { ...run, ...changes(run) } : run)),
            }
          : click,
      ),
    );

  const execute = async (
    { id, request }: ImageRun,
    maskSteps: readonly MaskStep[],
    signal: AbortSignal,
  ): Promise<void> => {
    try {
      const onPartial = (image: Blob): void =>
        update(id, ({ partial }) => ({ partial: { image, count: (partial?.count ?? 0) + 1 } }));
      const result = await generateImages(request, onPartial, signal);
      const entries = entriesOf(request, maskSteps, result);
      update(id, () => ({ result, entries }));
      const cost = await requestCost(result.requestId);
      // The price is that of the request.
      const priced = entries.map((entry) => ({ ...entry, cost }));
      update(id, () => ({ entries: priced }));
      for (const entry of priced) await addToGallery(entry);
      await onStored();
    } catch (error) {
      update(id, () => (signal.aborted ? { isCanceled: true } : { failure: failureOf(error) }));
    }
  };

  /** The mask is kept in the gallery, so that it can be painted further. */
  const start = (requests: readonly ImageRequest[], settings: ImageSettings): void => {
    abort.current = new AbortController();
    const { signal } = abort.current;
    const startedAt = performance.now();
    const runs = requests.map((request) => ({ id: newId(), request, startedAt }));
    setClicks((present) => [...present, { id: newId(), settings, runs }].slice(-maxClicks));
    for (const run of runs) void execute(run, settings.maskSteps, signal);
  };

  return {
    clicks,
    start,
    cancel: () => abort.current?.abort(),
    isRunning: clicks.some(({ runs }) => runs.some(isRunning)),
  };
}

/** `crypto.randomUUID` exists in secure contexts only; a gateway on plain http in a company network is not one. */
const newId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");

const entriesOf = (
  { model, prompt, options, references }: ImageRequest,
  maskSteps: readonly MaskStep[],
  { images, durationMs, requestId }: GeneratedImages,
): readonly GalleryEntry[] =>
  images.map((image) => ({
    id: newId(),
    at: Date.now(),
    parameters: { model, prompt, options },
    references,
    maskSteps,
    image,
    durationMs,
    cost: null,
    requestId,
  }));
