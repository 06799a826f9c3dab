/** The kinds of upstream that a configuration may name, with the default base URL and the required settings of each. */
import { z } from "zod";
import { vendors } from "./adapters/index.ts";
import type { Kind } from "./vendor.ts";

export type { Kind };

const local: Readonly<Record<string, z.ZodType>> = {
  path: z.string().min(1),
  pooling: z.enum(["mean", "cls"]).optional(),
  normalize: z.boolean().optional(),
  maxTokens: z.int().min(1).optional(),
};

const list: readonly Kind[] = [
  ...vendors.map(({ kind }) => kind),
  { name: "local", needs: [], serves: "embedding", options: local },
  { name: "minilm", needs: [], serves: "embedding", options: {} },
  { name: "sketch", needs: [], serves: "image", options: {} },
  { name: "migan", needs: [], serves: "image", options: {} },
];

export const kinds: ReadonlyMap<string, Kind> = new Map(list.map((kind) => [kind.name, kind]));
