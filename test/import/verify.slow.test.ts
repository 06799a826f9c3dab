/** `vexel import --verify`: the other gateway itself says whether a key would be wider, without a paid request. */
import { afterAll, beforeEach, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { secretHash } from "../../server/lib/secret-hash.ts";
import { startFake } from "../fake-upstream.ts";
import { type GatewayProcess, startProcess, temporaryFolder } from "../harness.ts";
import { type Ended, vexel } from "../process/process-fixture.ts";
import { until } from "../until.ts";
import { litellmExport } from "./litellm-export.ts";

const fake = startFake();
const folder = temporaryFolder();
const masterKey = "sk-master-0123456789";
const [first, second] = ["sk-first-key-0123456789", "sk-second-key-012345678"];

/** The answers of the other gateway, which a test changes. */
const other = {
  refuses: [] as string[],
  blocked: false,
  hidesList: false,
  models: [] as string[],
  length: 1536,
  paidRequests: 0,
  status: 200,
};
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => {
    const { pathname } = new URL(request.url);
    const key = request.headers.get("authorization")?.slice(7);
    if (other.status !== 200) return new Response("down", { status: other.status });
    if (pathname === "/key/info" && key === masterKey)
      return Response.json({ info: { blocked: other.blocked, models: other.models } });
    if (key !== first && key !== second) return new Response("{}", { status: 401 });
    if (pathname === "/v1/models" && other.hidesList) return new Response("{}", { status: 403 });
    if (pathname === "/v1/models")
      return Response.json({
        data: ["small", "art"].filter((id) => !other.refuses.includes(id)).map((id) => ({ id })),
      });
    const { model, input } = (await request.json()) as { model: string; input?: string };
    if (other.refuses.includes(model)) return new Response("{}", { status: 403 });
    if (input === undefined) return new Response("input is missing", { status: 400 });
    other.paidRequests += 1;
    const vector = Array.from({ length: other.length }, (_, at) => at + 1);
    return Response.json({ data: [{ embedding: vector }] });
  },
});
let gateway: GatewayProcess | undefined;
afterAll(async () => {
  server.stop(true);
  await gateway?.close();
  fake.close();
  folder[Symbol.dispose]();
});
beforeEach(() => {
  Object.assign(other, {
    refuses: [],
    blocked: false,
    hidesList: false,
    models: [],
    length: 1536,
    paidRequests: 0,
    status: 200,
  });
});

const config = `
model_list:
  - { model_name: small, litellm_params: { model: openai/text-embedding-3-small, api_base: "${fake.url}", api_key: sk-fake } }
  - { model_name: art, litellm_params: { model: openai/gpt-image-1, api_base: "${fake.url}", api_key: sk-fake } }
`;
const key = (name: string, text: string) => ({
  token: secretHash(text),
  key_alias: name,
  models: [],
});
const rows = litellmExport({ keys: [key("web", first), key("shop", second)] });
const file = (name: string, text: string): string => {
  const path = join(folder.path, name);
  writeFileSync(path, text);
  return path;
};
const keys = file("keys.txt", `${first}\n\n`);
const source = [
  "--config",
  file("config.yaml", config),
  "--export",
  file("rows.json", JSON.stringify(rows)),
];

const run = (args: readonly string[], env = {}): Promise<Ended> =>
  vexel(["import", "litellm", ...source, ...args], {
    cwd: folder.path,
    env: { VEXEL_DATA: join(folder.path, "data"), ...env },
  });
const verify = (args: readonly string[] = [], env = {}): Promise<Ended> =>
  run(["--verify", server.url.origin, "--keys", keys, ...args], {
    LITELLM_MASTER_KEY: masterKey,
    ...env,
  });

test("keys are tried without a paid request, others are read, and the price of the rest is shown", async () => {
  const { code, out } = await verify();
  expect(out).toBe(
    "1 key tried, 1 read, 0 not compared, 0 wider; vectors not compared: --paid sends 1 request to each gateway for about $0.00000048.\n",
  );
  expect(code).toBe(0);
  expect(other.paidRequests).toBe(0);
  const { out: unread } = await verify([], { LITELLM_MASTER_KEY: "" });
  expect(unread).toStartWith("1 key tried, 0 read, 1 not compared, 0 wider");
});

test("a key that may use less there is named, also with an image model, and the exit code is 1", async () => {
  other.refuses = ["art", "small"];
  other.blocked = true;
  const { code, out } = await verify();
  expect(code).toBe(1);
  expect(out).toContain('wider: key "web": it may not use small there');
  expect(out).toContain('wider: key "web": it may not use art there');
  expect(out).toContain('wider: key "shop": it is blocked, gone or refused there');
  expect(out).toContain("1 key tried, 1 read, 0 not compared, 3 wider");
});

test("a key that may not see the list of models is no wider key: its image models are not compared", async () => {
  other.hidesList = true;
  const { code, out } = await verify();
  expect(out).toStartWith("0 keys tried, 1 read, 1 not compared, 0 wider");
  expect(code).toBe(0);
});

test("a key that has lost models there since the export is named", async () => {
  other.models = ["art"];
  const { code, out } = await verify();
  expect(code).toBe(1);
  expect(out).toContain('wider: key "shop": it may not use small there');
});

test("with --paid the vectors of both gateways are compared", async () => {
  await run(["--apply"]);
  gateway = await startProcess({ folder: folder.path, yaml: "builtInModels: false\n" });
  const port = { PORT: new URL(gateway.url).port };
  const url = gateway.url;
  await until(
    async () =>
      (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${first}` } })).ok,
  );
  const different = await verify(["--paid"], port);
  expect(different.code).toBe(1);
  expect(different.out).toContain("other vectors: small");
  expect(different.out).toContain("vectors of 0 of 1 model equal");
  expect(other.paidRequests).toBe(1);
});

test("a given key that is not imported is counted, and an import without keys is refused", async () => {
  const strange = file("strange.txt", `${first}\nsk-of-another-gateway-0123`);
  const { out } = await run(["--verify", server.url.origin, "--keys", strange]);
  expect(out).toStartWith("1 key tried, 0 read, 1 not compared, 1 given and not imported, 0 wider");
  const blocked = [{ ...key("web", first), blocked: true }];
  const none = file("none.json", JSON.stringify(litellmExport({ keys: blocked })));
  const config = source.slice(0, 2);
  const args = [...config, "--export", none, "--verify", server.url.origin];
  const { code, err } = await vexel(["import", "litellm", ...args], { cwd: folder.path, env: {} });
  expect(code).toBe(2);
  expect(err).toContain("the import has no keys");
});

test("a gateway that does not answer, or an option that does not fit, is refused in one sentence", async () => {
  const down = await run(["--verify", "http://127.0.0.1:1", "--keys", keys]);
  expect(down).toMatchObject({ code: 2, out: "" });
  expect(down.err).toContain("http://127.0.0.1:1 cannot be asked");
  other.status = 500;
  expect((await verify()).out).toStartWith("0 keys tried, 0 read, 2 not compared, 0 wider");
  expect((await run(["--verify", "nonsense"])).err).toContain('not "nonsense"');
  expect((await run(["--keys", keys])).err).toContain("options of --verify");
  expect((await verify(["--apply"])).err).toContain("not both");
});
