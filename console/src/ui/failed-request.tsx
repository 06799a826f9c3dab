/** Why a request failed, with a link to its record. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { RequestFailure } from "../api/client.ts";
import { useT } from "../i18n/messages.ts";

interface FailedRequestProps {
  readonly failure: RequestFailure;
  /** What failed, such as the model. */
  readonly children?: ReactNode;
}

export function FailedRequest({ failure: { reason, requestId }, children }: FailedRequestProps) {
  const t = useT();
  return (
    <div role="alert" className="flex flex-col gap-1 rounded-md bg-bad-soft p-3 text-bad">
      {children}
      <p className="wrap-anywhere">{reason}</p>
      {requestId !== null && (
        <Link to="/requests/$id" params={{ id: requestId }} className="self-start underline">
          {t("playground.openRequest")}
        </Link>
      )}
    </div>
  );
}
