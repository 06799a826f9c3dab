/**
 * The console is on by default, so its packages must not be loaded at the start of a gateway whose console is never
 * opened.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { root } from "../harness.ts";

test("the start loads neither the framework of the admin API, nor the bundler of the console, nor OpenID Connect, nor the schemas of responses", async () => {
  const script = `await import(${JSON.stringify(join(root, "server/main.ts"))}); console.log(Object.keys(require.cache).join("\\n"));`;
  const child = Bun.spawn([process.execPath, "--no-install", "-e", script], { stdout: "pipe" });
  const loaded = (await new Response(child.stdout).text()).split("\n");
  const packages = new Set(
    loaded.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []),
  );
  // The list is not empty by mistake: it has a package that the start needs.
  expect([...packages]).toContain("zod");
  for (const name of ["hono", "tailwindcss", "openid-client", "react"]) {
    expect([...packages]).not.toContain(name);
  }
  // Only constants of the contract: the schemas of its responses are loaded with the admin API.
  const contract = loaded.flatMap((path) => /contract\/admin\/(\w+)\.ts$/.exec(path)?.[1] ?? []);
  expect(contract.sort()).toEqual(["constants", "roles"]);
});
