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
  /** Undefined: no JSON. */
  readonly json: unknown;
}

type ResponseCheck = (response: ReceivedResponse) => void;

/** Throws if a response is not as the document says. Requests to paths that the document does not have are skipped. */
export function checkResponsesBy(document: AdminApiDocument): ResponseCheck {
  const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });
  ajv.addVocabulary(["components"]);
  ajv.addSchema({ $id: "admin:document", components: document.components });
  const validators = new Map<Schema, ValidateFunction>();
  const validatorOf = (schema: Schema): ValidateFunction => {
    const text = JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"admin:document#/');
    const validate = validators.get(schema) ?? ajv.compile(JSON.parse(text));
    validators.set(schema, validate);
    return validate;
  };
  const operations = operationsOf(document);
  return ({ method, path, status, json }) => {
    const name = `${method} ${path.split("?")[0]}`;
    const operation = operations.find(({ pattern }) => pattern.test(name))?.operation;
    if (!operation) return;
    const { default: error, [status]: success } = operation.responses;
    const documented = success ?? (status >= 400 ? error : undefined);
    if (!documented) throw new Error(`${name}: the status ${status} is not documented`);
    const schema = documented.content?.["application/json"]?.schema;
    const validate = schema && validatorOf(schema);
    if (validate && !validate(json)) {
      throw new Error(`${name} does not match its schema: ${ajv.errorsText(validate.errors)}`);
    }
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

const checks = new Map<string, Promise<ResponseCheck | undefined>>();

/** Undefined: the gateway does not serve the document, such as one that stops. */
async function checkOf(origin: string, adminToken: string): Promise<ResponseCheck | undefined> {
  const headers = { authorization: `Bearer ${adminToken}` };
  const response = await fetch(`${origin}/admin/api/openapi.json`, { headers });
  return response.ok ? checkResponsesBy((await response.json()) as AdminApiDocument) : undefined;
}

/** Checks a response of a gateway, and returns it. */
export async function asDocumented(
  response: Response,
  method: string,
  adminToken: string,
): Promise<Response> {
  const { origin, pathname } = new URL(response.url);
  if (!checks.has(origin)) checks.set(origin, checkOf(origin, adminToken));
  const check = await checks.get(origin);
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  const json = isJson ? await response.clone().json() : undefined;
  check?.({ method, path: pathname, status: response.status, json });
  return response;
}
