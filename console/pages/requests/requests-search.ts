/** The filters are in the address, so that a search can be shared as a link. */
export interface RequestsSearch {
  readonly model?: string;
  readonly key?: string;
  readonly status?: "ok" | "error";
  readonly error?: string;
}

export const readRequestsSearch = (search: Record<string, unknown>): RequestsSearch => ({
  ...(typeof search.model === "string" && { model: search.model }),
  ...(typeof search.key === "string" && { key: search.key }),
  ...((search.status === "ok" || search.status === "error") && { status: search.status }),
  ...(typeof search.error === "string" && { error: search.error }),
});
