/**
 * Checks `defaults` of the file and of its keys (the models of requests that name none) against the configured models.
 */
import { z } from "zod";
import { matchesGlob } from "../lib/glob.ts";
import { didYouMean } from "./error-messages.ts";
import type { Note, Path } from "./problem.ts";
import type { ProvisionedUpstream } from "./provision.ts";

const kinds = ["embedding", "image"] as const;

// Values of the wrong type count as absent: the schema has reported them.
const text = z.string().optional().catch(undefined);
const chosen = z.object({ embedding: text, image: text }).partial().catch({});
const entries = <T extends z.ZodRawShape>(shape: T) =>
  z
    .array(
      z
        .object(shape)
        .partial()
        .catch({} as never),
    )
    .catch([]);
const view = z
  .object({
    defaults: chosen.optional(),
    upstreams: entries({ id: text }),
    models: entries({ id: text, kind: text }),
    keys: entries({
      defaults: chosen.optional(),
      models: z.array(z.string()).optional().catch(undefined),
    }),
  })
  .partial()
  .catch({});

type Show = (text: string) => string;

/** Reports defaults that do not exist, are of the other kind, or that their key may not use. */
export function checkDefaults(
  raw: unknown,
  provided: readonly ProvisionedUpstream[],
  show: Show,
): Note[] {
  const file = view.parse(raw);
  const named = new Set(file.upstreams?.map((upstream) => upstream.id));
  const kindOf = new Map<string, string | undefined>();
  for (const { upstream, models } of provided) {
    // An upstream in the file replaces the provisioned one, with its models.
    if (!named.has(upstream.id)) for (const model of models) kindOf.set(model.id, model.kind);
  }
  for (const model of file.models ?? []) {
    if (model.id !== undefined) kindOf.set(model.id, model.kind);
  }
  const problemOf = (model: string, kind: string, globs: readonly string[]): string | undefined => {
    if (!kindOf.has(model)) {
      return `there is no model ${show(model)}${didYouMean(model, kindOf.keys(), show)}`;
    }
    const actual = kindOf.get(model);
    if (actual !== kind && (actual === "embedding" || actual === "image")) {
      return `${show(model)} is of kind ${actual}, and this must be a model of kind ${kind}`;
    }
    if (globs.some((glob) => matchesGlob(glob, model))) return undefined;
    return `the key may not use ${show(model)}: add it to the key's models`;
  };
  const check = (
    given: z.output<typeof chosen> | undefined,
    path: Path,
    globs: readonly string[],
  ): Note[] =>
    kinds.flatMap((kind): Note[] => {
      const model = given?.[kind];
      const message = model === undefined ? undefined : problemOf(model, kind, globs);
      return message === undefined ? [] : [{ path: [...path, kind], message }];
    });
  return [
    ...check(file.defaults, ["defaults"], ["*"]),
    ...(file.keys ?? []).flatMap((key, at) =>
      check(key.defaults, ["keys", at, "defaults"], key.models ?? ["*"]),
    ),
  ];
}
