/** The configuration file of a program. */
import type { Key, Limits, Program, Project } from "./program.ts";
import { models } from "./program.ts";
import type { Prices } from "./vendor.ts";

/** Of the two vendors. The second one is cheaper, so that the estimate is that of the first. */
export const pricesOf = (vendor: "a" | "b"): Prices =>
  vendor === "a"
    ? {
        "alpha-embed": { unit: models.pair.perToken },
        "beta-embed": { unit: models.single.perToken },
        "gamma-embed": { unit: null },
        "img-flat": { unit: models.image.perImage },
        "img-tokens": { unit: 0, tokens: [1000, 2000] },
        "img-unpriced": { unit: null },
      }
    : { "alpha-embed": { unit: 7000 } };

/** A price in dollars for a million tokens, whose billionths are a whole number for each token. */
const perMillion = (perToken: number): number => perToken / 1000;

const budgetYaml = (limits: Limits): string =>
  `{ ${Object.entries(limits)
    .map(([period, nano]) => `${period}: ${nano / 1e9}`)
    .join(", ")} }`;

const keyYaml = ({ name, secret, project, budget }: Key): string =>
  `  - { name: ${name}, key: ${secret}, showCost: true${project === undefined ? "" : `, project: ${project}`}${budget ? `, budget: ${budgetYaml(budget)}` : ""} }`;

const projectYaml = ({ name, budget, perEndUser, perTeam }: Project): string =>
  [
    `  - name: ${name}`,
    ...(budget ? [`    budget: ${budgetYaml(budget)}`] : []),
    ...(perEndUser ? [`    perEndUser: { budget: ${budgetYaml(perEndUser)} }`] : []),
    ...(perTeam ? [`    perTag: { "team:*": { budget: ${budgetYaml(perTeam)} } }`] : []),
  ].join("\n");

/** The API key that is revoked, if one is, has no budget of its own: another key of its project reads its jobs. */
export const revocable = { key: "wide-1", readBy: "wide-2" } as const;

export const withoutRevocable = (yaml: string): string =>
  yaml
    .split("\n")
    .filter((line) => !line.includes(`{ name: ${revocable.key},`))
    .join("\n");

export const configurationOf = (
  { keys, projects }: Pick<Program, "keys" | "projects">,
  urls: { readonly a: string; readonly b: string; readonly batches: string },
): string => `
upstreams:
  - { id: a, kind: openai-compatible, baseUrl: "${urls.a}", apiKey: sk-fake }
  - { id: b, kind: openai-compatible, baseUrl: "${urls.b}", apiKey: sk-fake }
  - { id: batches, kind: openai, baseUrl: "${urls.batches}", apiKey: sk-fake }
models:
  - id: pair
    kind: embedding
    targets:
      - { upstream: a, model: alpha-embed, price: { input: ${perMillion(models.pair.perToken)} } }
      - { upstream: b, model: alpha-embed, price: { input: 7 } }
  - { id: single, kind: embedding, targets: [{ upstream: a, model: beta-embed }], price: { input: ${perMillion(models.single.perToken)} } }
  - { id: unpriced, kind: embedding, targets: [{ upstream: a, model: gamma-embed }] }
  - { id: batched, kind: embedding, dimensions: 8, targets: [{ upstream: batches, model: text-embedding-3-small }], price: { input: ${perMillion(models.batched.perToken)} } }
  - { id: image, kind: image, targets: [{ upstream: a, model: img-flat }], price: { image: ${models.image.perImage / 1e9} } }
  - { id: tokens, kind: image, targets: [{ upstream: a, model: img-tokens }], price: { input: 1, output: 2 } }
  - { id: unpriced-image, kind: image, targets: [{ upstream: a, model: img-unpriced }] }
  - { id: batched-image, kind: image, targets: [{ upstream: batches, model: gpt-image-2 }], price: { image: ${models["batched-image"].perImage / 1e9} } }
projects:
${projects.map(projectYaml).join("\n")}
keys:
${keys.map(keyYaml).join("\n")}
builtInModels: false
`;
