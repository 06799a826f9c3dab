/** A process without file descriptors blames itself, and not the upstream that it cannot connect to. */
import { expect, test } from "bun:test";
import { configFor, startProcess, temporaryFolder, testKey } from "../harness.ts";

const vector = Array.from({ length: 1536 }, () => 0.02);

test("running out of file descriptors returns 503, and does not eject a healthy target", async () => {
  using folder = temporaryFolder();
  let isSlow = true;
  const upstream = Bun.serve({
    port: 0,
    idleTimeout: 30,
    fetch: async (request) => {
      const { input } = (await request.json()) as { input: string | string[] };
      if (isSlow) await Bun.sleep(1500);
      const data = [input]
        .flat()
        .map((_, index) => ({ object: "embedding", index, embedding: vector }));
      return Response.json({
        object: "list",
        data,
        model: "m",
        usage: { prompt_tokens: 1, total_tokens: 1 },
      });
    },
  });
  const gateway = await startProcess({
    folder: folder.path,
    yaml: configFor(upstream.url.origin),
    env: { VEXEL_MAX_CONNECTIONS: "1000", VEXEL_BATCH_WAIT_MS: "0" },
    openFiles: 120,
  });
  const send = async (input: string) => {
    const response = await fetch(`${gateway.url}/v1/embeddings`, {
      method: "POST",
      headers: { authorization: `Bearer ${testKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "text-embedding-3-small", input }),
    });
    const body = (await response.json()) as { error?: { code: string; message: string } };
    return { status: response.status, retryAfter: response.headers.get("retry-after"), body };
  };
  try {
    // Two descriptors for each, and the process has 120 in all. Connections that it cannot accept wait.
    const responses = await Promise.all(Array.from({ length: 70 }, (_, at) => send(`text ${at}`)));
    const refused = responses.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThan(0);
    for (const { status, retryAfter, body } of refused) {
      expect([status, body.error?.code]).toEqual([503, "server_is_overloaded"]);
      expect(Number(retryAfter)).toBeGreaterThan(0);
    }
    expect(refused.some(({ body }) => body.error?.message.includes("file descriptor"))).toBe(true);
    expect(gateway.output()).toContain("no file descriptor for an upstream connection (EMFILE)");
    expect(gateway.output()).not.toContain("target-ejected");
    isSlow = false;
    expect((await send("afterwards")).status).toBe(200);
  } finally {
    gateway.kill("SIGKILL");
    await gateway.exited;
    await upstream.stop(true);
  }
});
