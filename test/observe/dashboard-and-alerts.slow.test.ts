/** The dashboard, the alert rules and the documentation use the metrics that the gateway exposes, and no others. */
import { beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import dashboard from "../../deploy/grafana/vexel.json";
import { closeAfterAll } from "../clean-up.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, root, startGateway, temporaryFolder } from "../harness.ts";
import { codesIn, rowsOf, sectionOf } from "../laws/markdown.ts";
import { textOf } from "../laws/tree.ts";
import { testWith } from "../programs.ts";
import { promtoolErrors } from "./promtool.ts";

const token = "metrics-token-0123456789";
const fake = startFake();
const gateway = startGateway({
  yaml: configFor(fake.url),
  settings: { VEXEL_METRICS_TOKEN: token },
});
closeAfterAll(gateway, fake);

const page = "docs/observability.md";
const rulesPath = "deploy/helm/rules/vexel-alerts.yaml";
const { groups } = parse(textOf(rulesPath)) as {
  readonly groups: readonly { readonly rules: readonly { alert?: string; expr: string }[] }[];
};
const rules = groups.flatMap((group) => group.rules);
const alerts = rules.flatMap(({ alert }) => alert ?? []);
const expressions = dashboard.panels.flatMap((panel) =>
  "targets" in panel ? (panel.targets ?? []).map(({ expr }) => expr) : [],
);

let text = "";
/** The names of samples, by their family. */
let families: { readonly name: string; readonly type: string }[] = [];
beforeAll(async () => {
  await gateway.post("/v1/embeddings", { model: "text-embedding-3-small", input: "an otter" });
  const headers = { authorization: `Bearer ${token}` };
  text = await (await fetch(`${gateway.url}/metrics`, { headers })).text();
  families = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => ({
    name,
    type,
  }));
});

const unknownNames = (expression: string): string[] => {
  const known = new Set([
    // Prometheus itself writes this one.
    "up",
    ...families.flatMap(({ name, type }) =>
      type === "histogram" ? ["_bucket", "_sum", "_count"].map((suffix) => name + suffix) : [name],
    ),
  ]);
  const used = expression.match(/\b(?:vexel|process)_[a-z_]+\b|\bup\b/g) ?? [];
  return used.filter((name) => !known.has(name));
};

describe("metrics", () => {
  test("every metric of the dashboard and of the alert rules is one that the gateway exposes", () => {
    expect(expressions.length).toBeGreaterThan(30);
    expect([...expressions, ...rules.map(({ expr }) => expr)].flatMap(unknownNames)).toEqual([]);
    const variables = dashboard.templating.list.flatMap((variable) =>
      "definition" in variable ? [variable.definition ?? ""] : [],
    );
    expect(variables.flatMap(unknownNames)).toEqual([]);
  });

  test("the documentation has every metric with its type and labels, and no other", () => {
    // A row may have several metrics of one type.
    const documented = rowsOf(sectionOf(page, "Metrics")).flatMap(([names = "", type = ""]) =>
      codesIn(names).map((name) => ({ name, type })),
    );
    expect(documented.toSorted(byName)).toEqual(families.toSorted(byName));
  });

  test("the documentation has every alert and no other", () => {
    const documented = rowsOf(sectionOf(page, "Alerts")).map(([name = ""]) => codesIn(name)[0]);
    expect(documented).toEqual(alerts);
  });

  testWith("promtool")(
    "promtool accepts the metrics, the rules, their tests and the dashboard",
    () => {
      expect(promtoolErrors(["check", "metrics"], text)).toBe("");
      expect(promtoolErrors(["check", "rules", join(root, rulesPath)])).toBe("");
      const unitTests = ["vexel-alerts", "vexel-cost"].map((name) =>
        join(root, "deploy/prometheus", `${name}.test.yaml`),
      );
      expect(promtoolErrors(["test", "rules", ...unitTests])).toBe("");
      // The expressions of the dashboard, as recording rules.
      using folder = temporaryFolder();
      const file = join(folder.path, "dashboard.json");
      const dashboardRules = expressions.map((expr, index) => ({
        record: `dashboard:${index}`,
        expr: expr.replaceAll("$__rate_interval", "5m").replaceAll(/\$\w+/g, ".*"),
      }));
      writeFileSync(
        file,
        JSON.stringify({ groups: [{ name: "dashboard", rules: dashboardRules }] }),
      );
      expect(promtoolErrors(["check", "rules", file])).toBe("");
    },
  );
});

const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);
