/** `npm run audit` passes only if the registry responds and reports no severe vulnerability. */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");
let response = (): Response => Response.json({});
const registry = Bun.serve({
  port: 0,
  fetch: async (request) => {
    // npm waits until its request is read.
    await request.bytes();
    if (request.method === "POST") return response();
    // npm reads the versions of a package with an advisory, and of its dependents.
    const name = decodeURIComponent(new URL(request.url).pathname.slice(1));
    return Response.json({ name, versions: {} });
  },
});
afterAll(() => registry.stop(true));

async function audit(...options: string[]): Promise<{ exitCode: number; output: string }> {
  const process = Bun.spawn(["node", join(root, "bin/audit.mjs"), ...options], {
    env: {
      ...Bun.env,
      npm_config_registry: registry.url.href,
      npm_config_fetch_retries: "0",
    },
    stdout: "pipe",
    stderr: "ignore",
  });
  const output = await new Response(process.stdout).text();
  return { exitCode: await process.exited, output };
}

test("a registry that refuses the audit is a failure, unless --allow-offline is given", async () => {
  response = () => new Response("forbidden", { status: 403 });
  const refused = await audit();
  expect(refused).toMatchObject({ exitCode: 1 });
  expect(refused.output).toContain("NOT checked");
  const allowed = await audit("--allow-offline");
  expect(allowed).toMatchObject({ exitCode: 0 });
  expect(allowed.output).toContain("NOT checked");
});

test("packages without advisories pass, and a severe advisory fails", async () => {
  response = () => Response.json({});
  expect(await audit()).toMatchObject({
    exitCode: 0,
    output: "0 known vulnerabilities, 0 high or critical.\n",
  });
  const advisory = { id: 1, url: "https://example.com", title: "bad", severity: "high" };
  response = () => Response.json({ zod: [{ ...advisory, vulnerable_versions: "<99" }] });
  const severe = await audit("--allow-offline");
  expect(severe).toMatchObject({ exitCode: 1 });
  expect(severe.output).toContain("high: zod");
});
