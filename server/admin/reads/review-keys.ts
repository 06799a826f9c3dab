/** Lists of API keys to look at: those that were not used for 90 days, and those that expire soon. */
import type { ApiKey, KeyReview } from "../../../contract/admin.ts";
import { dayMs } from "../../lib/timers.ts";
import type { LedgerQueries } from "../../storage/ports/ledger-queries.ts";
import { type KeyStore, keyCursor } from "../../storage/sql/key-store.ts";
import type { StoredPage } from "../../storage/sql/page.ts";
import type { KeySearch, StoredKey } from "../../storage/sql/stored-key.ts";

const unusedDays = 90;
/** More than the active keys of a gateway: one query for all keys is cheaper than one for each. */
const maxUsedKeys = 100_000;
/** The keys of one request. A list that has more continues on the next page, which may be the first with a key. */
const [keysOfStep, maxSteps] = [200, 50];

/** Whether a key is in the list. A key of the file has no creation time: it may be new. */
export async function reviewer(
  review: KeyReview,
  queries: Pick<LedgerQueries, "usage">,
  at: number,
): Promise<(key: Pick<ApiKey, "id" | "state" | "created_at">) => boolean> {
  if (review === "expiring") return ({ state }) => state === "expiring";
  const from = at - unusedDays * dayMs;
  const { groups } = await queries.usage({
    from,
    to: at,
    interval: "total",
    groupBy: ["keyId"],
    limit: maxUsedKeys,
  });
  const used = new Set(groups.map(({ keyId }) => keyId));
  return ({ id, state, created_at }) =>
    (state === "active" || state === "expiring") &&
    created_at !== null &&
    Date.parse(created_at) < from &&
    !used.has(id);
}

/** The next page of the stored keys that are in the list. */
export async function searchReviewed(
  keys: Pick<KeyStore, "search">,
  search: KeySearch,
  isListed: (key: StoredKey) => boolean,
): Promise<StoredPage<StoredKey>> {
  const entries: StoredKey[] = [];
  let { cursor } = search;
  for (let step = 0; step < maxSteps; step++) {
    const page = await keys.search({ ...search, cursor, limit: keysOfStep });
    for (const [at, key] of page.entries.entries()) {
      if (!isListed(key)) continue;
      entries.push(key);
      const isLast = page.next === undefined && at === page.entries.length - 1;
      if (entries.length === search.limit && !isLast) return { entries, next: keyCursor(key) };
    }
    if (page.next === undefined) return { entries };
    cursor = page.next;
  }
  return { entries, ...(cursor !== undefined && { next: cursor }) };
}
