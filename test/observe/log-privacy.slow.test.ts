/**
 * Privacy: log lines, metrics and spans have names, counts and times; never a request's content, and never a secret.
 */

import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { createLog, type Level } from "../../server/lib/log.ts";
import { startFake } from "../fake-upstream.ts";
import { readLedger, startGateway, startProcess, temporaryFolder } from "../harness.ts";
import { png } from "../http/gateway-fixture.ts";
import { until } from "../until.ts";
import { startCollector } from "./otlp-collector.ts";

const fake = startFake({ key: "sk-upstream-SECRET-1f2e3d4c5b" });
afterAll(() => fake.close());

/** Texts that are recognizable wherever they appear. */
const marks = {
  key: "sk-client-SECRET-0123456789abcdef",
  modelKey: "sk-model-SECRET-0123456789abcdef",
  wrongKey: "sk-wrong-SECRET-0123456789abcdef",
  upstreamKey: "sk-upstream-SECRET-1f2e3d4c5b",
  wrongUpstreamKey: "sk-upstream-SECRET-wrong-1f2e3d",
  header: "token-SECRET-9a8b7c6d",
  text: "TEXT-SECRET-of-the-client",
  prompt: "PROMPT-SECRET of the client",
  field: "FIELD-SECRET-of-the-client",
  user: "USER-SECRET-of-the-client",
  filename: "FILE-SECRET-of-the-client.png",
  image: Buffer.from(png).toString("base64").slice(20, 60),
} as const;

const yaml = `
upstreams:
  - { id: good, kind: openai, baseUrl: "${fake.url}", apiKey: ${marks.upstreamKey}, headers: { x-token: ${marks.header} } }
  - { id: locked-out, kind: openai, baseUrl: "${fake.url}", apiKey: ${marks.wrongUpstreamKey} }
  - { id: nowhere, kind: openai, baseUrl: "http://127.0.0.1:9/v1", apiKey: ${marks.upstreamKey} }
models:
  - { id: vectors, kind: embedding, targets: [{ upstream: good, model: text-embedding-3-small }] }
  - { id: locked-out, kind: embedding, targets: [{ upstream: locked-out, model: text-embedding-3-small }] }
  - { id: nowhere, kind: embedding, targets: [{ upstream: nowhere, model: text-embedding-3-small }] }
  - { id: image-model, kind: image, targets: [{ upstream: good, model: gpt-image-2 }] }
keys:
  - { name: client, key: ${marks.key} }
`;

describe.each(["json", "text"] as const)("the log as %s, at level debug", (format) => {
  test("has no key, input, prompt, vector or image, nor have metrics and spans", async () => {
    using folder = temporaryFolder();
    const collector = startCollector();
    const metricsToken = "metrics-SECRET-0123456789";
    const gateway = await startProcess({
      folder: folder.path,
      yaml,
      env: {
        VEXEL_LOG_LEVEL: "debug",
        VEXEL_LOG_FORMAT: format,
        VEXEL_METRICS_TOKEN: metricsToken,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_TRACES_SAMPLER: "always_on",
      },
    });
    const send = async (path: string, body: unknown, authorization = `Bearer ${marks.key}`) => {
      const response = await gateway.post(path, body, { authorization });
      return { status: response.status, text: await response.text() };
    };
    const embed = (more: object) =>
      send("/v1/embeddings", { model: "vectors", input: marks.text, user: marks.user, ...more });
    const generate = (more: object) =>
      send("/v1/images/generations", {
        model: "image-model",
        prompt: marks.prompt,
        user: marks.user,
        ...more,
      });
    const edit = async (file: Blob) => {
      const form = new FormData();
      form.append("model", "image-model");
      form.append("prompt", marks.prompt);
      form.append("image", file, marks.filename);
      const response = await fetch(`${gateway.url}/v1/images/edits`, {
        method: "POST",
        headers: { authorization: `Bearer ${marks.key}` },
        body: form,
      });
      return { status: response.status, text: await response.text() };
    };

    const vectors = await embed({});
    const statuses = [
      vectors.status,
      (await embed({ dimensions: 4, encoding_format: "base64" })).status,
      (await embed({ [marks.field]: marks.field })).status,
      (await embed({ input: [marks.text, ""] })).status,
      (await embed({ dimensions: marks.text })).status,
      (await embed({ model: "unknown" })).status,
      (await embed({ model: marks.modelKey })).status,
      (await generate({ model: marks.prompt })).status,
      (await send(`/v1/engines/${marks.modelKey}/embeddings`, { input: marks.text })).status,
      (await embed({ model: "locked-out" })).status,
      (await embed({ model: "nowhere" })).status,
      (await send("/v1/embeddings", `{"input": "${marks.text}`)).status,
      (await send("/v1/embeddings", {}, `Bearer ${marks.wrongKey}`)).status,
      (await generate({})).status,
      (await generate({ prompt: `forbidden ${marks.prompt}` })).status,
      (await generate({ stream: true, partial_images: 1 })).status,
      (await generate({ size: marks.prompt })).status,
      (await edit(new Blob([png]))).status,
      (await edit(new Blob([marks.text]))).status,
    ];
    fake.script({ vectors: "nan-literal" });
    statuses.push((await embed({})).status);
    fake.script({ body: "html" });
    statuses.push((await embed({})).status);
    fake.script({ reset: "mid-body" });
    statuses.push((await generate({})).status);
    fake.script({ fail: "server-error" });
    statuses.push((await generate({})).status);
    expect(statuses).toEqual([
      200, 200, 400, 400, 400, 404, 404, 404, 404, 502, 502, 400, 401, 200, 400, 200, 400, 200, 400,
      502, 502, 502, 502,
    ]);
    const metricsHeaders = { authorization: `Bearer ${metricsToken}` };
    const scraped = await fetch(`${gateway.url}/metrics`, { headers: metricsHeaders });
    const metrics = await scraped.text();
    expect(metrics).toContain('model="vectors"');
    expect(metrics).not.toContain("SECRET");
    gateway.kill("SIGTERM");
    expect(await gateway.exited).toBe(0);
    // The shutdown exports the last spans.
    expect(collector.spans.filter(({ kind }) => kind === 2)).toHaveLength(statuses.length);
    expect(collector.text()).not.toContain("SECRET");
    await collector.close();

    const log = gateway.output();
    for (const [name, mark] of Object.entries(marks))
      expect(log.includes(mark) && name).toBe(false);
    expect(log).not.toContain("SECRET");
    const stored = JSON.stringify(readLedger(join(folder.path, "data")));
    expect(stored).toContain("model_not_found");
    expect(stored).not.toContain("SECRET");
    const vector = JSON.parse(vectors.text).data[0].embedding as number[];
    for (const number of vector.slice(0, 20)) expect(log).not.toContain(String(number));
    // The scrape has a line, too.
    expect(log.split(/event":"request"|\d request /).length - 1).toBe(statuses.length + 1);
  });
});

describe("the request log line", () => {
  const gather = (format: "json" | "text", level: Level | "silent" = "debug") => {
    let text = "";
    const log = createLog({
      level,
      format,
      now: () => new Date("2026-01-02T03:04:05Z"),
      write: (more) => {
        text += more;
      },
    });
    return {
      log,
      lines: () => {
        log.flush();
        return text.split("\n").slice(0, -1);
      },
    };
  };

  test("names a configured model, also if the key may not use it", async () => {
    const gateway = startGateway({
      yaml: `${yaml}  - { name: narrow, key: sk-narrow-0123456789abcdef, models: [image-model] }\n`,
    });
    const embedWith = async (model: string) => {
      const headers = { authorization: "Bearer sk-narrow-0123456789abcdef" };
      const response = await gateway.post("/v1/embeddings", { model, input: "a" }, headers);
      return response.status;
    };
    expect([await embedWith("vectors"), await embedWith("vectros")]).toEqual([404, 404]);
    const reported = gateway
      .log()
      .split("\n")
      .filter((line) => line.includes('"event":"request"'));
    expect(reported.map((line) => JSON.parse(line).model)).toEqual(["vectors", "(unknown)"]);
    expect(gateway.rows().map(({ model }) => model)).toEqual(["vectors", null]);
    await gateway.close();
  });

  test("hides unknown model names and escapes control characters", async () => {
    using folder = temporaryFolder();
    const gateway = await startProcess({
      folder: folder.path,
      yaml,
      env: { VEXEL_LOG_FORMAT: "text" },
    });
    const nasty = [
      "\u001b[2J\u001b]0;owned\u0007",
      "\u009b31mred",
      "two\nlines",
      "one\r\u001b[Kline",
      "\u202egnp.exe",
      "\u2028",
      "\0\b\u007f",
      'quote" fake=1',
      "a b=c",
      "x".repeat(5_000),
    ];
    for (const model of nasty) {
      const headers = { authorization: `Bearer ${marks.key}` };
      const response = await gateway.post("/v1/embeddings", { model, input: "a" }, headers);
      expect(response.status).toBe(404);
      await response.text();
    }
    gateway.kill("SIGTERM");
    await gateway.exited;
    const log = gateway.output();
    const lines = log.split("\n").filter((line) => line.includes(" request status="));
    expect(lines).toHaveLength(nasty.length);
    for (const line of lines) {
      expect(line).toMatch(/^\d\d:\d\d:\d\d request status=404 endpoint=embeddings model=/);
      expect(line).toMatch(/^[\x20-\x7e]+$/);
      expect(line.length).toBeLessThan(600);
      expect(line.match(/ requestId=req_[0-9a-f]{32}$/)).not.toBeNull();
    }
  });

  test("is an object with time, level and event in the JSON format", () => {
    const { log, lines } = gather("json");
    const nasty = '\u001b[2J\u009b31m\u202e\u2028\n\r\0\ud800"\\';
    log.debug("one");
    log.info("two", { model: nasty, status: 200, absent: undefined, nothing: null });
    log.warn("three", { [nasty]: nasty });
    log.error("four");
    expect(lines()).toHaveLength(4);
    for (const line of lines()) {
      expect(line).toMatch(/^[\x20-\x7e]+$/);
      expect(JSON.parse(line)).toMatchObject({
        time: "2026-01-02T03:04:05.000Z",
        level: expect.any(String),
        event: expect.any(String),
      });
    }
    expect(JSON.parse(lines()[1]!)).toEqual({
      time: "2026-01-02T03:04:05.000Z",
      level: "info",
      event: "two",
      model: nasty,
      status: 200,
      nothing: null,
    });
  });

  test.each<[Level | "silent", string[]]>([
    ["debug", ["a", "b", "c", "d"]],
    ["info", ["b", "c", "d"]],
    ["warn", ["c", "d"]],
    ["error", ["d"]],
    ["silent", []],
  ])("at level %s nothing less important is written", (level, events) => {
    const { log, lines } = gather("json", level);
    log.debug("a");
    log.info("b");
    log.warn("c");
    log.error("d");
    expect(lines().map((line) => JSON.parse(line).event)).toEqual(events);
  });

  test("is written at once from level warn on, and buffered briefly below", async () => {
    let text = "";
    const write = (more: string) => {
      text += more;
    };
    const log = createLog({ level: "debug", format: "json", now: () => new Date(), write });
    log.info("calm");
    expect(text).toBe("");
    await until(() => text.includes("calm"));
    log.error("trouble");
    expect(text).toContain("trouble");
  });

  test("is neither lost nor interleaved when there are many", () => {
    const { log, lines } = gather("json");
    for (let at = 0; at < 20_000; at++) log.info("many", { at });
    expect(lines().map((line) => JSON.parse(line).at)).toEqual(
      Array.from({ length: 20_000 }, (_, at) => at),
    );
  });
});
