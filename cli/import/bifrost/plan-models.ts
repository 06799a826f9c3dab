/** Models of Bifrost: clients name them with their provider, such as `openai/text-embedding-3-small`. */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import { vectorSpaceOf } from "../../../server/upstream/catalog/index.ts";
import { catalogModels, guessModelKind } from "../../../server/upstream/catalog/served-models.ts";
import { kinds } from "../../../server/upstream/kinds.ts";
import { planListPrice } from "../list-price.ts";
import type { FoundLoss } from "../losses.ts";
import { isModelName, nameRule, Secret, type Upstreams } from "../plan.ts";
import type { Report, SubjectReport } from "../report.ts";
import { isLimited } from "./limits.ts";
import { type BifrostSource, namesIn, objectIn, objectsIn, textIn } from "./source.ts";

/** Providers whose credential is one key. Others are set up in Vexel. */
const kindOfProvider: Readonly<Record<string, string>> = {
  cohere: "cohere",
  fireworks: "fireworks",
  gemini: "gemini",
  huggingface: "huggingface",
  mistral: "mistral",
  nebius: "nebius",
  ollama: "ollama",
  openai: "openai",
  openrouter: "openrouter",
  perplexity: "perplexity",
  replicate: "replicate",
  sgl: "openai-compatible",
  vllm: "vllm",
  xai: "xai",
};

export function planModels(
  source: BifrostSource,
  upstreams: Upstreams,
  report: Report,
): Map<string, JsonObject> {
  const models = new Map<string, JsonObject>();
  for (const [provider, config] of source.providers) {
    const about = report.about(`provider ${JSON.stringify(provider)}`);
    const kind = kindOf(provider, config);
    if (kind === undefined) {
      about.dropped("", "its credentials are not those of a key: set it up in Vexel");
      continue;
    }
    for (const name of namesOf(provider, kind, config, source)) {
      const id = `${provider}/${name}`;
      const ofModel = report.about(`model ${JSON.stringify(id)}`);
      const model = planModel({ provider, name, kind, config, source }, upstreams, ofModel);
      if (model) models.set(id, model);
    }
  }
  return models;
}

function kindOf(provider: string, config: JsonObject): string | undefined {
  const custom = objectIn(config.custom_provider_config);
  const base = String(custom.base_provider_type ?? provider);
  const kind = Object.hasOwn(kindOfProvider, base) ? kindOfProvider[base] : undefined;
  return kind === "openai" && addressOf(config) !== "" ? "openai-compatible" : kind;
}

const addressOf = ({ network_config }: JsonObject): string =>
  textIn(objectIn(network_config).base_url).replace(/\/+$/, "");

/** The names of lists, and for a list with all models those of the catalog. */
function namesOf(
  provider: string,
  kind: string,
  config: JsonObject,
  { virtualKeys }: BifrostSource,
): ReadonlySet<string> {
  const lists = [
    ...objectsIn(config.keys).map(({ models }) => namesIn(models)),
    ...virtualKeys
      .flatMap((key) => objectsIn(key.provider_configs))
      .filter((own) => own.provider === provider)
      .map(({ allowed_models }) => namesIn(allowed_models)),
  ];
  const catalog = lists.flat().includes("*") ? (catalogModels[kind] ?? []).map(({ id }) => id) : [];
  return new Set([...lists.flat().filter((name) => name !== "*"), ...catalog]);
}

interface GivenModel {
  readonly provider: string;
  readonly name: string;
  readonly kind: string;
  readonly config: JsonObject;
  readonly source: BifrostSource;
}

/** Whether a list with `*` for all names has a name. */
const permits = (list: readonly string[], name: string): boolean =>
  list.includes("*") || list.includes(name);

/** Whether Bifrost may use the credential for the model. */
export const serves = (key: JsonObject, name: string): boolean =>
  key.enabled !== false &&
  key.enabled !== 0 &&
  permits(namesIn(key.models), name) &&
  !permits(namesIn(key.blacklisted_models), name);

function planModel(
  { provider, name, kind, config, source }: GivenModel,
  upstreams: Upstreams,
  report: SubjectReport,
): JsonObject | undefined {
  const modelKind = guessModelKind(name, kind);
  if (modelKind === undefined) return undefined;
  if (!isModelName(name)) {
    report.refused(nameRule);
    return undefined;
  }
  const keys = objectsIn(config.keys).filter((key) => serves(key, name));
  const alias = keys.find((key) => Object.hasOwn(objectIn(key.aliases), name));
  if (alias) {
    report.refused(
      `an alias of the key ${JSON.stringify(alias.name)} sends its requests to another model`,
    );
    return undefined;
  }
  if (source.routingRules.some(({ enabled }) => enabled !== false)) {
    report.refused("routing rules may send its requests to another model");
    return undefined;
  }
  if (!report.lost(lossesOf(provider, name, config, source))) return undefined;
  const targets = keys.flatMap((key) => {
    const upstream = upstreamOf(kind, key, config, report);
    if (!upstream) return [];
    const { price } = planListPrice(
      { kind: modelKind, name, baseModel: undefined, upstreamKind: kind, providerKind: provider },
      report,
    );
    const weight = Number(key.weight ?? 1);
    return [
      {
        upstream: upstreams.add(upstream),
        model: name,
        ...(weight > 0 && weight !== 1 && { weight }),
        ...(price && { price }),
      },
    ];
  });
  if (targets.length === 0) {
    report.refused("no credential may be used for it");
    return undefined;
  }
  report.carried("", `${modelKind} model in the space of ${vectorSpaceOf(name, kind)}`);
  return { kind: modelKind, targets };
}

function lossesOf(
  provider: string,
  name: string,
  config: JsonObject,
  source: BifrostSource,
): readonly FoundLoss[] {
  const isGlobal = source.modelConfigs.some(
    (own) =>
      (own.scope ?? "global") === "global" &&
      own.model_name === name &&
      (own.provider ?? provider) === provider &&
      isLimited(own, source),
  );
  return [
    ...(isLimited(config, source)
      ? [
          {
            loss: "shared-budgets",
            field: "provider",
            note: "a budget or limit of the provider",
          } as const,
        ]
      : []),
    ...(isGlobal
      ? [
          {
            loss: "shared-budgets",
            field: "model_configs",
            note: "a budget or limit of the model",
          } as const,
        ]
      : []),
  ];
}

function upstreamOf(
  kind: string,
  key: JsonObject,
  config: JsonObject,
  report: SubjectReport,
): (JsonObject & { readonly kind: string }) | undefined {
  const own = textIn(objectIn(key.vllm_key_config).url ?? key.vllm_url);
  const address = own || addressOf(config);
  const text = textIn(key.value);
  if (text.startsWith("vault.") || key.encryption_status === "encrypted") {
    report.dropped(
      "keys",
      `the credential ${JSON.stringify(key.name)} cannot be read: it is encrypted, or in a vault`,
    );
    return undefined;
  }
  if (address === "" && (kinds.get(kind)?.needs.includes("baseUrl") ?? false)) {
    report.dropped("network_config.base_url", "the provider has no address");
    return undefined;
  }
  return {
    kind,
    ...(address !== "" && { baseUrl: withPath(kind, address) }),
    ...(text !== "" && {
      apiKey: text.startsWith("env.") ? Secret.ofVariable(text.slice(4)) : Secret.ofText(text),
    }),
  };
}

/** Bifrost adds `/v1` to the address of an OpenAI-compatible server. */
const withPath = (kind: string, address: string): string =>
  (kind === "openai-compatible" || kind === "vllm") && !address.endsWith("/v1")
    ? `${address}/v1`
    : address;
