/** Why a target was selected, as the page of the request explains it: from the router's own decision. */
import { afterEach, expect, test } from "bun:test";
import { selectionReason } from "../../console/src/features/requests/selection-reason.ts";
import { en } from "../../console/src/i18n/en.ts";
import { translator } from "../../console/src/i18n/messages.ts";
import { showRequestDetail } from "../../server/admin/reads/show-request.ts";
import { policies } from "../../server/routing/policies.ts";
import { selectTarget } from "../../server/routing/select-target.ts";
import { startFake } from "../fake-upstream.ts";
import { expectVectors } from "../faults/faults-fixture.ts";
import { configFor, startGateway, type TestGateway, testKey } from "../harness.ts";
import { among, candidateNamed, contextAt, eject, rateLimit } from "./routing-fixture.ts";

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

const always = { times: Number.POSITIVE_INFINITY };

/** Four upstreams. `hasTiers`: the last of them is in tier 1. */
function arrange(policy: string, { hasTiers = true, hasPrices = true } = {}) {
  const fakes = Array.from({ length: 4 }, () => startFake());
  const targets = fakes.map((_, at) => {
    const tier = hasTiers && at === 3 ? ", tier: 1" : "";
    const price = hasPrices ? `, price: { input: ${at === 3 ? 0.001 : at + 1} }` : "";
    return `{ upstream: u${at}, model: text-embedding-3-small${tier}${price} }`;
  });
  const upstreams = fakes.map(
    ({ url }, at) =>
      `  - { id: u${at}, kind: ${hasPrices ? "openai" : "vllm"}, baseUrl: "${url}", apiKey: sk-fake }`,
  );
  const gateway = startGateway({
    yaml: `
upstreams:
${upstreams.join("\n")}
models:
  - { id: vectors, kind: embedding, policy: ${policy}, targets: [${targets.join(", ")}] }
keys: [{ name: test, key: ${testKey} }]
`,
  });
  open.push(...fakes.map((fake) => () => fake.close()), () => gateway.close());
  return { gateway, fakes };
}

async function explain(gateway: TestGateway) {
  await expectVectors(
    await gateway.post("/v1/embeddings", { model: "vectors", input: ["a", "b"] }),
  );
  const request = showRequestDetail(gateway.rows().at(-1)!, null, {
    contentExpiresAt: undefined,
    isAdministrator: true,
  });
  const reasons = request.timeline.map(({ selection }) =>
    selectionReason(selection, translator(en, "en")),
  );
  return {
    request,
    reasons,
    reason: reasons.at(-1),
    selection: request.timeline.at(-1)?.selection,
  };
}

const reasons: Readonly<Record<keyof typeof policies, (count: number) => string>> = {
  p2c: (count) =>
    `Power of two choices: of two targets picked at random from ${count}, this one was not clearly busier.`,
  weighted: (count) => `Picked at random by weight from ${count} targets.`,
  cost: (count) => `Lowest known price of ${count} targets. Load decides between equal prices.`,
  sticky: (count) => `Sticky: requests with this key go to this one of ${count} targets.`,
};

for (const policy of Object.keys(policies) as (keyof typeof policies)[]) {
  test(`with tiers, the policy ${policy} is said to have compared the targets of one tier`, async () => {
    const { gateway } = arrange(policy);
    const { request, reason, selection } = await explain(gateway);
    expect(selection).toMatchObject({ by: policy, candidates: 3, tier: 0, is_later_tier: false });
    expect(["u0", "u1", "u2"]).toContain(request.upstream ?? "");
    expect(reason).toBe(`${reasons[policy](3)} Tier 0.`);
  });

  test(`without tiers, the policy ${policy} is said to have compared all targets`, async () => {
    const { gateway } = arrange(policy, { hasTiers: false });
    const { request, reason, selection } = await explain(gateway);
    expect(selection).toMatchObject({ by: policy, candidates: 4, tier: null });
    expect(reason).toBe(reasons[policy](4));
    if (policy === "cost") expect(request.upstream).toBe("u3");
  });

  test(`the only target of the next tier is not said to be selected by ${policy}`, async () => {
    const { gateway, fakes } = arrange(policy);
    const first = fakes.slice(0, 3);
    for (const fake of first) fake.script({ fail: "rate-limit", retryAfter: 60 }, always);
    while (first.some(({ requests }) => requests.length === 0)) await explain(gateway);
    const { request, reason } = await explain(gateway);
    expect(request).toMatchObject({ upstream: "u3", attempts: 1 });
    expect(reason).toBe(
      "This was the only available target in tier 1: no target in an earlier tier was available.",
    );
    expect(request.steps).toHaveLength(3);
    for (const { text } of request.steps) expect(text).toEndWith("its rate limit was reached.");
  });
}

test("targets without a known price are not said to be the cheapest", async () => {
  const { gateway } = arrange("cost", { hasPrices: false });
  const { reason, selection } = await explain(gateway);
  expect(selection).toMatchObject({ by: "p2c", candidates: 3, tier: 0 });
  expect(reason).toBe(`${reasons.p2c(3)} Tier 0.`);
});

test("a probe, and a target that is used although none is healthy, are not said to be the policy's choice", () => {
  const [dead, cooling] = [candidateNamed("dead"), candidateNamed("cooling")];
  eject(dead, 0);
  rateLimit(cooling, 0);
  const selection = among([dead, cooling]);
  expect(selectTarget(selection, contextAt(500))).toMatchObject({
    candidate: cooling,
    by: "unhealthy",
  });
  expect(selectTarget(selection, contextAt(60_000))).toMatchObject({
    candidate: dead,
    by: "probe",
  });
});

test("after a failover to another tier, each attempt is explained, with the error before it", async () => {
  const { gateway, fakes } = arrange("p2c");
  for (const fake of fakes.slice(0, 3)) fake.script({ fail: "server-error" }, always);
  const { request, reasons: sentences } = await explain(gateway);
  expect(request).toMatchObject({ upstream: "u3", status: 200 });
  const targets = request.timeline.map(({ target }) => target);
  expect(sentences).toEqual([
    `${reasons.p2c(3)} Tier 0.`,
    ...targets.slice(0, -2).map((target) => `${failedAt(target)} Tier 0.`),
    `${failedAt(targets.at(-2)!)} Tier 1: no target in an earlier tier was available.`,
  ]);
  expect(request.timeline[0]?.upstream_message).not.toBeNull();
});

const failedAt = (target: string): string => `Failover: ${target} failed (upstream_error).`;

test("an attempt at the only target is said to be a retry of it", async () => {
  const fake = startFake();
  const gateway = startGateway({ yaml: configFor(fake.url) });
  open.push(
    () => fake.close(),
    () => gateway.close(),
  );
  fake.script({ fail: "server-error" });
  const body = { model: "text-embedding-3-small", input: ["a", "b"] };
  await expectVectors(await gateway.post("/v1/embeddings", body));
  const { timeline } = showRequestDetail(gateway.rows().at(-1)!, null, {
    contentExpiresAt: undefined,
    isAdministrator: false,
  });
  expect(timeline.map(({ selection }) => selection?.by)).toEqual(["only", "retry"]);
  expect(timeline[0]?.upstream_message).toBeNull();
});

test("after a failed probe of a lower tier, the target that served is not said to be the probe", async () => {
  const { gateway, fakes } = arrange("p2c");
  for (const fake of fakes.slice(0, 3)) fake.script({ fail: "server-error" }, always);
  // Enough requests to eject the targets of tier 0; the probes of later requests fail.
  const reasons = [];
  for (let at = 0; at < 12; at++) reasons.push(await explain(gateway));
  for (const { request, reason } of reasons) {
    expect(request.upstream).toBe("u3");
    expect(reason).toMatch(/tier 1: no target in an earlier tier was available/i);
    expect(reason).not.toContain("whether it has recovered");
  }
});
