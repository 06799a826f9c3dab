/** Compares what an import gives each key with what the other gateway, which is running, gives it. */
import { existsSync, readFileSync } from "node:fs";
import type { ModelKind } from "../../contract/model-kinds.ts";
import { secretHash } from "../../server/lib/secret-hash.ts";
import type { JsonObject } from "../../server/storage/sql/config-entity-store.ts";
import { settingsOrUsage, UsageError } from "../command.ts";
import { onOneLine, writeOutput } from "../write.ts";
import type { ImportPlan, PlannedKey } from "./plan.ts";
import { quantity } from "./quantity.ts";
import { Report } from "./report.ts";
import type { Planner } from "./sources.ts";
import { askAccess, type OtherGateway } from "./verify/ask-access.ts";
import { comparedTokens, compareVectors } from "./verify/compare-vectors.ts";
import { type LiveRow, readLiveRow } from "./verify/read-live-keys.ts";

interface VerifyOptions {
  readonly accepted: ReadonlySet<string>;
  /** Of the other gateway. */
  readonly url: string;
  /** A file with keys of clients, one in each line. */
  readonly keys: string | undefined;
  readonly paid: boolean;
  readonly json: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface Verified {
  tried: number;
  read: number;
  notCompared: number;
  /** Given keys that the import refuses: they have nothing here. */
  notImported: number;
  /** Such as `key "web": it may use a in Vexel, and not there`. */
  readonly wider: string[];
  readonly equalVectors: string[];
  readonly otherVectors: string[];
  /** Embedding models that no given key may use, or whose vectors a gateway did not return. */
  readonly uncomparedModels: string[];
}

export async function runVerify(planner: Planner, options: VerifyOptions): Promise<number> {
  const there: OtherGateway = { url: gatewayUrl(options.url), fetch };
  const texts = readTexts(options.keys);
  const plan = planner(new Report(options.accepted));
  if (plan.keys.length === 0)
    throw new UsageError("the import has no keys: use --accept as with the import itself.");
  const given = new Map(texts.map((text) => [secretHash(text), text]));
  const verified: Verified = {
    tried: 0,
    read: 0,
    notCompared: 0,
    notImported: 0,
    wider: [],
    equalVectors: [],
    otherVectors: [],
    uncomparedModels: [],
  };
  try {
    for (const key of plan.keys) {
      const text = given.get(key.hash);
      if (text !== undefined) await tryKey(key, text, plan, there, verified);
    }
    await readKeys(planner, plan, given, there, options, verified);
    const imported = new Set(plan.keys.map(({ hash }) => hash));
    verified.notImported = [...given.keys()].filter((hash) => !imported.has(hash)).length;
    const { price, models } = comparableModels(plan, given);
    if (options.paid) await verifyVectors(plan, given, there, verified);
    report(verified, { ...options, price, requests: models });
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `${there.url} cannot be asked: ${error instanceof Error ? error.message : error}`,
    );
  }
  return verified.wider.length + verified.otherVectors.length > 0 ? 1 : 0;
}

function gatewayUrl(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new UsageError(`--verify must be the address of the other gateway, not "${text}".`);
  return text.replace(/\/+$/, "").replace(/\/v1$/, "");
}

function readTexts(path: string | undefined): readonly string[] {
  if (path === undefined) return [];
  if (!existsSync(path)) throw new UsageError(`${path} does not exist.`);
  const lines = readFileSync(path, "utf8").split(/\r?\n/);
  return lines.map((line) => line.trim()).filter((line) => line !== "");
}

const modelKinds = (plan: ImportPlan, names: readonly string[]): ReadonlyMap<string, ModelKind> =>
  new Map(names.map((name) => [name, plan.models.get(name)?.kind as ModelKind]));

async function tryKey(
  key: PlannedKey,
  text: string,
  plan: ImportPlan,
  there: OtherGateway,
  verified: Verified,
): Promise<void> {
  const access = await askAccess(there, text, modelKinds(plan, key.models));
  if ([...access.values()].includes("unknown")) verified.notCompared += 1;
  else verified.tried += 1;
  for (const [model, state] of access)
    if (state === "refused")
      verified.wider.push(`key ${JSON.stringify(key.name)}: it may not use ${model} there`);
}

/** The keys whose text is not given: planned again, with their rows as they are now. */
async function readKeys(
  { keyRows = [], withKeys }: Planner,
  plan: ImportPlan,
  given: ReadonlyMap<string, string>,
  there: OtherGateway,
  { env }: VerifyOptions,
  verified: Verified,
): Promise<void> {
  const masterKey = env.LITELLM_MASTER_KEY || undefined;
  const rows = new Map(keyRows.map((row) => [String(row.token), row]));
  const live = new Map<string, LiveRow>();
  const keys = plan.keys.filter(({ hash }) => !given.has(hash));
  for (const { hash } of keys) {
    const before = rows.get(hash);
    const isKnown = before !== undefined && masterKey !== undefined;
    live.set(hash, isKnown ? await readLiveRow(there, masterKey, before) : "unread");
  }
  const present = [...live.values()].filter((row) => typeof row !== "string");
  const now = new Map(withKeys?.(present).keys.map((key) => [key.hash, key.models]));
  for (const { hash, name, models } of keys) {
    if (live.get(hash) === "unread") {
      verified.notCompared += 1;
      continue;
    }
    verified.read += 1;
    const allowed = now.get(hash);
    const more = models.filter((model) => !allowed?.includes(model));
    if (more.length > 0)
      verified.wider.push(
        `key ${JSON.stringify(name)}: ${allowed ? `it may not use ${more.join(", ")} there` : "it is blocked, gone or refused there"}`,
      );
  }
}

/** Each embedding model with a given key that may use it. */
function keysOfModels(
  plan: ImportPlan,
  given: ReadonlyMap<string, string>,
): ReadonlyMap<string, string | undefined> {
  const names = [...plan.models].flatMap(([name, { kind }]) =>
    kind === "embedding" ? [name] : [],
  );
  return new Map(
    names.map((name) => [
      name,
      given.get(
        plan.keys.find(({ hash, models }) => given.has(hash) && models.includes(name))?.hash ?? "",
      ),
    ]),
  );
}

/** The price is undefined if that of a model is not known. */
function comparableModels(plan: ImportPlan, given: ReadonlyMap<string, string>) {
  const names = [...keysOfModels(plan, given)].flatMap(([name, key]) => (key ? [name] : []));
  const prices = names.map((name) => {
    const [target] = (plan.models.get(name)?.targets ?? []) as readonly { price?: JsonObject }[];
    return typeof target?.price?.input === "number" ? target.price.input : undefined;
  });
  const perMillion = prices.every((price) => price !== undefined)
    ? prices.reduce((sum, price) => sum + price, 0)
    : undefined;
  return {
    models: names.length,
    price: perMillion === undefined ? undefined : (2 * perMillion * comparedTokens) / 1e6,
  };
}

async function verifyVectors(
  plan: ImportPlan,
  given: ReadonlyMap<string, string>,
  there: OtherGateway,
  verified: Verified,
): Promise<void> {
  const here: OtherGateway = { url: `http://127.0.0.1:${settingsOrUsage().PORT}`, fetch };
  for (const [model, key] of keysOfModels(plan, given)) {
    const result =
      key === undefined ? "not compared" : await compareVectors(there, here, key, model);
    if (result === "equal") verified.equalVectors.push(model);
    else if (result === "different") verified.otherVectors.push(model);
    else verified.uncomparedModels.push(model);
  }
}

interface Shown extends VerifyOptions {
  readonly price: number | undefined;
  readonly requests: number;
}

const mostShown = 40;

function report(verified: Verified, { json, paid, price, requests }: Shown): void {
  if (json) {
    writeOutput(`${JSON.stringify({ ...verified, price: price ?? null }, null, 2)}\n`);
    return;
  }
  const {
    tried,
    read,
    notCompared,
    notImported,
    wider,
    equalVectors,
    otherVectors,
    uncomparedModels,
  } = verified;
  const compared = equalVectors.length + otherVectors.length + uncomparedModels.length;
  const cost =
    price === undefined
      ? "at a price that is not known"
      : `for about $${price.toFixed(8).replace(/0+$/, "0")}`;
  const vectors = paid
    ? `vectors of ${equalVectors.length} of ${quantity(compared, "model")} equal`
    : `vectors not compared: --paid sends ${quantity(requests, "request")} to each gateway ${cost}`;
  const rows = [
    ...wider.map((text) => `  wider: ${text}`),
    ...otherVectors.map((name) => `  other vectors: ${name}`),
    ...uncomparedModels.map((name) => `  vectors not compared: ${name}`),
  ];
  const shown = rows.slice(0, mostShown).map(onOneLine);
  const more =
    rows.length > shown.length ? [`  and ${rows.length - shown.length} more: --json has all.`] : [];
  const refused = notImported === 0 ? "" : `, ${notImported} given and not imported`;
  const line = `${quantity(tried, "key")} tried, ${read} read, ${notCompared} not compared${refused}, ${wider.length} wider; ${vectors}.`;
  writeOutput(`${[...shown, ...more, line].join("\n")}\n`);
}
