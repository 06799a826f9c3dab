/** The API keys of the failover run: most have a rate limit, some a concurrency limit, some a small budget. */

export const replicaCount = 3;
export const model = "text-embedding-3-small";
/** For keys with a concurrency limit: its requests take longer. Batches of both would be split, and sent again. */
export const slowModel = "text-embedding-3-large";

export const requestsPerMinute = 3;
export const concurrent = 2;
/** Dollars of one request: the tokens that the upstream reports, at the price of the model. */
export const tokensPerRequest = 4;
export const dollarsPerRequest = (tokensPerRequest * 0.02) / 1e6;

export interface LimitedKey {
  readonly name: string;
  readonly key: string;
  readonly limits: string;
}

const keysNamed = (
  name: string,
  count: number,
  limitsOf: (at: number) => string,
): readonly LimitedKey[] =>
  Array.from({ length: count }, (_, at) => ({
    name: `${name}${at}`,
    key: `sk-failover-${name}-${String(at).padStart(8, "0")}`,
    limits: limitsOf(at),
  }));

export const ratedKeys = keysNamed(
  "rate",
  2000,
  () => `limits: {requestsPerMinute: ${requestsPerMinute}}`,
);
export const slotKeys = keysNamed("slots", 5, () => `limits: {concurrent: ${concurrent}}`);
/** In requests. The first budgets are used up before the failover, the others after it. */
export const budgets: readonly number[] = [50, 100, 200, 300];
const budgetOf = (at: number): number => (budgets[at] ?? 0) * dollarsPerRequest;
export const budgetKeys = keysNamed(
  "budget",
  budgets.length,
  (at) => `budget: {day: ${budgetOf(at)}}`,
);

export const configuration = (upstream: string): string => `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${upstream}/v1", apiKey: sk-fake }
models:
${[model, slowModel].map((id) => `- {id: ${id},kind: embedding,targets: [{upstream: fake,model: ${id}}]}`).join("\n")}
keys:
${[...ratedKeys, ...slotKeys, ...budgetKeys]
  .map(({ name, key, limits }) => `- {name: ${name},key: ${key},${limits}}`)
  .join("\n")}
`;
