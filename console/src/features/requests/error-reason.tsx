/** Why a request failed: what the client got, when the error occurs, and where its limit or budget is. */
import { Link } from "@tanstack/react-router";
import type { RequestDetail } from "../../../../contract/admin.ts";
import { type ErrorKind, errorTable } from "../../../../contract/errors.ts";
import { useT } from "../../i18n/messages.ts";
import { errorDescription } from "../../i18n/server-text.ts";
import { Card } from "../../ui/card.tsx";

export function ErrorReason({ request }: { request: RequestDetail }) {
  const t = useT();
  const { error, error_message, model, timeline } = request;
  // The upstream has no model of the name that the target gives: the requested model exists, and the key may use it.
  const isModelMissing = error === "model_not_found";
  const definition =
    isKnown(error) && !isModelMissing ? { kind: error, ...errorTable[error] } : undefined;
  const vendor = timeline.findLast(
    ({ upstream_status, upstream_message }) =>
      upstream_status !== null || upstream_message !== null,
  );
  return (
    <Card title={t("request.failed")}>
      <div className="flex flex-col gap-2 p-4">
        {error_message !== null && (
          <p className="rounded-md bg-bad-soft p-3 break-words text-bad">
            <span className="font-medium">{t("request.errorMessage")}</span> {error_message}
          </p>
        )}
        {isModelMissing && request.attempts === 0 && (
          <p>
            {model === null
              ? t("request.modelNotFound")
              : t("request.modelNotAllowed", {
                  key: request.key_name ?? request.key_id,
                  model,
                })}{" "}
            <Link to={model === null ? "/models" : "/keys"} className="text-accent underline">
              {t(model === null ? "nav.models" : "nav.keys")}
            </Link>
          </p>
        )}
        {definition && (
          <p>
            {errorDescription(definition.kind, definition.description)}{" "}
            {definition.status === 429 && definition.causedBy === "client" && (
              <Link to="/budgets" className="text-accent underline">
                {t("nav.budgets")}
              </Link>
            )}
          </p>
        )}
        {vendor && (
          <p className="break-words text-muted">
            {vendor.upstream_status === null
              ? t("request.noResponse", { target: vendor.target })
              : t("request.vendor", {
                  target: vendor.target,
                  response: `HTTP ${vendor.upstream_status} ${vendor.upstream_code ?? ""}`.trim(),
                })}
            {vendor.upstream_message !== null && ` ${vendor.upstream_message}`}
          </p>
        )}
      </div>
    </Card>
  );
}

const isKnown = (kind: string | null): kind is ErrorKind =>
  kind !== null && Object.hasOwn(errorTable, kind);
