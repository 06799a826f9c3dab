/** Response headers that name request fields which were not served as given: nothing is changed or left out in silence. */
import type { RequestRecord } from "../request/request-record.ts";

/** Proxies refuse responses with long headers, and a client chooses the names of the fields it sends. */
const maxBytes = 1024;

/** Adds to `headers`, and returns them. */
export function told(
  { parameters: { adapted, dropped }, images: { missing } }: RequestRecord,
  headers: Record<string, string>,
): Record<string, string> {
  if (adapted?.length) headers["vexel-adapted"] = listed(adapted);
  if (dropped?.length) headers["vexel-dropped"] = listed(dropped);
  if (missing) headers["vexel-missing"] = `${missing.count}; error=${missing.kind}`;
  return headers;
}

/** The names, as many as fit; then how many more there are. */
function listed(names: readonly string[]): string {
  let list = "";
  for (const [at, name] of names.entries()) {
    const longer = at === 0 ? name : `${list}, ${name}`;
    if (longer.length > maxBytes) {
      return at === 0
        ? `${names.length} ${names.length === 1 ? "field" : "fields"}`
        : `${list}, ... and ${names.length - at} more`;
    }
    list = longer;
  }
  return list;
}
