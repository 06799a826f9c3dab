/** The schema of `vexel.yaml`. References between entries are checked in validate-references.ts. */
import { z } from "zod";
import {
  maxAlerts,
  maxAllTargets,
  maxProjects,
  maxUpstreams,
  maxWebhooks,
} from "../../../contract/admin/list-bounds.ts";
import { alert } from "../../../contract/schemas/alerts.ts";
import { defaults, key, project } from "../../../contract/schemas/keys.ts";
import { budget, limits } from "../../../contract/schemas/limits.ts";
import {
  embeddingMembers,
  imageMembers,
  imageTargetMembers,
  maxConfiguredModels,
  maxTargets,
  modelMembers,
  moderationMembers,
  storeContent,
  targetMembers,
} from "../../../contract/schemas/models.ts";
import * as prices from "../../../contract/schemas/prices.ts";
import { upstreamMembers } from "../../../contract/schemas/upstreams.ts";
import { webhook } from "../../../contract/schemas/webhooks.ts";
import type { Kind } from "../../upstream/adapter.ts";
import { kinds } from "../../upstream/kinds.ts";
import type { Price } from "../../upstream/price.ts";
import type { ListName } from "../yaml/parse-file.ts";
import { webhookEntry, webhooksSchema } from "./webhooks.ts";

/** The schema of an upstream of this kind. The console renders its form from this schema. */
export const upstreamOf = (kind: Kind) =>
  z.strictObject({ ...kind.options, ...upstreamMembers, kind: z.literal(kind.name) });

const [firstKind, ...otherKinds] = [...kinds.values()].map(upstreamOf) as [
  ReturnType<typeof upstreamOf>,
  ...ReturnType<typeof upstreamOf>[],
];

/** `price`: the operator's price in US dollars. It replaces the listed price. */
const moderationPrice = prices.moderationPrice.transform(
  ({ input }): Price => ({ tokens: { textIn: input } }),
);

const embeddingPrice = prices.embeddingPrice.transform(
  ({ input, imageInput, image: each, megapixel }): Price => ({
    tokens: { textIn: input, ...(imageInput !== undefined && { imageIn: imageInput }) },
    ...(each !== undefined && { images: { "": each } }),
    ...(megapixel !== undefined && { megapixel }),
  }),
);

const imagePrice = prices.imagePrice.transform(
  ({ image: each, images, megapixel, input, imageInput, output, textOutput }): Price => ({
    ...((images || each !== undefined) && {
      images: { ...(each !== undefined && { "": each }), ...images },
    }),
    ...(megapixel !== undefined && { megapixel }),
    ...(input !== undefined &&
      output !== undefined && {
        tokens: {
          textIn: input,
          imageIn: imageInput ?? input,
          textOut: textOutput ?? output,
          imageOut: output,
        },
      }),
  }),
);

const targetsOf = <T extends z.ZodType>(target: T) => z.array(target).min(1).max(maxTargets);

const embedding = z.strictObject({
  ...modelMembers,
  ...embeddingMembers,
  kind: z.literal("embedding"),
  targets: targetsOf(z.strictObject({ ...targetMembers, price: embeddingPrice.optional() })),
  price: embeddingPrice.optional(),
});

const image = z.strictObject({
  ...modelMembers,
  ...imageMembers,
  kind: z.literal("image"),
  targets: targetsOf(z.strictObject({ ...imageTargetMembers, price: imagePrice.optional() })),
  price: imagePrice.optional(),
  /** Checks the prompt with a moderation model first; a flagged prompt is refused. */
  moderation: z
    .strictObject({
      ...moderationMembers,
      /** If absent, the vendor's list price. */
      price: moderationPrice.optional(),
    })
    .optional(),
});

const maxKeys = 100_000;
const upstreamEntry = z.discriminatedUnion("kind", [firstKind, ...otherKinds]);
const modelEntry = z.discriminatedUnion("kind", [embedding, image]);

/** The schemas of one entry of each list. */
export const entrySchemas = {
  upstreams: upstreamEntry,
  models: modelEntry,
  keys: key,
  projects: project,
  webhooks: webhookEntry,
  alerts: alert,
} as const;

export const tooManyTargets = `all models together may have at most ${maxAllTargets} targets`;

/** The most entries of the lists that stored entities are added to. */
export const maxEntries = {
  upstreams: maxUpstreams,
  models: maxConfiguredModels,
  projects: maxProjects,
  webhooks: maxWebhooks,
  alerts: maxAlerts,
} as const;

export const fileSchema = z.strictObject({
  upstreams: z.array(upstreamEntry).max(maxUpstreams).default([]),
  models: z.array(modelEntry).max(maxConfiguredModels).default([]),
  keys: z.array(key).max(maxKeys).default([]),
  projects: z.array(project).max(maxProjects).default([]),
  defaults: defaults.optional(),
  /** Alert rules. */
  alerts: z.array(alert).max(maxAlerts).default([]),
  /** Where events are sent. */
  webhooks: webhooksSchema,
  /** Whether the built-in models are served. */
  builtInModels: z.boolean().default(true),
  /** Whether well-known variables such as OPENAI_API_KEY provision upstreams and models. */
  environment: z.boolean().default(true),
});

const list = (max: number) => z.array(z.unknown()).max(max).default([]);

/** The members of the file that are no lists of entries. Of the lists, only their lengths. */
export const membersSchema = fileSchema.extend({
  ...{ upstreams: list(maxUpstreams), models: list(maxConfiguredModels), keys: list(maxKeys) },
  ...{ projects: list(maxProjects), webhooks: list(maxWebhooks), alerts: list(maxAlerts) },
} satisfies Record<ListName, z.ZodType>);

/** The file, as the schemas return it. */
export type Config = z.output<typeof fileSchema>;

/** The entries of each list, as the schemas return them. */
export type ConfigRows = { readonly [List in ListName]: Config[List][number] };

type ObjectSchemas = ReadonlyMap<PropertyKey | undefined, z.ZodObject>;

/** The schemas that have the same key in every list. */
const nestedSchemas: ObjectSchemas = new Map(
  Object.entries({ limits, budget, storeContent, defaults }),
);

/** The schemas of the entries of lists whose entries have no kind. */
const plainEntries: ObjectSchemas = new Map(
  Object.entries({ keys: key, projects: project, webhooks: webhook, alerts: alert }),
);

/** The keys that are allowed at a path, for suggestions. */
export function knownKeys(path: readonly PropertyKey[], kindName?: string): readonly string[] {
  if (path.length === 0) return Object.keys(fileSchema.shape);
  const schema = nestedSchemas.get(path.at(-1)) ?? plainEntries.get(path[0]);
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
      ? [...Object.keys(moderationMembers), "price"]
      : prices.priceKeys.moderation;
  if (path[2] === "price" || path[4] === "price")
    return prices.priceKeys[kindName === "image" ? "image" : "embedding"];
  if (path.length === 4)
    return [...Object.keys(kindName === "image" ? imageTargetMembers : targetMembers), "price"];
  if (kindName === "embedding") return Object.keys(embedding.shape);
  return Object.keys(kindName === "image" ? image.shape : { ...embedding.shape, ...image.shape });
}
