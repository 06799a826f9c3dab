/** Accessibility findings of a page by axe-core: only findings that it rates serious or critical. */
import type { Page } from "playwright-core";

const axePath = Bun.resolveSync("axe-core/axe.min.js", import.meta.dir);

interface Finding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** The rules about colors. The others have the same result in every theme. */
export const colorRules = ["color-contrast", "link-in-text-block"];

/** `rules`: all of axe, unless some are named. */
export async function seriousFindings(page: Page, rules?: readonly string[]): Promise<string[]> {
  // Evaluated by the debugger: the content security policy of the console forbids a script element.
  if (!(await page.evaluate<boolean>(`"axe" in window`)))
    await page.evaluate(await Bun.file(axePath).text());
  const options = { resultTypes: ["violations"], ...(rules && { runOnly: rules }) };
  const violations = await page.evaluate<readonly Finding[]>(
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations)`,
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) =>
      nodes.map(
        ({ html, failureSummary = "" }) => `${id}: ${html.slice(0, 300)}\n${failureSummary}`,
      ),
    );
}
