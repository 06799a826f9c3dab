/** Why a request failed, with a link to its record. */
import type { ReactNode } from "react";
import type { RequestFailure } from "../api/client.ts";
import { RequestLink } from "./request-link.tsx";

interface FailedRequestProps {
  readonly failure: RequestFailure;
  /** What failed, such as the model. */
  readonly children?: ReactNode;
}

export const FailedRequest = ({ failure: { reason, requestId }, children }: FailedRequestProps) => (
  <div role="alert" className="flex flex-col gap-1 rounded-md bg-bad-soft p-3 text-bad">
    {children}
    <p className="wrap-anywhere">{reason}</p>
    {requestId !== null && <RequestLink id={requestId} />}
  </div>
);
