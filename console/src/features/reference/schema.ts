/** What a JSON schema of the OpenAPI documents says, in short words. A schema may contain itself. */
import type { OpenApiDocument, Schema } from "./openapi-document.ts";

/** The references that lead to a schema. */
type Within = readonly string[];

/** All references are local. */
export function resolved(document: OpenApiDocument, schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  const { $ref, ...own } = schema;
  const referred = document.components.schemas[nameOf($ref)] ?? {};
  // A description beside a reference replaces that of the referred schema.
  return { ...resolved(document, referred), ...own };
}

const nameOf = (reference: string): string => reference.split("/").at(-1) ?? "";

const alternativesOf = ({ anyOf, oneOf }: Schema): readonly Schema[] | undefined => anyOf ?? oneOf;

const isRepeated = ({ $ref }: Schema, within: Within): boolean =>
  $ref !== undefined && within.includes($ref);

const inside = ({ $ref }: Schema, within: Within): Within =>
  $ref === undefined ? within : [...within, $ref];

/** Such as `string | null`, `array of number` and `integer 1–10`. */
export function typeText(document: OpenApiDocument, given: Schema, within: Within = []): string {
  if (isRepeated(given, within)) return nameOf(given.$ref ?? "");
  const schema = resolved(document, given);
  const inner = (each: Schema): string => typeText(document, each, inside(given, within));
  const alternatives = alternativesOf(schema);
  if (alternatives) return [...new Set(alternatives.map(inner))].join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.contentMediaType !== undefined) return "file";
  const types = [schema.type ?? (schema.properties ? "object" : "any")].flat();
  return types
    .map((type) =>
      type === "array" && schema.items
        ? `array of ${inner(schema.items)}`
        : `${type}${rangeText(schema)}`,
    )
    .join(" | ");
}

/** Without the bounds of integers in JSON, which generated schemas have at every integer. */
function rangeText({ minimum, maximum }: Schema): string {
  const [from, to] = [minimum, maximum].map((value) =>
    value !== undefined && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined,
  );
  if (from !== undefined && to !== undefined) return ` ${from}–${to}`;
  if (from !== undefined) return ` ≥ ${from}`;
  return to === undefined ? "" : ` ≤ ${to}`;
}

/** The objects inside a value: itself, the entries of an array, the values of a map, or the alternatives of a union. */
export function objectsIn(
  document: OpenApiDocument,
  given: Schema,
  within: Within = [],
): readonly Schema[] {
  if (isRepeated(given, within)) return [];
  const schema = resolved(document, given);
  const { items, additionalProperties: values } = schema;
  if (schema.properties) return [schema];
  const parts = alternativesOf(schema) ?? items ?? (typeof values === "object" ? values : []);
  return [parts].flat().flatMap((each) => objectsIn(document, each, inside(given, within)));
}

/** The smallest value that has the shape of the schema. */
export function exampleOf(document: OpenApiDocument, given: Schema, within: Within = []): unknown {
  if (isRepeated(given, within)) return null;
  const schema = resolved(document, given);
  const inner = (each: Schema): unknown => exampleOf(document, each, inside(given, within));
  const [first] = alternativesOf(schema) ?? [];
  if (first) return inner(first);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (schema.default !== undefined) return schema.default;
  const [type] = [schema.type ?? (schema.properties ? "object" : "string")].flat();
  switch (type) {
    case "object":
      return Object.fromEntries(
        (schema.required ?? []).map((name) => [name, inner(schema.properties?.[name] ?? {})]),
      );
    case "array":
      return schema.items ? [inner(schema.items)] : [];
    case "integer":
    case "number":
      return schema.minimum ?? 1;
    case "boolean":
      return true;
    default:
      return type === "null" ? null : "string";
  }
}
