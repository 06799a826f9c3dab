/** LiteLLM's master key, which authenticates clients, too. */
import { secretHash } from "../../../server/lib/secret-hash.ts";
import type { FoundLoss } from "../losses.ts";
import { importedKeyId, type PlannedKey, type Secret } from "../plan.ts";
import type { Report } from "../report.ts";
import { secretOf } from "./plan-upstream.ts";

const shortestSafeKey = 16;

/** `resolve` returns undefined if the variable is not set. */
export function planMasterKey(
  given: unknown,
  resolve: (secret: Secret) => string | undefined,
  { models, ofSite }: { readonly models: readonly string[]; readonly ofSite: readonly FoundLoss[] },
  report: Report,
  now: number,
): PlannedKey | undefined {
  if (typeof given !== "string" || given === "") return undefined;
  const about = report.about("general_settings.master_key");
  const secret = secretOf(given);
  const text = resolve(secret);
  if (text === undefined) {
    about.dropped("", `set ${secret.variable} during the import to keep it as an API key`);
    return undefined;
  }
  if (models.length === 0) {
    about.refused("no model is imported");
    return undefined;
  }
  if (!about.lost(ofSite)) return undefined;
  about.approximated(
    "",
    "an API key for all imported models; it is no credential of Vexel's admin API, and --sync does not follow it",
  );
  const isShort = text.length < shortestSafeKey;
  if (isShort)
    about.approximated(
      "master_key",
      `imported, but it has fewer than ${shortestSafeKey} characters and can be guessed: replace it`,
    );
  const hash = secretHash(text);
  const hint = isShort ? "****" : `${text.slice(0, 3)}...${text.slice(-4)}`;
  return {
    id: importedKeyId(hash),
    name: "litellm master key",
    hash,
    hint,
    models,
    createdAt: now,
  };
}
