/** A body with which an operation works as it is, as far as the document says it. */
import type { ModelKind } from "../../../../contract/model-kinds.ts";
import {
  bodySchemaOf,
  bodyTypeOf,
  type OpenApiDocument,
  type Operation,
  type Schema,
} from "./openapi-document.ts";
import { exampleOf, resolved } from "./schema.ts";

type Models = Readonly<Record<ModelKind, string | undefined>>;

interface ExampleForm {
  readonly fields: Readonly<Record<string, string>>;
  /** The names of the fields with files. */
  readonly files: readonly string[];
}

interface ExampleBody {
  readonly body?: unknown;
  readonly form?: ExampleForm;
}

export function exampleBody(
  document: OpenApiDocument,
  operation: Operation,
  models: Models,
): ExampleBody {
  const schema = bodySchemaOf(operation);
  if (!schema) return {};
  if (bodyTypeOf(operation) === "form") return { form: exampleForm(document, schema) };
  const documented = operation.requestBody?.content["application/json"]?.example;
  return { body: withOwnModel(documented ?? exampleOf(document, schema), operation, models) };
}

/** The example names a model that this gateway has. */
function withOwnModel(body: unknown, { path }: Operation, models: Models): unknown {
  const own = models[path.includes("/images/") ? "image" : "embedding"];
  const hasModel = typeof body === "object" && body !== null && "model" in body;
  return hasModel && own !== undefined ? { ...body, model: own } : body;
}

function exampleForm(document: OpenApiDocument, given: Schema): ExampleForm {
  const { properties = {}, required = [] } = resolved(document, given);
  const isFile = (name: string): boolean => properties[name]?.contentMediaType !== undefined;
  const texts = required.filter((name) => !isFile(name));
  return {
    fields: Object.fromEntries(
      texts.map((name) => [name, String(exampleOf(document, properties[name] ?? {}))]),
    ),
    files: required.filter(isFile),
  };
}
