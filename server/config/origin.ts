/** Where an entity of the configuration comes from. Only stored entities can be edited at runtime. */
import type { EntityOrigin, Snapshot } from "./snapshot.ts";

/** The kinds of entities that have an origin. */
export type OriginKind = "upstream" | "model" | "project" | "webhook" | "key";

export const isReadOnly = ({ source }: EntityOrigin): boolean => source !== "store";

/** Such as `yaml: vexel.yaml line 12`, `environment: OPENAI_API_KEY`, `store` or `built-in`. */
export function describeOrigin({ source, location }: EntityOrigin): string {
  return location === undefined ? source : `${source}: ${location}`;
}

export const originKey = (kind: OriginKind, id: string): string => `${kind} ${id}`;

/** Stored keys have no entry of their own, because there may be 100,000. */
export const originOf = (
  { origins }: Pick<Snapshot, "origins">,
  kind: OriginKind,
  id: string,
): EntityOrigin | undefined => origins?.get(originKey(kind, id));
