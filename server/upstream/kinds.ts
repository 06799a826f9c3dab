/** The kinds of upstream that a configuration may name, with the default base URL and the required settings of each. */
import { z } from "zod";
import type { Kind } from "./adapter.ts";
import { vendors } from "./adapters/index.ts";

const local: Readonly<Record<string, z.ZodType>> = {
  path: z.string().min(1).max(4096).describe("The folder of the model."),
  pooling: z
    .enum(["mean", "cls"])
    .optional()
    .describe("How token vectors are combined. If absent, as the folder says."),
  normalize: z.boolean().optional().describe("Whether vectors are normalized to length 1."),
  maxTokens: z
    .int()
    .min(1)
    .optional()
    .describe("The longest input, if it should be shorter than the model allows."),
};

const list: readonly Kind[] = [
  ...vendors.map(({ kind }) => kind),
  { name: "local", needs: [], serves: "embedding", options: local },
  { name: "minilm", needs: [], serves: "embedding", options: {} },
  { name: "sketch", needs: [], serves: "image", options: {} },
];

export const kinds: ReadonlyMap<string, Kind> = new Map(list.map((kind) => [kind.name, kind]));
