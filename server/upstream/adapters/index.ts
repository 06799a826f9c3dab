/** Every adapter, by the name a configuration calls it. */
import type { Adapter } from "../adapter.ts";
import { type Dialect, dialects } from "./dialects.ts";
import { openaiEmbeddings } from "./openai-embeddings.ts";
import { openaiEdits, openaiGenerations } from "./openai-images.ts";
import { azurePlace, openaiPlace, type Place } from "./place.ts";
import { readFault } from "./upstream-fault.ts";

const speaksOpenai = (name: string, place: Place, base64: boolean): Adapter => ({
  name,
  embeddings: openaiEmbeddings(place, {
    base64: ({ upstream }) =>
      typeof upstream.options.base64 === "boolean" ? upstream.options.base64 : base64,
  }),
  generations: openaiGenerations(place),
  edits: openaiEdits(place),
  fault: readFault,
});

const fromDialect = ({ name, baseUrl, base64 }: Dialect): Adapter =>
  speaksOpenai(name, openaiPlace(baseUrl), base64 ?? false);

export const adapters: ReadonlyMap<string, Adapter> = new Map(
  [...dialects.map(fromDialect), speaksOpenai("azure", azurePlace, true)].map((adapter) => [
    adapter.name,
    adapter,
  ]),
);
