/** Every page of the console: accessible in both themes, and as wide as a phone. */
import { expect } from "bun:test";
import { type BrowserTest, browserTest } from "./browser-test.ts";
import { sendBatch, sendRequests } from "./console-gateway.ts";
import { findingsOf, phone } from "./page-findings.ts";
import { publicPages, signedInPages } from "./router-pages.ts";

/** Opens the pages one after the other, and reports the findings of all of them. */
async function expectNoFindings(test: BrowserTest, paths: readonly string[]): Promise<void> {
  const findings: string[] = [];
  for (const path of paths) findings.push(...(await findingsOf(test, path)));
  expect(findings).toEqual([]);
}

const promise =
  "axe finds nothing serious in the light and the dark theme, and nothing scrolls sideways on a phone";

/** Several tests, so that none of them takes long on a slow machine. */
const groups = 6;
let pages: Promise<readonly string[]> | undefined;
for (let group = 0; group < groups; group++) {
  browserTest(`on every page ${promise} (${group + 1} of ${groups})`, async (test) => {
    pages ??= Promise.all([sendRequests(test), sendBatch(test)]).then(([request, job]) =>
      signedInPages(request, job),
    );
    const paths = (await pages).filter((_, at) => at % groups === group);
    expect(paths.length).toBeGreaterThan(0);
    await expectNoFindings(test, paths);
  });
}

browserTest(
  `on the pages before the sign-in ${promise}`,
  (test) => expectNoFindings(test, publicPages),
  { as: "visitor" },
);

for (const [path, as] of [
  ["/sign-in", "visitor"],
  ["/", "admin"],
] as const) {
  browserTest(
    `the first load of ${path} is at most 200 KB, compressed`,
    async ({ page, open }) => {
      await open(path);
      const bytes = await page.evaluate<number>(
        `performance.getEntriesByType("resource").filter(({ name }) => name.includes("/console/")).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`,
      );
      expect(bytes).toBeGreaterThan(100_000);
      expect(bytes).toBeLessThanOrEqual(200 * 1024);
    },
    { as },
  );
}

browserTest("a very long model id is wrapped on every page that shows it", async (test) => {
  const { page, open, visit, admin } = test;
  const id = `${"x".repeat(180)}/${"y".repeat(19)}`;
  const targets = [{ upstream: "fake", model: "text-embedding-3-small" }];
  await admin("POST", "/models", { id, kind: "embedding", targets });
  await page.setViewportSize(phone);
  await open("/");
  for (const path of [
    `/model/${id}`,
    "/models",
    `/playground/embeddings?model=${encodeURIComponent(id)}`,
  ]) {
    await visit(path);
    const shown = page.getByText(id, { exact: true }).first();
    await shown.waitFor();
    const { x = 0, width = 0 } = (await shown.boundingBox()) ?? {};
    expect([path, x + width <= phone.width]).toEqual([path, true]);
  }
  await admin("DELETE", `/models/${encodeURIComponent(id)}`);
});
