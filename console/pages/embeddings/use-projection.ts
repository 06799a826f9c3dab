/** Runs the UMAP worker for a set of vectors. A new set ends the worker of the set before. */
import { useEffect, useState } from "react";
import type { ProjectionReport, ProjectionRequest } from "./umap-worker.ts";

export type Projection =
  | { readonly state: "too_few" }
  | { readonly state: "running"; readonly share: number }
  | { readonly state: "failed"; readonly reason: string }
  | { readonly state: "done"; readonly points: readonly (readonly [number, number])[] };

/** UMAP needs a few points to have neighbors. */
const minTexts = 4;

const workerUrl = (): string =>
  document.querySelector<HTMLMetaElement>('meta[name="umap-worker"]')?.content ?? "";

export function useProjection(vectors: readonly Float32Array[]): Projection {
  const [projection, setProjection] = useState<Projection>({ state: "running", share: 0 });
  useEffect(() => {
    if (vectors.length < minTexts) {
      setProjection({ state: "too_few" });
      return undefined;
    }
    setProjection({ state: "running", share: 0 });
    const worker = new Worker(workerUrl(), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<ProjectionReport>) =>
      setProjection(
        data.type === "done"
          ? { state: "done", points: data.points }
          : { state: "running", share: data.share },
      );
    worker.onerror = ({ message }) => setProjection({ state: "failed", reason: message });
    worker.postMessage({ vectors } satisfies ProjectionRequest);
    return () => worker.terminate();
  }, [vectors]);
  return projection;
}
