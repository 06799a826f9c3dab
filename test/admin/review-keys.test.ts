/** The keys that an operator looks at: not used for 90 days, or with an end within a week. */
import { afterAll, expect, test } from "bun:test";
import type { ApiKey, Page } from "../../contract/admin.ts";
import { generateKey } from "../../server/auth/generate-key.ts";
import { openKeyStore } from "../../server/storage/sqlite/gateway-database.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";
import { startEntityGateway } from "./entities-fixture.ts";

const day = 86_400_000;
const now = Date.now();
const inDays = (days: number): string => new Date(now + days * day).toISOString().slice(0, 10);
const gateway = await startEntityGateway({
  yaml: `keys:
  - { name: of-file, key: sk-file-0123456789abcdef, expires: ${inDays(3)} }
  - { name: of-file-later, key: sk-later-0123456789abcdef, expires: ${inDays(30)} }
`,
});
const keys = openKeyStore(gateway.folder, Date.now);
const ledger = new SqliteLedgerStore({ folder: gateway.folder, maxBytes: 0 });
afterAll(async () => {
  await ledger.close();
  await keys.close();
  await gateway.close();
});

const ageInDays: Readonly<Record<string, number>> = {
  "never used": 200,
  "used long ago": 200,
  "used last month": 200,
  new: 89,
  "unused and expiring": 200,
  expired: 200,
  revoked: 200,
};
const ends: Readonly<Record<string, number>> = { "unused and expiring": 6, expired: -1, new: 8 };
const ids = new Map<string, string>();
for (const [name, days] of Object.entries(ageInDays)) {
  const end = ends[name];
  const settings = end === undefined ? {} : { expiresAt: now + end * day };
  const { key } = generateKey(name, ["*"], settings, now - days * day);
  ids.set(name, key.id);
  await keys.create(key);
}
await keys.revoke(ids.get("revoked") ?? "", now);
await ledger.append([
  ledgerRow(now - 100 * day, { keyId: ids.get("used long ago")! }),
  ledgerRow(now - 31 * day, { keyId: ids.get("used last month")! }),
]);

const listed = async (query: string) => {
  const { json } = await gateway.call(`GET /keys?${query}`);
  return json as unknown as Page<ApiKey>;
};
const names = async (query: string) =>
  (await listed(query)).data.map(({ name }) => name).toSorted();

test("the list of unused keys has the active keys that were not used for 90 days, page by page", async () => {
  const unused = ["never used", "unused and expiring", "used long ago"];
  expect(await names("review=unused")).toEqual(unused);
  const found: string[] = [];
  for (let cursor = ""; ; ) {
    const page = await listed(`review=unused&limit=1${cursor && `&cursor=${cursor}`}`);
    found.push(...page.data.map(({ name }) => name));
    if (page.next_cursor === null) break;
    cursor = encodeURIComponent(page.next_cursor);
  }
  expect(found.toSorted()).toEqual(unused);
});

test("the list of expiring keys has those of the file and of the store that end within a week", async () => {
  expect(await names("review=expiring")).toEqual(["of-file", "unused and expiring"]);
  expect(await names("review=expiring&search=file")).toEqual(["of-file"]);
});
