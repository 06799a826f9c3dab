/** Every page of an operator with many entities and long names: it is as wide as the window, in both languages. */
import { expect } from "bun:test";
import { browserTest } from "./browser-test.ts";
import { sendBatch, sendRequests } from "./console-gateway.ts";
import { startLargeGateway } from "./large-gateway.ts";
import { overflows, phone } from "./page-findings.ts";
import { signedInPages } from "./router-pages.ts";

const notebook = { width: 1280, height: 720 };
const project = "a-project-with-quite-a-long-name-of-its-team";
const webhook = {
  name: "the pager of the people on call at night",
  url: "https://hooks.example.com/services/T0000000/B00000000/a-long-path-of-a-receiver",
  events: ["target.*", "budget.*", "alert.*", "ledger.*"],
  secret: `whsec_${Buffer.alloc(32, 1).toString("base64")}`,
};
const entities: readonly (readonly [path: string, body: object])[] = [
  [
    "/projects",
    {
      name: project,
      limits: { requestsPerMinute: 600, tokensPerMinute: 1_000_000 },
      budget: { day: 1500, month: 25_000 },
      perEndUser: { budget: { day: 1 } },
    },
  ],
  [
    "/keys",
    {
      name: "limited-key-with-quite-a-long-name-of-its-application",
      project,
      models: ["text-embedding-*", "product-photo-*"],
      limits: { requestsPerMinute: 600, tokensPerMinute: 1_000_000, concurrent: 20 },
      budget: { day: 500, month: 2500 },
    },
  ],
  [
    "/upstreams",
    {
      id: "a-second-account-at-the-vendor-in-europe",
      kind: "openai",
      apiKey: "sk-0123456789abcdef",
      baseUrl: "https://a-very-long-host-name.of.some.company.example.com/openai/v1/with/path",
    },
  ],
  [
    "/models",
    {
      id: "sentence-transformers/paraphrase-multilingual-mpnet-base-v2",
      kind: "embedding",
      description: "A multilingual model for sentences, with a description that goes on for long.",
      targets: ["a-second-account-at-the-vendor-in-europe", "us-east"].map((upstream) => ({
        upstream,
        model: "text-embedding-3-small",
      })),
    },
  ],
  ["/webhooks", webhook],
  ["/alerts", { name: "errors-of-the-search", metric: "error_rate", above: 5, project }],
  [
    "/users",
    {
      name: "maria.hernandez@a-long-company-name.example.com",
      role: "developer",
      projects: [project, "shop-1", "studio-1", "mobile-1"],
    },
  ],
];

/** The parts that scroll sideways. A code sample may. */
const scrollingTables = `[...document.querySelectorAll("section:has(> table)")]
  .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
  .map((section) => section.getAttribute("aria-label"))`;

browserTest(
  "no page and no table scrolls sideways at 1280 and at 390 pixels, with long names, in English and in Chinese",
  async (test) => {
    const { page, open, visit, admin } = test;
    for (const [path, body] of entities) await admin("POST", path, body);
    const pages = signedInPages(await sendRequests(test), await sendBatch(test)).map((path) =>
      path
        .replace(/^\/projects\/.+/, `/projects/${project}`)
        .replace("/upstreams/fake", "/upstreams/us-east"),
    );
    const findings: string[] = [];
    for (const language of ["en", "zh"]) {
      await page.addInitScript((chosen) => {
        localStorage.setItem("vexel.language", chosen);
      }, language);
      for (const [at, path] of pages.entries()) {
        await (at === 0 ? open(path) : visit(path));
        for (const viewport of [notebook, phone]) {
          await page.setViewportSize(viewport);
          const wide = [
            ...(await overflows(page)),
            ...(await page.evaluate<string[]>(scrollingTables)),
          ];
          findings.push(...wide.map((each) => `${path} ${viewport.width} ${language}: ${each}`));
        }
        await page.setViewportSize(notebook);
      }
    }
    expect(findings).toEqual([]);
  },
  { start: () => startLargeGateway({ requests: 2000, keys: 200 }), context: {} },
);
