/**
 * Response headers that name request fields which were not served as given: nothing is changed or left out in silence.
 */
import type { RequestRecord } from "../request/request-record.ts";

/** Proxies refuse responses with long headers, and a client chooses the names of the fields it sends. */
const maxBytes = 1024;

/** Adds to `headers`, and returns them. */
export function addParameterHeaders(
  { parameters: { adapted, dropped }, images: { missing } }: RequestRecord,
  headers: Record<string, string>,
): Record<string, string> {
  if (adapted?.length) headers["vexel-adapted"] = listNames(adapted);
  if (dropped?.length) headers["vexel-dropped"] = listNames(dropped);
  if (missing) headers["vexel-missing"] = `${missing.count}; error=${missing.kind}`;
  return headers;
}

/** The names, as many as fit; then how many more there are. */
function listNames(names: readonly string[]): string {
  let list = "";
  for (const [at, name] of names.entries()) {
    const extended = at === 0 ? name : `${list}, ${name}`;
    if (extended.length > maxBytes) {
      return at === 0
        ? `${names.length} ${names.length === 1 ? "field" : "fields"}`
        : `${list}, ... and ${names.length - at} more`;
    }
    list = extended;
  }
  return list;
}
