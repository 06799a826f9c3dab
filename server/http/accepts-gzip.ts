/** Whether a client accepts gzip, by its header `accept-encoding`. `gzip;q=0` refuses it. */
import { commaList } from "../lib/comma-list.ts";

export const acceptsGzip = (header: string | null): boolean =>
  commaList(header ?? "").some((each) => /^gzip\s*(?:;(?!\s*q=0(?:\.0*)?$)|$)/i.test(each));
