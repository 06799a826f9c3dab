/** Seeds of the upstream requests of one image request: the same seed would generate the same image again. */
import type { ExtraFields } from "../upstream/contract.ts";

/**
 * The upper limit of seeds, by the range of the given seed: 31 bits, 32 bits, or JSON's integers. One less than the
 * range, because Stability stops at 4294967294 (tadasant/mcp-server-stability-ai, src/stabilityAi/sd35Client.ts).
 */
const seedLimits = [2 ** 31 - 1, 2 ** 32 - 1, Number.MAX_SAFE_INTEGER];

/**
 * `imagesBefore`: how many images earlier upstream requests were for. A request for several images uses as many
 * consecutive seeds. A negative seed means random (-1) and is kept.
 */
export function advanceSeed(extraFields: ExtraFields, imagesBefore: number): ExtraFields {
  const { seed } = extraFields;
  // Form fields are strings.
  const isText = typeof seed === "string" && /^\d{1,15}$/.test(seed);
  const first = isText ? Number(seed) : seed;
  if (
    imagesBefore === 0 ||
    typeof first !== "number" ||
    !Number.isSafeInteger(first) ||
    first < 0
  ) {
    return extraFields;
  }
  const end = seedLimits.find((last) => first <= last) ?? Number.MAX_SAFE_INTEGER;
  const next = (first + imagesBefore) % end;
  return { ...extraFields, seed: isText ? String(next) : next };
}
