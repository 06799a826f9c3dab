/** Converts between a node of the YAML file, its path and its offset. */
import { type Document, isAlias, isMap, isPair, isScalar, isSeq, type Node } from "yaml";
import type { Note, Path } from "./problem.ts";

/** The path from the root to a node, given its ancestors. */
export function pathOf(ancestors: readonly unknown[], node: unknown): Path {
  const way = [...ancestors, node];
  const path: (string | number)[] = [];
  for (const [i, step] of way.entries()) {
    if (isPair(step) && isScalar(step.key)) path.push(String(step.key.value));
    if (isSeq(step) && i < way.length - 1) path.push(step.items.indexOf(way[i + 1]));
  }
  return path;
}

/** The offset of the node at a path, or of its nearest existing ancestor. */
export function offsetOf(document: Document.Parsed, { path, on }: Note): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const [depth, step] of path.entries()) {
    const here: unknown = isAlias(node) ? node.resolve(document) : node;
    if (isMap(here)) {
      const pair = here.items.findLast(({ key }) => isScalar(key) && key.value === step);
      if (!pair) break;
      node = on === "key" && depth === path.length - 1 ? pair.key : pair.value;
      offset = startOf(node) ?? startOf(pair.key) ?? offset;
    } else if (isSeq(here) && typeof step === "number") {
      node = here.items[step];
      offset = startOf(node) ?? offset;
    } else break;
  }
  return offset;
}

const startOf = (node: unknown): number | undefined =>
  (node as Partial<Node> | null | undefined)?.range?.[0];
