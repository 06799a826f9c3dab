/**
 * Projects vectors to two dimensions: few by PCA at once, more by UMAP in a worker. A new set of vectors ends the
 * previous worker.
 */
import { useEffect, useState } from "react";
import { principalComponents } from "./pca.ts";
import type { ProjectionReport, ProjectionRequest } from "./umap-worker.ts";

export type Projection =
  | { readonly state: "too_few" }
  | { readonly state: "running"; readonly share: number }
  | { readonly state: "failed"; readonly reason: string }
  | {
      readonly state: "done";
      readonly method: "PCA" | "UMAP";
      readonly points: readonly (readonly [number, number])[];
    };

/** With fewer texts, every text is a neighbor of every other, and UMAP places them at random. */
const minUmapTexts = 10;

const workerUrl = (): string =>
  document.querySelector<HTMLMetaElement>('meta[name="umap-worker"]')?.content ?? "";

export function useProjection(vectors: readonly Float32Array[]): Projection {
  const [projection, setProjection] = useState<Projection>({ state: "running", share: 0 });
  useEffect(() => {
    if (vectors.length < 2) {
      setProjection({ state: "too_few" });
      return undefined;
    }
    if (vectors.length < minUmapTexts) {
      setProjection({ state: "done", method: "PCA", points: principalComponents(vectors) });
      return undefined;
    }
    setProjection({ state: "running", share: 0 });
    const worker = new Worker(workerUrl(), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<ProjectionReport>) =>
      setProjection(
        data.type === "done"
          ? { state: "done", method: "UMAP", points: data.points }
          : { state: "running", share: data.share },
      );
    worker.onerror = ({ message }) => setProjection({ state: "failed", reason: message });
    worker.postMessage({ vectors } satisfies ProjectionRequest);
    return () => worker.terminate();
  }, [vectors]);
  return projection;
}
