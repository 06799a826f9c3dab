/** The parts of an OpenAPI document that the reference shows. */
import type { ShownModel } from "../../../../contract/admin.ts";

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
}

interface MediaType {
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

interface OpenApiOperation {
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema?: Schema;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, MediaType>> };
}

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

export interface Operation extends OpenApiOperation {
  readonly method: string;
  readonly path: string;
  /** The JSON body of an example request. */
  readonly example: unknown;
}

const methods: ReadonlySet<string> = new Set(["get", "post", "put", "patch", "delete"]);

export const operationsOf = ({ paths }: OpenApiDocument): Operation[] =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method]) => methods.has(method))
      .map(([method, operation]) => ({
        ...operation,
        method,
        path,
        example: exampleOf(operation),
      })),
  );

function exampleOf({ requestBody }: OpenApiOperation): unknown {
  const json = requestBody?.content["application/json"];
  return json?.example ?? Object.values(json?.examples ?? {})[0]?.value;
}

/** The example with a model that this gateway has, so that it works as it is. */
export function withOwnModel(operation: Operation, models: readonly ShownModel[]): Operation {
  const { example, path } = operation;
  if (typeof example !== "object" || example === null || !("model" in example)) return operation;
  const kind = path.includes("/images/") ? "image" : "embedding";
  const own = models.filter((model) => model.kind === kind).map(({ id }) => id);
  const [first] = own;
  if (first === undefined || own.includes(String(example.model))) return operation;
  return { ...operation, example: { ...example, model: first } };
}

export interface ParameterRow {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string | undefined;
}

/** Parameters of the path, the query and the headers, then the members of the body. */
export function parameterRows(document: OpenApiDocument, operation: Operation): ParameterRow[] {
  const parameters = (operation.parameters ?? []).map((parameter) => ({
    name: parameter.name,
    type: `${parameter.in}, ${typeOf(resolve(document, parameter.schema ?? {}))}`,
    isRequired: parameter.required ?? false,
    description: parameter.description,
  }));
  const [media] = Object.values(operation.requestBody?.content ?? {});
  const body = resolve(document, media?.schema ?? {});
  const members = Object.entries(body.properties ?? {}).map(([name, given]) => {
    const schema = resolve(document, given);
    return {
      name,
      type: typeOf(schema),
      isRequired: body.required?.includes(name) ?? false,
      description: schema.description,
    };
  });
  return [...parameters, ...members];
}

function resolve({ components }: OpenApiDocument, schema: Schema): Schema {
  const name = schema.$ref?.split("/").at(-1);
  return (name === undefined ? undefined : components?.schemas?.[name]) ?? schema;
}

function typeOf(schema: Schema): string {
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives) return [...new Set(alternatives.map(typeOf))].join(" | ");
  if (schema.type === "array") return `array of ${typeOf(schema.items ?? {})}`;
  return Array.isArray(schema.type) ? schema.type.join(" | ") : String(schema.type ?? "any");
}
