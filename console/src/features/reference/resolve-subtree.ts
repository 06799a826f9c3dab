/**
 * Replaces the references in a part of an OpenAPI document of this gateway, all of which are local. The resolver of
 * Swagger UI converts the whole document first, for each operation that a user opens, which takes seconds.
 */
type Node = Readonly<Record<string, unknown>>;

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null;

const at = (document: unknown, path: readonly string[]): unknown =>
  path.reduce((node, key) => (isNode(node) ? node[key] : undefined), document);

/** As Swagger UI calls it. `path`: the keys that lead to the part. */
export async function resolveSubtree(document: unknown, path: readonly string[]) {
  /** `within`: the references that lead to the value. A schema that contains itself keeps its reference. */
  const resolved = (value: unknown, within: readonly string[]): unknown => {
    if (Array.isArray(value)) return value.map((each) => resolved(each, within));
    if (!isNode(value)) return value;
    const { $ref, ...members } = value;
    const own = Object.fromEntries(
      Object.entries(members).map(([key, each]) => [key, resolved(each, within)]),
    );
    if (typeof $ref !== "string") return own;
    if (within.includes($ref)) return value;
    const referred = resolved(at(document, $ref.split("/").slice(1)), [...within, $ref]);
    // A description beside a reference replaces that of the referred schema.
    return isNode(referred) ? { ...referred, ...own } : referred;
  };
  return { spec: resolved(at(document, path), []), errors: [] };
}
