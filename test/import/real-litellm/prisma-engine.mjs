#!/usr/bin/env node
/**
 * The query engine that Prisma's client for Python starts, in the HTTP protocol of Prisma 5: GraphQL in, JSON out. The
 * queries are compiled by the compiler of Prisma 7, which npm has as WebAssembly, and run with its adapter for
 * PostgreSQL. No binary of Prisma is needed. The file is copied beside the packages that it imports.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

if (process.argv.includes("--version")) {
  console.log("query-engine 393aa359c9ad4a4bb28630fb5613f9c281cde053");
  process.exit(0);
}

const require = createRequire(import.meta.url);
const { PrismaPg } = require("@prisma/adapter-pg");
const { Query } = require("pg");
const runtime = require("@prisma/client-engine-runtime");
const { QueryInterpreter, TransactionManager, noopTracingHelper: tracingHelper } = runtime;
const provider = "postgres";

// Prisma 7 has the address of the database in its own configuration, and other generators.
const schema = readFileSync(process.env.PRISMA_DML_PATH, "utf8").replace(
  /(datasource|generator) \w+ \{[^}]*\}/g,
  (_, kind) => (kind === "datasource" ? `datasource db {\n provider = "postgresql"\n}` : ""),
);
/** The names of fields of type JSON, without names that fields of other types have, too, such as `models`. */
const fieldTypes = [...schema.matchAll(/^\s+(\w+)\s+([A-Z]\w*)/gm)];
const jsonFields = new Set(
  fieldTypes.flatMap(([, name]) =>
    fieldTypes.every(([, other, type]) => other !== name || type === "Json") ? [name] : [],
  ),
);
const overrides = JSON.parse(process.env.OVERWRITE_DATASOURCES ?? "[]");
const address = new URL(overrides[0]?.url ?? process.env.DATABASE_URL);
const adapter = await new PrismaPg({ connectionString: address.href, max: 8 }).connect();
const transactionManager = new TransactionManager({
  driverAdapter: adapter,
  transactionOptions: { maxWait: 10_000, timeout: 60_000 },
  tracingHelper,
  provider,
});
const connectionInfo = { schemaName: "public", supportsRelationJoins: true };
const interpreter = QueryInterpreter.forSql({ tracingHelper, provider, connectionInfo });
const compiler = loadCompiler();

function loadCompiler() {
  globalThis.PRISMA_WASM_PANIC_REGISTRY = { set_message: (message) => console.error(message) };
  const folder = join(dirname(require.resolve("prisma/package.json")), "build");
  const bindings = require(join(folder, "query_compiler_fast_bg.postgresql.js"));
  const module = new WebAssembly.Module(
    readFileSync(join(folder, "query_compiler_fast_bg.postgresql.wasm")),
  );
  const { exports } = new WebAssembly.Instance(module, {
    "./query_compiler_fast_bg.js": bindings,
  });
  bindings.__wbg_set_wasm(exports);
  exports.__wbindgen_start();
  return new bindings.QueryCompiler({ datamodel: schema, provider, connectionInfo });
}

// The adapter does not know the type of array_agg(viewname), which is a list of names: 1009 is a list of texts.
const { handleRowDescription } = Query.prototype;
Query.prototype.handleRowDescription = function handleNames(message) {
  for (const field of message.fields) if (field.dataTypeID === 1003) field.dataTypeID = 1009;
  return handleRowDescription.call(this, message);
};

/** The GraphQL that Prisma's client for Python writes: `query { result: findManyX (take: 1) { id } }`. */
const token =
  /\s*(?:("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|([{}()[\]:,]))/y;
function parseGraphql(text) {
  let at = 0;
  let next;
  const advance = () => {
    const current = next;
    token.lastIndex = at;
    const match = token.exec(text);
    at = token.lastIndex;
    const [, string, number, name, mark] = match ?? [];
    next = match ? { string, number, name, mark } : undefined;
    return current;
  };
  const expect = (mark) => {
    if (advance()?.mark !== mark)
      throw new Error(`expected ${mark} before ${text.slice(at, at + 40)}`);
  };
  const listUntil = (mark, read) => {
    const entries = [];
    // The client writes some commas, also before the first entry.
    while (next && next.mark !== mark) {
      if (next.mark === ",") advance();
      else entries.push(read());
    }
    expect(mark);
    return entries;
  };
  const member = () => {
    const { name, string } = advance();
    expect(":");
    return [name ?? JSON.parse(string), value()];
  };
  const value = () => {
    const current = advance();
    if (current.mark === "{") return Object.fromEntries(listUntil("}", member));
    if (current.mark === "[") return listUntil("]", value);
    if (current.string !== undefined) return JSON.parse(current.string);
    if (current.number !== undefined) return Number(current.number);
    const words = { true: true, false: false, null: null };
    return Object.hasOwn(words, current.name) ? words[current.name] : current.name;
  };
  const parts = () => {
    const query = { arguments: {}, selection: {} };
    if (next?.mark === "(") {
      advance();
      query.arguments = Object.fromEntries(listUntil(")", member));
    }
    if (next?.mark === "{") {
      advance();
      query.selection = Object.fromEntries(listUntil("}", selected));
    }
    return query;
  };
  const selected = () => {
    const { name } = advance();
    const isPlain = next?.mark !== "(" && next?.mark !== "{";
    return [name, isPlain ? true : parts()];
  };
  advance();
  advance();
  expect("{");
  advance();
  expect(":");
  const { name } = advance();
  return { name, query: parts() };
}

const actionName =
  /^(findUnique|findFirst|findMany|createOne|createMany|updateOne|updateMany|deleteOne|deleteMany|upsertOne|aggregate|groupBy)(\w+?)(OrThrow)?$/;
function readQuery(text) {
  const { name, query } = parseGraphql(text);
  if (name === "queryRaw" || name === "executeRaw") return { action: name, query };
  const [, action, modelName, orThrow = ""] = actionName.exec(name);
  query.arguments = withJson(query.arguments, false);
  return { modelName, action: `${action}${orThrow}`, query };
}

/** GraphQL has JSON as text, and the compiler as a value with a type. */
function withJson(value, isJson) {
  if (typeof value === "string" && isJson) return { $type: "Json", value };
  if (Array.isArray(value)) return value.map((entry) => withJson(entry, isJson));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, own]) => [
      name,
      // The path in a filter is a list of names.
      withJson(own, name !== "path" && (isJson || jsonFields.has(name))),
    ]),
  );
}

async function run(text, queryable, transaction) {
  const query = readQuery(text);
  const plan = compiler.compile(JSON.stringify(query));
  const manager = transaction ? { enabled: false } : { enabled: true, manager: transactionManager };
  const result = await interpreter.run(plan, {
    queryable,
    transactionManager: manager,
    scope: {},
  });
  return { data: { result: plainOf(result) } };
}

/** Values as Prisma 5 writes them. */
function plainOf(value) {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return value.map(plainOf);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if ("$type" in value) return plainOf(value.value);
  if (typeof value.toFixed === "function") return value.toString();
  return Object.fromEntries(Object.entries(value).map(([name, own]) => [name, plainOf(own)]));
}

function errorOf(error) {
  const code = error.code ?? error.error_code ?? "";
  const message = String(error.message ?? error);
  if (process.env.PRISMA_ENGINE_DEBUG) console.error(error);
  const user_facing_error = { is_panic: false, message, meta: error.meta ?? {}, error_code: code };
  return { errors: [{ error: message, user_facing_error }] };
}

async function answer(path, text, id) {
  const transaction = id && (await transactionManager.getTransaction({ id }, "query"));
  if (path === "/transaction/start") {
    const { max_wait: maxWait, timeout } = JSON.parse(text || "{}");
    return transactionManager.startTransaction({ maxWait, timeout });
  }
  const [, ended, how] = /^\/transaction\/([^/]+)\/(commit|rollback)$/.exec(path) ?? [];
  if (how) {
    await transactionManager[`${how}Transaction`](ended);
    return {};
  }
  if (path !== "/") return { status: "ok" };
  const body = JSON.parse(text);
  if (!body.batch) return run(body.query, transaction || adapter, transaction);
  const own = transaction ? undefined : await transactionManager.startInternalTransaction({});
  const queryable = transaction || (await transactionManager.getTransaction(own, "batch"));
  const batchResult = [];
  try {
    for (const { query } of body.batch) batchResult.push(await run(query, queryable, true));
    if (own) await transactionManager.commitTransaction(own.id);
  } catch (error) {
    if (own) await transactionManager.rollbackTransaction(own.id);
    throw error;
  }
  return { batchResult };
}

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  const id = request.headers["x-transaction-id"];
  const body = await answer(new URL(request.url, "http://a").pathname, text, id).catch((error) => {
    if (process.env.PRISMA_ENGINE_DEBUG) console.error(text.slice(0, 3000));
    return errorOf(error);
  });
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(body));
}).listen(Number(process.argv[process.argv.indexOf("-p") + 1]));
process.on("SIGINT", () => process.exit(0));
process.on("SIGTERM", () => process.exit(0));
