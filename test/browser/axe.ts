/** Accessibility findings of a page by axe-core: only those that it rates serious or critical. */
import type { Page } from "playwright-core";

const axePath = Bun.resolveSync("axe-core/axe.min.js", import.meta.dir);

interface Finding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

export async function seriousFindings(page: Page): Promise<string[]> {
  // Evaluated by the debugger: the content security policy of the console forbids a script element.
  await page.evaluate(await Bun.file(axePath).text());
  const violations = await page.evaluate<readonly Finding[]>(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) =>
      nodes.map(
        ({ html, failureSummary = "" }) => `${id}: ${html.slice(0, 300)}\n${failureSummary}`,
      ),
    );
}
