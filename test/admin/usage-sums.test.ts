/** The usage that an operator bills by, against SQL over the ledger: requests that a real gateway served and refused. */
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { RequestPage, UsagePage, UsageRow } from "../../contract/admin.ts";
import { refusedKinds } from "../../contract/errors.ts";
import { asOperator } from "../events/webhooks-fixture.ts";
import { until } from "../until.ts";
import { startReads } from "./reads-fixture.ts";

const metricsToken = "token-of-the-metrics";
const setup = startReads({ settings: { VEXEL_METRICS_TOKEN: metricsToken } });
const { gateway, fake, admin } = setup;
afterAll(() => setup.close());

const count = 24;
const tags = ["", "env:prod", "env:prod,team:a", "team:b", ""];

async function send(at: number): Promise<void> {
  const body = at % 6 === 5 ? { model: "no-such-model" } : { model: "vectors" };
  const user = at % 4 === 0 ? { user: `user-${at % 8}` } : {};
  await gateway.post(
    "/v1/embeddings",
    { ...body, ...user, input: "many words ".repeat(20 + at) },
    {
      authorization: `Bearer sk-${["beta", "none"][at % 2]}-0123456789abcdef`,
      ...(tags[at % tags.length] && { "vexel-tags": tags[at % tags.length]! }),
    },
  );
}

beforeAll(async () => {
  for (let at = 0; at < count; at++) {
    // One failure of the upstream, which is not retried with success.
    if (at === 6) fake.script({ fail: "server-error" }, { times: 20 });
    await send(at);
    if (at === 6) fake.clear();
  }
  await until(
    async () =>
      (await admin<UsagePage>("/usage?interval=total")).data.reduce(
        (sum, row) => sum + row.requests,
        0,
      ) === count,
  );
});

const isRefused = `attempts = 0 AND error IN (${refusedKinds.map((kind) => `'${kind}'`).join(", ")})`;

function truth(where: string) {
  using db = new Database(join(gateway.folder, "ledger.db"), { readonly: true });
  return db
    .query(
      `SELECT count(*) AS requests, count(error) AS errors, coalesce(sum(${isRefused}), 0) AS refused,
         round(coalesce(sum(cost), 0) + coalesce(sum(estimated_cost), 0), 9) AS charged
       FROM ledger WHERE ${where}`,
    )
    .get() as Pick<UsageRow, "requests" | "errors" | "refused" | "charged">;
}

const sumsOf = ({ requests, errors, refused, charged }: UsageRow) => ({
  requests,
  errors,
  refused,
  charged: Math.round(charged * 1e9) / 1e9,
});

const rowsBy = async (query: string) =>
  (await admin<UsagePage>(`/usage?interval=total&${query}`)).data;

test("requests, refused and failed ones, and costs of all requests are those of the ledger", async () => {
  const [total] = await rowsBy("");
  expect(sumsOf(total!)).toEqual(truth("1"));
  expect(total!.refused).toBe(4);
  expect(total!.errors).toBe(5);
  expect(total!.charged).toBeGreaterThan(0);
});

test("by tag and by end user, each row and the rest is that of the ledger, also of one project", async () => {
  for (const [filter, where] of [
    ["", "1"],
    ["&project=beta", "project = 'beta'"],
  ] as const) {
    const byTag = await rowsBy(`group_by=tag${filter}`);
    expect(byTag.map(({ group }) => group.tag).sort()).toEqual(
      ["env:prod", "team:a", "team:b", null].sort(),
    );
    for (const row of byTag) {
      const { tag } = row.group;
      const has = tag === null ? "tags IS NULL" : `',' || tags || ',' LIKE '%,${tag},%'`;
      expect(sumsOf(row)).toEqual(truth(`${where} AND ${has}`));
    }
    const byEndUser = await rowsBy(`group_by=end_user${filter}`);
    for (const row of byEndUser) {
      const name = row.group.end_user;
      expect(sumsOf(row)).toEqual(
        truth(`${where} AND ${name === null ? "end_user IS NULL" : `end_user = '${name}'`}`),
      );
    }
    expect(byEndUser.some(({ group }) => group.end_user === null)).toBe(true);
    expect(byEndUser.reduce((sum, { requests }) => sum + requests, 0)).toBe(truth(where).requests);
  }
});

test("the CSV and the metrics have the refused requests, and the list finds them", async () => {
  const { refused, errors } = truth("1");
  const csv = await (
    await asOperator(gateway.url, "/admin/api/usage.csv?interval=total&group_by=tag")
  ).text();
  const [head = "", ...lines] = csv.trim().split("\r\n");
  const at = head.split(",").indexOf("refused");
  const untagged = lines.find((line) => line.split(",")[1] === "");
  expect(Number(untagged?.split(",")[at])).toBe(truth("tags IS NULL").refused);
  const found = async (status: string) =>
    (await admin<RequestPage>(`/requests?status=${status}`)).data;
  expect((await found("refused")).map(({ error }) => error)).toEqual(
    new Array(refused).fill("model_not_found"),
  );
  expect(await found("failed")).toHaveLength(errors - refused);
  expect(await found("error")).toHaveLength(errors);
  const metrics = await (
    await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } })
  ).text();
  expect(metrics).toContain(
    `vexel_refused_requests_total{endpoint="embeddings",model="",error="model_not_found"} ${refused}`,
  );
});
