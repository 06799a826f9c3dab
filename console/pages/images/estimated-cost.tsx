/** What a click would cost, for each model and together. */
import { useQueries } from "@tanstack/react-query";
import { useDeferredValue } from "react";
import type { ImageEstimate, ImageEstimateRequest } from "../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { dollars } from "../../lib/format.ts";

export function EstimatedCost({ requests }: { requests: readonly ImageEstimateRequest[] }) {
  const t = useT();
  // Typing is not held up by the estimate.
  const shown = useDeferredValue(requests);
  const estimates = useQueries({
    queries: shown.map((body) => ({
      queryKey: ["image-estimate", body],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        call<ImageEstimate>("/image-estimates", { method: "POST", body, signal }),
      placeholderData: (previous: ImageEstimate | undefined) => previous,
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: 60_000,
    })),
  });
  const costs = estimates.map(({ data }) => data?.cost ?? null);
  const total = costs.reduce((sum, cost) => (sum === null || cost === null ? null : sum + cost), 0);
  return (
    <p className="text-muted" aria-live="polite">
      {t("images.estimate")}{" "}
      <strong className="font-medium text-ink">
        {total === null ? t("images.priceUnknown") : dollars(total)}
      </strong>
      {shown.length > 1 &&
        ` (${shown.map(({ model }, at) => `${model}: ${costs[at] === null ? t("images.priceUnknown") : dollars(costs[at] ?? null)}`).join(", ")})`}
    </p>
  );
}
