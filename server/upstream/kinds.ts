/** The kinds of upstream a configuration may name: where each lives by default and what it needs. */
import { z } from "zod";
import { dialects } from "./adapters/dialects.ts";

export interface Kind {
  readonly name: string;
  /** Used when the configuration gives none. */
  readonly baseUrl?: string;
  readonly needs: readonly ("baseUrl" | "apiKey")[];
  /** The only kind of model it can serve; absent where the upstream answers for itself. */
  readonly serves?: "embedding" | "image";
  /** Settings only this kind has, by name. */
  readonly options: Readonly<Record<string, z.ZodType>>;
}

const local: Readonly<Record<string, z.ZodType>> = {
  path: z.string().min(1),
  pooling: z.enum(["mean", "cls"]).optional(),
  normalize: z.boolean().optional(),
  maxTokens: z.int().min(1).optional(),
};

const list: readonly Kind[] = [
  ...dialects.map(
    ({ name, baseUrl, open }): Kind => ({
      name,
      ...(baseUrl !== undefined && { baseUrl }),
      needs: [...(baseUrl ? [] : ["baseUrl" as const]), ...(open ? [] : ["apiKey" as const])],
      options: { base64: z.boolean().optional() },
    }),
  ),
  {
    name: "azure",
    needs: ["baseUrl", "apiKey"],
    options: { apiVersion: z.string().min(1).optional() },
  },
  { name: "local", needs: [], serves: "embedding", options: local },
  { name: "minilm", needs: [], serves: "embedding", options: {} },
  { name: "sketch", needs: [], serves: "image", options: {} },
  { name: "migan", needs: [], serves: "image", options: {} },
];

export const kinds: ReadonlyMap<string, Kind> = new Map(list.map((kind) => [kind.name, kind]));
