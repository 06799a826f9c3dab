/** Tags and end users of requests: from the header and the body to the ledger, usage and filters. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { RequestPage, UsagePage } from "../../contract/admin.ts";
import { keys, startReads } from "../admin/reads-fixture.ts";
import { startGateway, testKey } from "../harness.ts";
import { until } from "../until.ts";

const setup = startReads();
const { gateway, fake, admin } = setup;
afterAll(() => setup.close());

const embed = (
  body: Readonly<Record<string, unknown>>,
  tags?: string,
  key: keyof typeof keys = "alpha",
): Promise<Response> =>
  gateway.post(
    "/v1/embeddings",
    { model: "vectors", input: "a text", ...body },
    { authorization: `Bearer ${keys[key]}`, ...(tags !== undefined && { "vexel-tags": tags }) },
  );

const email = "carol@customers.example";

beforeAll(async () => {
  await embed({ user: email }, "team:search, batch,batch");
  await embed({ metadata: { team: "search", env: "prod" } });
  await embed({ user: email, safety_identifier: "other-name" }, undefined, "beta");
  await embed({});
  await until(async () => (await admin<RequestPage>("/requests")).data.length === 4);
});

describe("the ledger", () => {
  test("has the tags of the header and of metadata, and the end user as a keyed hash", () => {
    const rows = gateway.rows();
    expect(rows.map(({ tags }) => tags)).toEqual([
      "team:search,batch",
      "team:search,env:prod",
      null,
      null,
    ]);
    const users = rows.map(({ endUser }) => endUser);
    expect(users[0]).toMatch(/^eu_[0-9a-f]{24}$/);
    expect(users.slice(1)).toEqual([null, expect.stringMatching(/^eu_/), null]);
    expect(users[2]).not.toBe(users[0]);
  });

  test("stores the name of an end user in no file, unless the operator chose so", async () => {
    const bytes = readdirSync(gateway.folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name)).toString("latin1"));
    expect(bytes.length).toBeGreaterThan(1);
    expect(bytes.filter((content) => content.includes(email))).toEqual([]);
    const plain = startReads({ settings: { VEXEL_END_USERS: "plain" } });
    await plain.embed("alpha", { user: email });
    await plain.embed("alpha", { user: "x".repeat(129) });
    const [first, second] = plain.gateway.rows();
    expect(first?.endUser).toBe(email);
    expect(second?.endUser).toStartWith("eu_");
    await plain.close();
  });

  test("gets the metadata, and the upstream does not", () => {
    const sent = fake.requests.map(({ json }) => json);
    expect(sent).toContainEqual(expect.objectContaining({ model: "text-embedding-3-small" }));
    expect(sent).not.toContainEqual(expect.objectContaining({ metadata: expect.anything() }));
  });

  test("gets the safety_identifier of embeddings, which OpenAI refuses, and the upstream does not", () => {
    expect(gateway.rows().map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const sent = JSON.stringify(fake.requests.map(({ json }) => json));
    expect(sent).not.toContain("safety_identifier");
  });
});

describe("the admin API", () => {
  test("lists the requests of a tag, and of an end user by its name or its hash", async () => {
    const tagged = await admin<RequestPage>("/requests?tag=team:search");
    expect(tagged.data.map(({ tags }) => tags)).toEqual([
      ["team:search", "env:prod"],
      ["team:search", "batch"],
    ]);
    const named = await admin<RequestPage>(`/requests?end_user=${encodeURIComponent(email)}`);
    expect(named.data).toHaveLength(1);
    const hash = named.data[0]!.end_user;
    const hashed = await admin<RequestPage>(`/requests?end_user=${hash}`);
    expect(hashed.data).toEqual(named.data);
  });

  test("sums usage by tag or by end user, and refuses both at once", async () => {
    const { data } = await admin<UsagePage>("/usage?interval=total&group_by=tag,project");
    expect(data.map(({ group, requests }) => [group.tag, group.project, requests])).toEqual([
      ["team:search", "alpha", 2],
      ["batch", "alpha", 1],
      ["env:prod", "alpha", 1],
      [null, "alpha", 1],
      [null, "beta", 1],
    ]);
    const users = await admin<UsagePage>("/usage?interval=total&group_by=end_user");
    expect(users.data.map(({ group, requests }) => [group.end_user === null, requests])).toEqual([
      [true, 2],
      [false, 1],
      [false, 1],
    ]);
    expect(await admin("/usage?group_by=tag&end_user=x").catch(String)).toContain(
      "one of tag, end user and status",
    );
  });
});

describe("a request is refused and names the header", () => {
  test.each([
    ["an empty tag", "a,,b"],
    ["too many tags", Array.from({ length: 11 }, (_, at) => `t${at}`).join(",")],
    ["a long tag", "x".repeat(101)],
    ["parentheses", "(other)"],
    ["quotes", "'; DROP TABLE ledger; --"],
    ["bytes that are not ASCII", "caf\u00e9"],
    ["a tab", "a\tb"],
  ])("for %s", async (_, header) => {
    const response = await embed({}, header);
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { message: string; param: string } };
    expect(error.param).toBe("vexel-tags");
    expect(error.message).toContain("up to 10 tags");
  });
});

describe("metadata never refuses a request: what cannot be a tag is left out and named", () => {
  const pairs = Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`t${at}`, "x"]));
  const tenTags = Array.from({ length: 10 }, (_, at) => `t${at}:x`).join(",");

  test.each([
    ["LiteLLM's list of tags", { tags: ["jobID:1", "nightly"] }, "jobID:1,nightly", null],
    ["a list with other values", { tags: ["ok", 1, "a,b"] }, "ok", "metadata.tags"],
    ["a number", { a: 1, team: "search" }, "team:search", "metadata.a"],
    ["a comma, which would make two tags", { a: "x,y" }, null, "metadata.a"],
    ["a value that is not ASCII", { team: "Gr\u00f6\u00dfe" }, null, "metadata.team"],
    ["a name that no header can have", { "Gr\u00f6\u00dfe\n": "x" }, null, "metadata"],
    ["more than ten pairs", pairs, tenTags, "metadata.t10"],
    ["a text", "team", null, "metadata"],
    ["a list", ["team"], null, "metadata"],
    ["null", null, null, null],
  ])("%s", async (_, metadata, tags, dropped) => {
    const response = await embed({ metadata });
    expect(response.status).toBe(200);
    expect(response.headers.get("vexel-dropped")).toBe(dropped);
    expect(gateway.rows().at(-1)?.tags).toBe(tags);
  });

  test("thousands of pairs are named in a short header", async () => {
    const many = Object.fromEntries(Array.from({ length: 4000 }, (_, at) => [`f${at}`, at]));
    const response = await embed({ metadata: many });
    expect(response.status).toBe(200);
    const names = (response.headers.get("vexel-dropped") ?? "").split(", ");
    expect(names).toHaveLength(21);
    expect(names.at(-1)).toBe("metadata");
  });

  test("the header names also the fields of the request that had no effect", async () => {
    const own = startGateway({
      yaml: `upstreams: [{ id: here, kind: sketch }]\nmodels: [{ id: sketch, kind: image, targets: [{ upstream: here, model: x }] }]\nkeys: [{ name: test, key: ${testKey} }]\n`,
    });
    const image = { model: "sketch", prompt: "x", size: "64x64", guidance: 3, metadata: { a: 1 } };
    const response = await own.post("/v1/images/generations", image);
    expect(response.status).toBe(200);
    expect(response.headers.get("vexel-dropped")).toBe("metadata.a, guidance");
    const streamed = await own.post("/v1/images/generations", { ...image, stream: true });
    expect(await streamed.text()).toContain("completed");
    expect(streamed.headers.get("vexel-dropped")).toStartWith("metadata.a");
    await own.close();
  });
});
