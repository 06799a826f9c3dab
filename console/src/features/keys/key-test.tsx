/** Sends a request with a new key as an application would, and shows the result. */
import { useMutation } from "@tanstack/react-query";
import type { ShownModel } from "../../../../contract/admin.ts";
import { failureOf, readError } from "../../api/client.ts";
import { requestIdOf } from "../../api/request-cost.ts";
import { useT } from "../../i18n/messages.ts";
import { milliseconds } from "../../lib/format.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { FailedRequest } from "../../ui/failed-request.tsx";
import { RequestLink } from "../../ui/request-link.tsx";
import { baseUrl } from "../models/sample-request.ts";

interface KeyTestProps {
  readonly apiKey: string;
  readonly model: ShownModel;
}

interface TestedKey {
  readonly status: number;
  readonly durationMs: number;
  readonly requestId: string;
  /** Of an embedding. */
  readonly dimensions: number | undefined;
}

export function KeyTest({ apiKey, model }: KeyTestProps) {
  const t = useT();
  const test = useMutation({ mutationFn: () => sendTest(apiKey, model) });
  return (
    <div className="flex flex-col gap-2 border-t border-line pt-4">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Button look="primary" onClick={() => test.mutate()} disabled={test.isPending}>
          {t("keys.test")}
        </Button>
        <p className="min-w-0 flex-1 text-xs text-muted">
          {t(model.kind === "embedding" ? "keys.test.embedding" : "keys.test.image", {
            model: model.id,
          })}
        </p>
      </div>
      {test.data && <Tested result={test.data} />}
      {test.error && <FailedRequest failure={failureOf(test.error)} />}
    </div>
  );
}

function Tested({ result: { status, durationMs, requestId, dimensions } }: { result: TestedKey }) {
  const t = useT();
  return (
    <p role="status" className="flex flex-wrap items-center gap-2">
      <Badge tone="good">{status}</Badge>
      {dimensions === undefined ? t("keys.test.works") : t("keys.test.vector", { dimensions })}
      <span className="text-muted tabular-nums">{milliseconds(durationMs)}</span>
      {dimensions !== undefined && <RequestLink id={requestId} />}
    </p>
  );
}

/** An embedding, or, because an image would cost more, the description of an image model. */
async function sendTest(apiKey: string, { id, kind }: ShownModel): Promise<TestedKey> {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const startedAt = performance.now();
  const response =
    kind === "embedding"
      ? await fetch(`${baseUrl()}/embeddings`, {
          method: "POST",
          headers,
          body: JSON.stringify({ model: id, input: "a red boat" }),
        })
      : await fetch(`${baseUrl()}/models/${encodeURIComponent(id)}`, { headers });
  if (!response.ok) throw await readError(response);
  const body = (await response.json()) as {
    readonly data?: readonly { readonly embedding: readonly number[] }[];
  };
  return {
    status: response.status,
    durationMs: performance.now() - startedAt,
    requestId: requestIdOf(response),
    dimensions: body.data?.[0]?.embedding.length,
  };
}
