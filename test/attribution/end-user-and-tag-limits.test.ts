/** Limits and budgets of each end user and of each tag of a project. */
import { expect, test } from "bun:test";
import { line, resultLines, uploadLines } from "../batches/lines.ts";
import { closeAfterAll } from "../clean-up.ts";
import { arrange, clientOf } from "../conformance/arrange.ts";
import { adminToken, asOperator } from "../events/webhooks-fixture.ts";
import { testKey } from "../harness.ts";
import { until } from "../until.ts";

const key = "sk-shop-0123456789abcdef";
const other = "sk-shop-two-0123456789abcdef";

/** An image of dall-e-3 costs four cents. */
const yaml = (url: string): string => `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${url}", apiKey: sk-fake }
models:
  - { id: dall-e-3, kind: image, targets: [{ upstream: fake, model: dall-e-3 }] }
  - { id: vectors, kind: embedding, cache: false, targets: [{ upstream: fake, model: text-embedding-3-small }] }
projects:
  - name: shop
    limits: { requestsPerMinute: 100000 }
    perEndUser: { limits: { requestsPerMinute: 5 }, budget: { day: 0.08 } }
    perTag:
      "customer:*": { limits: { tokensPerMinute: 40 }, budget: { month: 0.2 } }
      "customer:large": { limits: { tokensPerMinute: 4000 } }
      "slow": { limits: { concurrent: 1 } }
keys:
  - { name: test, key: ${testKey} }
  - { name: one, key: ${key}, project: shop }
  - { name: two, key: ${other}, project: shop }
`;

const setup = arrange({
  yaml,
  settings: { VEXEL_BATCH_WAIT_MS: "0", VEXEL_ADMIN_TOKEN: adminToken },
});
const { gateway, fake } = setup;
closeAfterAll(setup);

interface Sent {
  readonly user?: string;
  readonly tags?: string;
  readonly key?: string;
}

const headersOf = ({ tags, key: secret = key }: Sent): Record<string, string> => ({
  authorization: `Bearer ${secret}`,
  ...(tags !== undefined && { "vexel-tags": tags }),
});

const embed = (sent: Sent): Promise<Response> =>
  gateway.post(
    "/v1/embeddings",
    { model: "vectors", input: "a text", ...(sent.user !== undefined && { user: sent.user }) },
    headersOf(sent),
  );

const generate = (sent: Sent, more: object = {}): Promise<Response> =>
  gateway.post(
    "/v1/images/generations",
    {
      model: "dall-e-3",
      prompt: "an otter",
      ...(sent.user !== undefined && { user: sent.user }),
      ...more,
    },
    headersOf(sent),
  );

const statuses = async (count: number, send: () => Promise<Response>): Promise<number[]> => {
  const responses = await Promise.all(Array.from({ length: count }, send));
  return responses.map(({ status }) => status).sort();
};

interface ErrorBody {
  readonly error: { readonly message: string; readonly code: string; readonly type: string };
}

test("each end user of a project has its own rate limit, over all keys of the project", async () => {
  const served = await statuses(8, () => embed({ user: "rate" }));
  expect(served).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
  const response = await embed({ user: "rate", key: other });
  expect(response.status).toBe(429);
  const { error } = (await response.json()) as ErrorBody;
  expect(error).toMatchObject({ type: "requests", code: "rate_limit_exceeded" });
  expect(error.message).toMatch(
    /^Rate limit reached for vectors for the end user "eu_[0-9a-f]{24}" in the project "shop" on requests per min \(RPM\): Limit 5, Used 5, Requested 1\./,
  );
  expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(response.headers.get("x-ratelimit-limit-requests")).toBe("5");
  expect(response.headers.get("x-ratelimit-remaining-requests")).toBe("0");
  expect((await embed({ user: "someone else" })).status).toBe(200);
  expect((await embed({})).headers.get("x-ratelimit-limit-requests")).toBe("100000");
  // A key without the project has no such limits.
  expect(await statuses(8, () => embed({ user: "rate", key: testKey }))).not.toContain(429);
});

test("each tag that matches a pattern has its own limit, and the entry of a tag itself comes first", async () => {
  const limited = await embed({ tags: "customer:acme,other" });
  expect(limited.headers.get("x-ratelimit-limit-tokens")).toBe("40");
  const large = await embed({ tags: "customer:large" });
  expect(large.headers.get("x-ratelimit-limit-tokens")).toBe("4000");
  const responses = await Promise.all(
    Array.from({ length: 60 }, () => embed({ tags: "customer:acme" })),
  );
  const refused = responses.find(({ status }) => status === 429);
  expect(responses.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
  const { error } = (await refused!.json()) as ErrorBody;
  expect(error.type).toBe("tokens");
  expect(error.message).toContain('for the tag "customer:acme" in the project "shop" on tokens');
  expect((await embed({ tags: "customer:globex" })).status).toBe(200);
});

test("a concurrency limit of a tag makes its requests wait, and those of other tags not", async () => {
  fake.clear();
  // Until its client disconnects.
  fake.script({ delayMs: 60_000 });
  const ended = new AbortController();
  const first = fetch(`${gateway.baseURL}/embeddings`, {
    method: "POST",
    headers: { ...headersOf({ tags: "slow" }), "content-type": "application/json" },
    body: JSON.stringify({ model: "vectors", input: "a text" }),
    signal: ended.signal,
  }).catch(() => "disconnected");
  await fake.arrived(1);
  const second = embed({ tags: "slow" });
  expect((await embed({ tags: "fast" })).status).toBe(200);
  expect(fake.requests).toHaveLength(2);
  ended.abort();
  expect(await first).toBe("disconnected");
  expect((await second).status).toBe(200);
  expect(fake.requests).toHaveLength(3);
});

test("each end user has its own budget, which concurrent requests do not exceed", async () => {
  const served = await statuses(4, () => generate({ user: "buyer" }));
  expect(served).toEqual([200, 200, 429, 429]);
  const response = await generate({ user: "buyer", key: other });
  const { error } = (await response.json()) as ErrorBody;
  expect(error).toMatchObject({
    type: "insufficient_quota",
    budget: { scope: "end_user", project: "shop", period: "day", limit: 0.08, spent: 0.08 },
  });
  expect(error.message).toMatch(
    /the daily budget of the end user "eu_[0-9a-f]{24}" in the project "shop" is \$0\.08; \$0\.08 is spent/,
  );
  expect((await generate({ user: "another buyer" })).status).toBe(200);
  const row = gateway.rows().find(({ budgets, cost }) => budgets !== null && cost !== null);
  expect(row?.budgets).toBe(`end_user=${row?.endUser}`);
});

test("a tag has a budget over all end users", async () => {
  const users = Array.from({ length: 8 }, (_, at) => `user ${at}`);
  const responses = await Promise.all(
    users.map((user) => generate({ user, tags: "customer:initech" })),
  );
  expect(responses.map(({ status }) => status).sort()).toEqual([
    200, 200, 200, 200, 200, 429, 429, 429,
  ]);
  const refused = responses.find(({ status }) => status === 429);
  const { error } = (await refused!.json()) as ErrorBody;
  expect(error.message).toContain(
    'the monthly budget of the tag "customer:initech" in the project',
  );
});

test("image jobs do not exceed the budget of the end user of their submission", async () => {
  interface Answer {
    readonly id: string;
    readonly status: string;
    readonly error?: { readonly code: string };
  }
  const outcomes = Array.from({ length: 4 }, async () => {
    const submitted = await generate({ user: "job buyer" }, { async: true });
    let answer = (await submitted.json()) as Answer;
    // The budget of an end user is reserved when the job runs: a submission that is accepted may be refused later.
    if (submitted.status !== 202) return answer.error?.code;
    const { id } = answer;
    await until(async () => {
      const response = await fetch(`${gateway.baseURL}/images/jobs/${id}`, {
        headers: headersOf({}),
      });
      answer = (await response.json()) as Answer;
      return ["completed", "failed"].includes(answer.status);
    });
    return answer.error?.code ?? answer.status;
  });
  expect((await Promise.all(outcomes)).sort()).toEqual([
    "completed",
    "completed",
    "insufficient_quota",
    "insufficient_quota",
  ]);
});

test("the lines of a batch are charged to the end users that they name", async () => {
  const client = clientOf(gateway, { apiKey: key });
  const body = { model: "dall-e-3", prompt: "an otter" };
  const lines = ["a", "a", "a", "b"].map((user, at) =>
    line(`${user} ${at}`, "/v1/images/generations", { ...body, user: `line ${user}` }),
  );
  const { id } = await client.batches.create({
    input_file_id: await uploadLines(client, lines.join("")),
    endpoint: "/v1/images/generations" as "/v1/embeddings",
    completion_window: "24h",
  });
  await until(async () => (await client.batches.retrieve(id)).status === "completed");
  const { output_file_id, error_file_id } = await client.batches.retrieve(id);
  expect(await resultLines(client, output_file_id ?? "")).toHaveLength(3);
  const refused = await resultLines(client, error_file_id ?? "");
  expect(refused.map(({ custom_id }) => custom_id)).toEqual(["a 2"]);
  expect(JSON.stringify(refused)).toContain("daily budget of the end user");
});

test("the admin API shows the limits and the budget of an end user and of a tag", async () => {
  await generate({ user: "shown", tags: "customer:shown" });
  const list = async (path: string) => {
    const response = await asOperator(gateway.url, `/admin/api${path}`);
    return { status: response.status, body: (await response.json()) as { data: object[] } };
  };
  const user = await list("/budgets?project=shop&end_user=shown");
  expect(user.body.data).toEqual([
    expect.objectContaining({ scope: "end_user", project: "shop", limit: 0.08, spent: 0.04 }),
  ]);
  expect(user.body.data[0]).toMatchObject({ name: expect.stringMatching(/^eu_/), left: 0.04 });
  const tag = await list("/budgets?project=shop&tag=customer:shown");
  expect(tag.body.data).toMatchObject([{ scope: "tag", id: "customer:shown", spent: 0.04 }]);
  const limits = await list("/limits?project=shop&end_user=shown");
  expect(limits.body.data).toMatchObject([{ scope: "end_user", rate: "requests", limit: 5 }]);
  expect((await list("/limits?project=shop&tag=customer:unused")).body.data).toMatchObject([
    { scope: "tag", name: "customer:unused", rate: "tokens", limit: 40, left: 40, used: 0 },
  ]);
  expect((await list("/budgets?project=shop&tag=other")).body.data).toEqual([]);
  expect((await list("/budgets?project=none&tag=customer:shown")).body.data).toEqual([]);
  expect((await list("/budgets?tag=customer:shown")).status).toBe(400);
});
