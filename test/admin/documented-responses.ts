/**
 * A law over all tests of the admin API: every response matches its schema in the OpenAPI document. The fixtures that
 * send requests to the admin API check each response here.
 */
import Ajv, { type ValidateFunction } from "ajv/dist/2020";

type Schema = Readonly<Record<string, unknown>>;

export interface DocumentedOperation {
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> }>
  >;
}

export interface AdminApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: object;
}

interface ReceivedResponse {
  readonly method: string;
  /** With or without its query. */
  readonly path: string;
  readonly status: number;
  /** Undefined if there is no JSON. */
  readonly json: unknown;
}

/** False: the document does not have the operation. */
type ResponseCheck = (response: ReceivedResponse) => boolean;

/** Throws if a response is not as the document says. */
export function checkResponsesBy(document: AdminApiDocument): ResponseCheck {
  const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });
  ajv.addVocabulary(["components"]);
  ajv.addSchema({ $id: "admin:document", components: document.components });
  const validators = new Map<Schema, ValidateFunction>();
  const compile = (schema: Schema): ValidateFunction => {
    const text = JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"admin:document#/');
    return ajv.compile(JSON.parse(text));
  };
  const validatorOf = (schema: Schema): ValidateFunction => {
    const validate = validators.get(schema) ?? compile(schema);
    validators.set(schema, validate);
    return validate;
  };
  const operations = operationsOf(document);
  return ({ method, path, status, json }) => {
    const name = `${method} ${path.split("?")[0]}`;
    const operation = operations.find(({ pattern }) => pattern.test(name))?.operation;
    if (!operation) return false;
    const { default: error, [status]: success } = operation.responses;
    const documented = success ?? (status >= 400 ? error : undefined);
    if (!documented) throw new Error(`${name}: the status ${status} is not documented`);
    const schema = documented.content?.["application/json"]?.schema;
    const validate = schema && validatorOf(schema);
    if (validate && !validate(json)) {
      throw new Error(`${name} does not match its schema: ${ajv.errorsText(validate.errors)}`);
    }
    return true;
  };
}

/** Paths without parameters come first: `/requests/live` is not the request with the ID `live`. */
const operationsOf = ({ paths }: AdminApiDocument) =>
  Object.entries(paths)
    .sort(([a], [b]) => a.split("{").length - b.split("{").length)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        pattern: new RegExp(`^${method.toUpperCase()} ${path.replace(/\{\w+\}/g, "[^/]+")}$`),
        operation,
      })),
    );

/**
 * The gateways of this process have the same operations, except for operations that a setting turns on. So another
 * document is read, and its schemas compiled, only for an operation that no earlier document has.
 */
const checks: ResponseCheck[] = [];
const readOrigins = new Set<string>();

async function readDocument(origin: string, adminToken: string): Promise<void> {
  const headers = { authorization: `Bearer ${adminToken}` };
  const response = await fetch(`${origin}/admin/api/openapi.json`, { headers });
  // A gateway that stops does not serve the document.
  if (response.ok) checks.push(checkResponsesBy((await response.json()) as AdminApiDocument));
}

/** Checks a response of a gateway, and returns it. Paths that the document does not have are skipped. */
export async function asDocumented(
  response: Response,
  method: string,
  adminToken: string,
): Promise<Response> {
  const { origin, pathname } = new URL(response.url);
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  const json = isJson ? await response.clone().json() : undefined;
  const received = { method, path: pathname, status: response.status, json };
  if (checks.some((check) => check(received)) || readOrigins.has(origin)) return response;
  readOrigins.add(origin);
  await readDocument(origin, adminToken);
  checks.at(-1)?.(received);
  return response;
}
