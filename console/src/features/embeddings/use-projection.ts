/** Projects vectors to two dimensions: few by PCA, more by UMAP. */
import { useEffect, useState } from "react";
import { errorText } from "../../api/client.ts";
import type { VectorSet } from "./vector-set.ts";
import type { Projected } from "./vector-worker.ts";

type Projection =
  | { readonly state: "too_few" }
  | { readonly state: "running"; readonly share: number }
  | { readonly state: "failed"; readonly reason: string }
  | ({ readonly state: "done" } & Projected);

/** `size`: the number of vectors. */
export function useProjection(vectors: VectorSet, size: number): Projection {
  const [projection, setProjection] = useState<Projection>(
    size < 2 ? { state: "too_few" } : { state: "running", share: 0 },
  );
  useEffect(() => {
    if (size < 2) return;
    vectors
      .call("project", null, (share) => setProjection({ state: "running", share }))
      .then(
        (projected) => setProjection({ state: "done", ...projected }),
        (error: unknown) => setProjection({ state: "failed", reason: errorText(error) }),
      );
  }, [vectors, size]);
  return projection;
}
