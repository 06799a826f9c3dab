/** The schema of `vexel.yaml`. References between entries are checked in validate-references.ts. */
import { z } from "zod";
import { defaults, key, parameters, project } from "../../../contract/schemas/keys.ts";
import { budget, limits } from "../../../contract/schemas/limits.ts";
import {
  dimensions,
  maxTargets,
  modelMembers,
  storeContent,
  targetMembers,
} from "../../../contract/schemas/models.ts";
import { id } from "../../../contract/schemas/names.ts";
import { upstreamMembers } from "../../../contract/schemas/upstreams.ts";
import { webhook } from "../../../contract/schemas/webhooks.ts";
import type { Kind } from "../../upstream/adapter.ts";
import { kinds } from "../../upstream/kinds.ts";
import { embeddingPrice, imagePrice, moderationPrice, priceKeys } from "./price-schema.ts";
import { webhooksSchema } from "./webhooks.ts";

/** The schema of an upstream of this kind. The console renders its form from this schema. */
export const upstreamOf = (kind: Kind) =>
  z.strictObject({ ...kind.options, ...upstreamMembers, kind: z.literal(kind.name) });

const [firstKind, ...otherKinds] = [...kinds.values()].map(upstreamOf) as [
  ReturnType<typeof upstreamOf>,
  ...ReturnType<typeof upstreamOf>[],
];

/** Whether responses have the header `vexel-cost`. */
const showCost = z.boolean().optional();

const embedding = z.strictObject({
  ...modelMembers,
  showCost,
  kind: z.literal("embedding"),
  targets: z
    .array(z.strictObject({ ...targetMembers, price: embeddingPrice.optional() }))
    .min(1)
    .max(maxTargets),
  price: embeddingPrice.optional(),
  dimensions: dimensions.optional(),
  /** The targets name different models, and the author declares their vectors to be comparable. */
  sameSpace: z.boolean().optional(),
  /**
   * The vector of an input depends on the other inputs of its request. Absent: derived from the names of the targets.
   */
  contextual: z.boolean().optional(),
  /** Whether the embedding cache is used. */
  cache: z.boolean().default(true),
  /** Whether small requests may be batched (micro-batching). */
  batch: z.boolean().default(true),
  /** Token arrays. `decode`: to text; `refuse`; `pass`: unchanged, to targets that support them. */
  tokenArrays: z.enum(["decode", "refuse", "pass"]).default("decode"),
});

const image = z.strictObject({
  ...modelMembers,
  showCost,
  kind: z.literal("image"),
  targets: z
    .array(
      z.strictObject({
        ...targetMembers,
        /** OpenAI's Images API, or the image tool of its Responses API. */
        surface: z.enum(["images", "responses"]).default("images"),
        /** The language model that calls the image tool. */
        via: id.optional(),
        price: imagePrice.optional(),
      }),
    )
    .min(1)
    .max(maxTargets),
  price: imagePrice.optional(),
  parameters: parameters.optional(),
  /** Whether a request continues after its client disconnects. */
  onDisconnect: z.enum(["finish", "cancel"]).optional(),
  /** Retries on another target even if the failed one may have billed the image. */
  retryPaid: z.boolean().optional(),
  /** Checks the prompt with a moderation model first; a flagged prompt is refused. */
  moderation: z
    .strictObject({
      upstream: id,
      model: id.default("omni-moderation-latest"),
      /** If the moderation upstream fails: refuse the request, or generate the image without the check. */
      onFailure: z.enum(["refuse", "allow"]).default("refuse"),
      /** Seconds that the moderation upstream may take, unless half of the timeout of the image model is shorter. */
      timeout: z.number().min(1).max(86_400).default(10),
      /** Absent: the vendor's list price. */
      price: moderationPrice.optional(),
    })
    .optional(),
  maxImages: z.int().min(1).max(10).default(10),
});

export const fileSchema = z.strictObject({
  upstreams: z.array(z.discriminatedUnion("kind", [firstKind, ...otherKinds])).default([]),
  models: z.array(z.discriminatedUnion("kind", [embedding, image])).default([]),
  keys: z.array(key).default([]),
  projects: z.array(project).default([]),
  defaults: defaults.optional(),
  /** Where events are sent. */
  webhooks: webhooksSchema,
  /** Whether the built-in models are served. */
  builtInModels: z.boolean().default(true),
  /** Whether well-known variables such as OPENAI_API_KEY provision upstreams and models. */
  environment: z.boolean().default(true),
});

const modelOfKind = new Map<string, typeof embedding | typeof image>([
  ["embedding", embedding],
  ["image", image],
]);

export type ConfigFile = z.output<typeof fileSchema>;

type ObjectSchemas = ReadonlyMap<PropertyKey | undefined, z.ZodObject>;

/** The schemas that have the same key in every list. */
const nestedSchemas: ObjectSchemas = new Map(
  Object.entries({ limits, budget, storeContent, defaults }),
);

/** The schemas of the entries of a list. */
const entrySchemas: ObjectSchemas = new Map(
  Object.entries({ keys: key, projects: project, webhooks: webhook }),
);

/** The keys that are allowed at a path, for suggestions. */
export function knownKeys(path: readonly PropertyKey[], kindName?: string): readonly string[] {
  if (path.length === 0) return Object.keys(fileSchema.shape);
  const schema = nestedSchemas.get(path.at(-1)) ?? entrySchemas.get(path[0]);
  if (schema) return Object.keys(schema.shape);
  if (path[0] === "upstreams" && path[2] === "auth") return authMembers(kindName);
  if (path[0] === "upstreams")
    return Object.keys(
      upstreamOf(kinds.get(kindName ?? "") ?? { name: "", needs: [], options: {} }).shape,
    );
  return knownModelKeys(path, kindName);
}

function authMembers(kindName = ""): readonly string[] {
  const auth = kinds.get(kindName)?.options.auth;
  const schema = auth instanceof z.ZodOptional ? auth.unwrap() : auth;
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

function knownModelKeys(
  path: readonly PropertyKey[],
  kindName: string | undefined,
): readonly string[] {
  if (path[2] === "moderation")
    return path.length === 3
      ? ["upstream", "model", "onFailure", "timeout", "price"]
      : priceKeys.moderation;
  if (path[2] === "price" || path[4] === "price")
    return priceKeys[kindName === "image" ? "image" : "embedding"];
  if (path.length === 4)
    return [
      ...Object.keys(targetMembers),
      ...(kindName === "image" ? ["surface", "via"] : []),
      "price",
    ];
  const model = modelOfKind.get(kindName ?? "");
  return Object.keys(model ? model.shape : { ...embedding.shape, ...image.shape });
}
