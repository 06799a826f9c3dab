/**
 * Every recipe of docs/recipes.md does what its text says: the gateway runs as a process with the file as printed, and
 * with the environment variables that it names. Only the addresses of vendors and of other machines are replaced. The
 * vendors are fakes; PostgreSQL and Redis are real.
 */
import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import OpenAI from "openai";
import { closeAfterEach } from "../clean-up.ts";
import { startFake } from "../fake-upstream.ts";
import { type GatewayProcess, startProcess, temporaryFolder } from "../harness.ts";
import { vexel } from "../process/process-fixture.ts";
import { testWith } from "../programs.ts";
import { sharedPostgres } from "../storage/postgres-server.ts";
import { startRedis } from "../storage/redis-server.ts";
import { until } from "../until.ts";
import { blocksOf } from "./markdown.ts";
import { filledIn, isSettings } from "./sample-script.ts";

const page = "docs/recipes.md";
const openaiKey = "sk-fake-openai-0123456789";
const azureKey = "fake-azure-key-0123456789";
const azureAddress = "https://ours.openai.azure.com";
const tested = new Set<string>();
const closing = closeAfterEach();

/** Declares the test of the recipe under this heading. */
function recipe(heading: string, run: (yaml: string) => Promise<void>, declare = test): void {
  tested.add(heading);
  declare(
    heading,
    async () => {
      const [block] = blocksOf(page).filter(
        ({ under, info }) => under === heading && info === "yaml",
      );
      if (!block) throw new Error(`${page} has no recipe "${heading}"`);
      await run(block.text);
    },
    60_000,
  );
}

/** Fails if the recipe no longer has the text. */
function replaceIn(yaml: string, printed: string, actual: string): string {
  if (!yaml.includes(printed)) throw new Error(`the recipe has no "${printed}"`);
  return yaml.replaceAll(printed, actual);
}

const withFakeOpenai = (yaml: string, url: string): string =>
  replaceIn(yaml, "kind: openai,", `kind: openai, baseUrl: "${url}",`);

function startOpenai() {
  const fake = startFake({ key: openaiKey });
  closing(fake);
  return fake;
}

interface ServerOptions {
  /** The path before `/embeddings`. */
  readonly path: string;
  /** The API key that the header `api-key` must have. */
  readonly key?: string;
  /** The names of its models, and the OpenAI models that respond for them. */
  readonly models: Readonly<Record<string, object>>;
}

/** Another server with OpenAI's requests and responses under its own paths, credentials and model names. */
function startServer({ path, key, models }: ServerOptions) {
  const fake = startOpenai();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const url = new URL(request.url);
      if (!url.pathname.startsWith(`${path}/`)) return new Response(null, { status: 404 });
      if (key !== undefined && request.headers.get("api-key") !== key)
        return new Response(null, { status: 401 });
      const body = (await request.json()) as { readonly model: string };
      const actual = models[body.model];
      if (!actual) return new Response(null, { status: 404 });
      return fetch(`${fake.url}${url.pathname.slice(path.length)}`, {
        method: "POST",
        headers: { authorization: `Bearer ${openaiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ ...body, ...actual }),
      });
    },
  });
  closing(server);
  return { url: `http://127.0.0.1:${server.port}`, requests: fake.requests };
}

const startAzure = (models: ServerOptions["models"]) =>
  startServer({ path: "/openai/v1", key: azureKey, models });

const sameNames = {
  "text-embedding-3-small": { model: "text-embedding-3-small" },
  "gpt-image-2": { model: "gpt-image-2" },
};

const vendorKeys = { OPENAI_API_KEY: openaiKey, AZURE_KEY: azureKey };
const keyOf = (name: string): string => `sk-${name.toLowerCase()}-0123456789abcdef`;

/** A gateway in a new folder. Each variable that the file names has a value. */
async function startGateway(
  yaml: string,
  env: Readonly<Record<string, string>> = {},
): Promise<GatewayProcess> {
  const folder = temporaryFolder();
  const names = [...yaml.matchAll(/\$\{(\w+)\}/g)].map(([, name = ""]) => name);
  const keys = Object.fromEntries(names.map((name) => [name, keyOf(name)]));
  const gateway = await startProcess({
    folder: folder.path,
    yaml,
    env: { ...keys, ...vendorKeys, ...env },
  });
  closing(folder, gateway);
  return gateway;
}

const clientOf = ({ url }: GatewayProcess, apiKey: string): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });

/** The status of the response, and the code of an error. */
async function outcomeOf(request: Promise<unknown>): Promise<string> {
  try {
    await request;
    return "200";
  } catch (error) {
    if (!(error instanceof OpenAI.APIError)) throw error;
    return [error.status, error.code].filter(Boolean).join(" ");
  }
}

const embed = (client: OpenAI, model: string, user?: string): Promise<string> =>
  outcomeOf(client.embeddings.create({ model, input: "a red boat", ...(user && { user }) }));

describe("docs/recipes.md:", () => {
  recipe("A key with limits and a budget", async (yaml) => {
    const gateway = await startGateway(withFakeOpenai(yaml, startOpenai().url));
    const client = clientOf(gateway, keyOf("SHOP_KEY"));
    const draw = (n: number, quality: "low" | "high") =>
      outcomeOf(client.images.generate({ model: "gpt-image-2", prompt: "a boat", n, quality }));
    expect(await embed(client, "all-minilm-l6-v2")).toStartWith("404");
    // Ten images of high quality cost 2.11 dollars.
    expect(await draw(10, "high")).toStartWith("429 insufficient_quota");
    expect(await draw(10, "low")).toBe("200");
    expect(await draw(10, "low")).toBe("200");
    expect(await draw(10, "low")).toStartWith("429 rate_limit_exceeded");
    const outcomes = await Promise.all(
      Array.from({ length: 120 }, () => embed(client, "text-embedding-3-small")),
    );
    expect(outcomes).toContain("200");
    expect(outcomes).toContain("429 rate_limit_exceeded");
  });

  recipe("Two upstreams with failover", async (yaml) => {
    const openai = startOpenai();
    const azure = startAzure(sameNames);
    const gateway = await startGateway(
      withFakeOpenai(replaceIn(yaml, azureAddress, azure.url), openai.url),
    );
    const client = clientOf(gateway, keyOf("APP_KEY"));
    const draw = () =>
      outcomeOf(client.images.generate({ model: "images", prompt: "a boat", quality: "low" }));
    expect([await embed(client, "search"), await draw()]).toEqual(["200", "200"]);
    expect([openai.requests.length, azure.requests.length]).toEqual([2, 0]);
    openai.close();
    expect([await embed(client, "search"), await draw()]).toEqual(["200", "200"]);
    expect(azure.requests.length).toBe(2);
  });

  recipe("Azure", async (yaml) => {
    const azure = startAzure({
      "our-embeddings": { model: "text-embedding-3-small" },
      "gpt-image-2": { model: "gpt-image-2" },
    });
    const gateway = await startGateway(replaceIn(yaml, azureAddress, azure.url));
    const client = clientOf(gateway, keyOf("APP_KEY"));
    const { data } = await client.embeddings.create({
      model: "text-embedding-3-small",
      input: "a red boat",
    });
    expect(data[0]?.embedding).toHaveLength(1536);
    const image = await client.images.generate({ model: "gpt-image-2", prompt: "a boat" });
    expect(image.data?.[0]?.b64_json).toBeString();
  });

  recipe("A self-hosted server", async (yaml) => {
    const server = startServer({
      path: "/v1",
      models: { "BAAI/bge-m3": { model: "text-embedding-3-small", dimensions: 1024 } },
    });
    const gateway = await startGateway(replaceIn(yaml, "http://gpu-box:8000", server.url));
    const client = clientOf(gateway, keyOf("APP_KEY"));
    const { data } = await client.embeddings.create({ model: "search", input: "a red boat" });
    expect(data[0]?.embedding).toHaveLength(1024);
  });

  recipe("Teams", async (yaml) => {
    const gateway = await startGateway(withFakeOpenai(yaml, startOpenai().url));
    const [web, index, research] = ["SHOP_WEB_KEY", "SHOP_INDEX_KEY", "RESEARCH_KEY"].map((name) =>
      clientOf(gateway, keyOf(name)),
    ) as [OpenAI, OpenAI, OpenAI];
    const ten = { model: "images", prompt: "a boat", n: 10, quality: "high", user: "eve" } as const;
    // 2.11 dollars: more than an end user may spend in a day.
    expect(await outcomeOf(web.images.generate(ten))).toStartWith("429 insufficient_quota");
    expect(await embed(research, "images")).toStartWith("404");
    // Both keys of the project, for one end user.
    const outcomes = await Promise.all(
      Array.from({ length: 60 }, (_, at) => embed(at % 2 === 0 ? web : index, "search", "ada")),
    );
    expect(outcomes).toContain("200");
    expect(outcomes).toContain("429 rate_limit_exceeded");
    expect(await embed(web, "search", "bob")).toBe("200");
    expect(await embed(research, "search", "ada")).toBe("200");
  });

  recipe(
    "Production with PostgreSQL and Redis",
    async (yaml) => {
      const openai = startOpenai();
      const redis = await startRedis();
      closing({ close: () => redis.stop() });
      const databaseUrl = await (await sharedPostgres()).createDatabase();
      const [block] = blocksOf(page).filter(isSettings);
      const settings = Object.fromEntries(
        filledIn(block?.text ?? "")
          .trim()
          .split("\n")
          .map((line) => line.replace(/\s+#.*$/, "").split("="))
          .map(([name = "", ...value]) => [name, value.join("=").replaceAll("'", "")]),
      );
      expect(Object.keys(settings)).toContain("VEXEL_SECRET");
      const env = {
        ...settings,
        ...vendorKeys,
        DATABASE_URL: replaceIn(
          settings.DATABASE_URL ?? "",
          "postgres://vexel:password@db.internal/vexel?sslmode=verify-full",
          databaseUrl,
        ),
        REDIS_URL: replaceIn(
          settings.REDIS_URL ?? "",
          "rediss://vexel:password@redis.internal:6379/0",
          redis.url,
        ),
      };
      const text = withFakeOpenai(yaml, openai.url);
      const first = await startGateway(text, env);
      const second = await startGateway(text, env);
      const data = join(first.folder, "cli");
      mkdirSync(data);
      const created = await vexel(["keys", "create", "--name", "web", "--project", "web"], {
        cwd: first.folder,
        env: { ...env, VEXEL_DATA: data },
      });
      const [key] = /sk-vx-[\w-]+/.exec(`${created.out}${created.err}`) ?? [""];
      const clients = [first, second].map((gateway) => clientOf(gateway, key)) as [OpenAI, OpenAI];
      for (const client of clients)
        await until(async () => (await embed(client, "search")) === "200");
      // One allowance of 60 requests for both: without Redis, each would admit 60.
      const began = performance.now();
      const outcomes = await Promise.all(
        Array.from({ length: 200 }, (_, at) => embed(clients[at % 2] as OpenAI, "search")),
      );
      const admitted = outcomes.filter((outcome) => outcome === "200").length;
      const refilled = Math.ceil((performance.now() - began) / 1000);
      expect(admitted).toBeLessThanOrEqual(60 + refilled);
      expect(outcomes).toContain("429 rate_limit_exceeded");
      const metrics = { headers: { authorization: `Bearer ${settings.VEXEL_METRICS_TOKEN}` } };
      expect((await fetch(`${second.url}/metrics`, metrics)).status).toBe(200);
      const sql = new SQL({ url: databaseUrl, max: 1 });
      await until(async () => {
        const query = "SELECT count(*)::int AS rows FROM vexel.ledger WHERE status = 200";
        const [{ rows }] = (await sql.unsafe(query)) as [{ rows: number }];
        return rows >= admitted + 2;
      });
      await sql.close();
    },
    testWith("postgresql", "redis"),
  );

  test("every recipe has a test", () => {
    const headings = blocksOf(page)
      .filter(({ info }) => info === "yaml")
      .map(({ under }) => under);
    expect(headings).toEqual([...tested]);
  });
});
