/** GET /: the start page for browsers. It has no scripts and loads nothing from other hosts. */
import { authenticate, mayUse } from "../auth/authenticate.ts";
import type { Model, Snapshot } from "../config/snapshot.ts";
import type { Handler } from "../http/route.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { IncomingRequest } from "../request/http-types.ts";

interface WelcomeOptions {
  readonly snapshot: () => Snapshot;
  readonly ready: () => boolean;
  readonly version: string;
  /** Whether the page has a link to the console. */
  readonly hasConsole: boolean;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export const createWelcome =
  ({ snapshot, ready, version, hasConsole, now }: WelcomeOptions): Handler =>
  async (incoming) => {
    const current = snapshot();
    const { publicUrl } = incoming;
    const models = visibleModels(incoming, current, now());
    // The built-in models ship with the product, so their IDs are not secret.
    const examples = models ?? [...current.models.values()].filter(isBuiltIn);
    return {
      status: 200,
      headers: {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy":
          "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        "x-content-type-options": "nosniff",
      },
      body: welcomePage({ publicUrl, models, examples, ready: ready(), version, hasConsole }),
    };
  };

const isBuiltIn = ({ source }: Model): boolean => source === "built-in";

/** The models that the request's API key may use. Undefined without a key, unless the gateway has no keys at all. */
function visibleModels(
  { headers }: IncomingRequest,
  snapshot: Snapshot,
  now: number,
): readonly Model[] | undefined {
  const models = [...snapshot.models.values()];
  if (snapshot.keys.size === 0) return models;
  try {
    const caller = authenticate(headers, snapshot, now);
    return models.filter((model) => mayUse(caller, model));
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

interface WelcomePageData {
  readonly publicUrl: string;
  readonly models: readonly Model[] | undefined;
  /** The models whose IDs may appear in the example commands. */
  readonly examples: readonly Model[];
  readonly ready: boolean;
  readonly version: string;
  readonly hasConsole: boolean;
}

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

function welcomePage(page: WelcomePageData): string {
  const { publicUrl, models, examples, ready, version, hasConsole } = page;
  const embedding = examples.find(({ kind }) => kind === "embedding");
  const image = examples.find(({ kind }) => kind === "image");
  const curls = [
    `curl ${publicUrl}/v1/models -H "Authorization: Bearer $VEXEL_KEY"`,
    embedding && curl(publicUrl, "embeddings", { model: embedding.id, input: "a red boat" }),
    image &&
      curl(publicUrl, "images/generations", {
        model: image.id,
        prompt: "a red boat on a calm sea at sunset",
      }),
  ].filter((line) => line !== undefined);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Vexel</title><style>${style}</style></head><body><main>
<header><h1>Vexel</h1><span class="${ready ? "good" : "bad"}">${ready ? "ready" : "not ready"}</span></header>
<p>An OpenAI-compatible gateway for embeddings and images. Point any OpenAI client at
<code>${escapeHtml(publicUrl)}/v1</code>.${hasConsole ? consoleLink : ""}</p>
${models ? modelTable(models) : ""}<h2>Try it</h2>${curls.map((line) => `<pre>${escapeHtml(line)}</pre>`).join("")}
<p class="quiet">The first API key was printed when the gateway started for the first time.
The command <code>keys create</code> creates another.</p>
<footer><a href="/openapi.json">OpenAPI document</a> · <a href="/healthz">Health</a> ·
<a href="/readyz">Readiness</a> · Version ${escapeHtml(version)}</footer>
</main></body></html>`;
}

const consoleLink =
  ' <a href="/console">Open the console</a> to try models, create API keys and run the gateway.';

const modelTable = (models: readonly Model[]): string => {
  if (models.length === 0) return "<p>There is no model that you can use.</p>\n";
  const rows = models.map(
    ({ id, kind, description, ownedBy }) =>
      `<tr><td><code>${escapeHtml(id)}</code></td><td>${kind}</td><td>${escapeHtml(description ?? ownedBy)}</td></tr>`,
  );
  return `<h2>Models</h2><table><tbody>${rows.join("")}</tbody></table>\n`;
};

const curl = (publicUrl: string, path: string, body: unknown): string =>
  [
    `curl ${publicUrl}/v1/${path} \\`,
    `  -H "Authorization: Bearer $VEXEL_KEY" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${JSON.stringify(body)}'`,
  ].join("\n");

const style = `
:root{color-scheme:light dark;--ink:#1d2430;--paper:#fbfaf7;--quiet:#69707d;--line:#e3e0d8;--tint:#f1eee6;--blue:#2456c7}
@media(prefers-color-scheme:dark){:root{--ink:#e7e9ee;--paper:#14171d;--quiet:#949cab;--line:#2a2f3a;--tint:#1c2028;--blue:#8fb0ff}}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
main{max-width:46rem;margin:0 auto;padding:3rem 1.25rem}
header{display:flex;align-items:center;gap:.8rem}h1{font-size:2rem;margin:0;letter-spacing:-.02em}
h2{font-size:1rem;margin:2rem 0 .5rem}
.good,.bad{font-size:.8rem;padding:.1rem .6rem;border-radius:1rem;color:#fff;background:#1f8a4c}.bad{background:#b3372f}
table{width:100%;border-collapse:collapse}td{padding:.45rem .6rem .45rem 0;border-top:1px solid var(--line);vertical-align:top}
td:first-child{white-space:nowrap}td:nth-child(2){color:var(--quiet)}code,pre{font:.875rem/1.5 ui-monospace,monospace}
pre{background:var(--tint);padding:.9rem 1rem;border-radius:.5rem;overflow:auto}
a{color:var(--blue)}.quiet,footer{color:var(--quiet);font-size:.9rem}footer{margin-top:2.5rem}`;
