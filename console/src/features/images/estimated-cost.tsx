/** What a click would cost, for each model and together. */
import { useQueries } from "@tanstack/react-query";
import { useDeferredValue } from "react";
import type { ImageEstimate, ImageEstimateRequest } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { type Translate, useT } from "../../i18n/messages.ts";
import { dollars } from "../../lib/format.ts";

/** An estimate is a maximum. */
const upTo = (cost: number, t: Translate): string =>
  cost === 0 ? dollars(cost) : t("cost.upTo", { cost: dollars(cost) });

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
  const refusals = estimates.flatMap(({ data }, at) =>
    data?.refusal ? [{ model: shown[at]?.model, reason: data.refusal }] : [],
  );
  const accepted = estimates.flatMap(({ data }, at) =>
    data?.refusal ? [] : [{ model: shown[at]?.model, cost: data?.cost ?? null }],
  );
  const price = (cost: number | null): string =>
    cost === null ? t("images.priceUnknown") : upTo(cost, t);
  const total = accepted.reduce<number | null>(
    (sum, { cost }) => (sum === null || cost === null ? null : sum + cost),
    0,
  );
  return (
    <div aria-live="polite">
      {accepted.length > 0 && (
        <p className="text-muted">
          {t("images.estimate")} <strong className="font-medium text-ink">{price(total)}</strong>
          {shown.length > 1 &&
            ` (${accepted.map(({ model = "", cost }) => t("text.pair", { name: model, value: price(cost) })).join(", ")})`}
        </p>
      )}
      {refusals.map(({ model, reason }) => (
        <p key={model} className="text-bad">
          {t("images.refusal", { model: model ?? "", reason })}
        </p>
      ))}
    </div>
  );
}
