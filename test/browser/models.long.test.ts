/** The code samples of a model in a browser. */
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { root } from "../harness.ts";
import { browserTest } from "./browser-test.ts";
import { testKey } from "./console-gateway.ts";

/** The code as it is printed on the page. */
async function sample(page: Page, language: string): Promise<string> {
  await page.getByRole("tab", { name: language }).click();
  return (await page.getByRole("region", { name: language }).locator("pre").textContent()) ?? "";
}

async function run(command: readonly string[]): Promise<string> {
  const child = Bun.spawn([...command], {
    cwd: root,
    env: { PATH: process.env.PATH ?? "", VEXEL_KEY: testKey },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")}: ${errors}`);
  return output;
}

browserTest(
  "the TypeScript and curl samples of a model work as they are printed",
  async ({ page, open, visit }) => {
    await open("/model/text-embedding-3-small");
    expect(await run([process.execPath, "-e", await sample(page, "TypeScript")])).toBe("1536\n");
    const response = JSON.parse(await run(["sh", "-c", `${await sample(page, "curl")} -s`]));
    expect(response.data[0].embedding).toHaveLength(1536);
    await visit("/model/vexel-sketch");
    expect(
      Number(await run([process.execPath, "-e", await sample(page, "TypeScript")])),
    ).toBeGreaterThan(1000);
  },
  { needed: ["curl"] },
);
