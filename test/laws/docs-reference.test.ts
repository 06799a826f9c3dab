/**
 * The reference pages agree with the code: errors, settings, routes, upstreams and vexel.yaml are complete, and
 * examples are valid.
 */
import { describe, expect, test } from "bun:test";
import Ajv from "ajv/dist/2020";
import { z } from "zod";
import { targets } from "../../bench/scenarios.ts";
import { policyNames } from "../../contract/admin.ts";
import { type ErrorDefinition, type ErrorKind, errorTable } from "../../contract/errors.ts";
import manifest from "../../package.json";
import { buildOpenapi } from "../../server/api/openapi.ts";
import { loadSnapshot } from "../../server/config/build/load-snapshot.ts";
import { providers, variablesOf } from "../../server/config/sources/providers.ts";
import { knownKeys } from "../../server/config/validate/schema.ts";
import { routes } from "../../server/http/routes.ts";
import { jsonBounds } from "../../server/lib/json-bounds.ts";
import { rangeCodes } from "../../server/lib/out-of-range.ts";
import { fileVariableOf, secretSettings, settingsTable } from "../../server/settings.ts";
import { adapters } from "../../server/upstream/adapters/index.ts";
import type { ImageInputCapabilities } from "../../server/upstream/contract.ts";
import { kinds } from "../../server/upstream/kinds.ts";
import { vendorCases } from "../embedding-vendors/index.ts";
import { blocksOf, codeHeadings, codesIn, firstCodes, rowsOf, sectionOf } from "./markdown.ts";
import { filesBelow, sources, textOf } from "./tree.ts";

describe("docs/errors.md", () => {
  const table = Object.entries(errorTable) as [ErrorKind, ErrorDefinition][];

  test("has every error and no other, in the order of the table", () => {
    expect(codeHeadings("docs/errors.md", 3)).toEqual(table.map(([name]) => name));
  });

  test("describes each as the table does, and says what to do", () => {
    for (const [name, definition] of table) {
      const { body } = sectionOf("docs/errors.md", `\`${name}\``);
      const [facts, when, advice] = body.split("\n\n");
      expect(`${name}: ${facts}`).toBe(`${name}: ${factsOf(name, definition)}`);
      expect(`${name}: ${when}`).toBe(`${name}: ${definition.description}`);
      expect(`${name}: ${advice ?? ""}`).toMatch(/: .{20,}/);
    }
  });

  test("has the code of every value out of its bounds", () => {
    const { body } = sectionOf("docs/errors.md", "`invalid_value`");
    const rows = body.split("\n").filter((line) => /^\| .*_/.test(line));
    expect(codesIn(rows.join("\n"))).toEqual([...rangeCodes]);
  });

  test("has no error that the server never returns", () => {
    const server = sources().filter((file) => file.startsWith("server/"));
    const text = server.map(textOf).join("\n");
    expect(table.map(([name]) => name).filter((name) => !text.includes(`"${name}"`))).toEqual([]);
  });
});

/** The page says once what most errors have in common: code, type, the client as the cause, and no retry. */
const factsOf = (name: ErrorKind, definition: ErrorDefinition): string =>
  [
    `**${definition.status}**${typeOf(definition)}${codeOf(name, definition)}.`,
    ...(definition.causedBy === "client" ? [] : [`Caused by the ${definition.causedBy}.`]),
    ...retryOf(definition),
    ...(definition.mayBeBilled ? ["May have been billed."] : []),
  ].join(" ");

const codeOf = (name: ErrorKind, { code }: ErrorDefinition): string =>
  code === name ? "" : `, code \`${code}\``;

const typeOf = ({ type }: ErrorDefinition): string =>
  type === "invalid_request_error" ? "" : `, type \`${type}\``;

function retryOf({ retry, clientShouldNotRetry }: ErrorDefinition): string[] {
  if (retry === "never") return [];
  if (retry === "later") return ["Retry later."];
  return [clientShouldNotRetry ? "Fails over." : "Fails over; a retry may help."];
}

describe("docs/settings.md", () => {
  const table: [string, z.ZodType][] = Object.entries(settingsTable);

  test("has every setting and no other", () => {
    expect(codeHeadings("docs/settings.md", 3).sort()).toEqual(table.map(([name]) => name).sort());
    expect(codesIn(sectionOf("docs/settings.md", "Secrets in files").body).sort()).toEqual(
      [...secretSettings].map(fileVariableOf).sort(),
    );
  });

  test("describes each as the table does", () => {
    for (const [name, schema] of table) {
      const paragraphs = sectionOf("docs/settings.md", `\`${name}\``).body.split("\n\n");
      const fallback = String(schema.parse(undefined));
      // The page says once that a setting without a default is empty.
      const [facts = "", description = ""] = fallback === "" ? ["", ...paragraphs] : paragraphs;
      const { enum: values } = z.toJSONSchema(schema, { io: "output" }) as { enum?: string[] };
      const choice = values ? ` One of ${values.map((value) => `\`${value}\``).join(", ")}.` : "";
      const expected = fallback === "" ? "" : `Default: \`${fallback}\`.${choice}`;
      // A number of bytes may be repeated in larger units.
      const documented = facts.replace(/ \((\d+) ([MG])iB\)/, (_, count: string, unit: string) => {
        const bytes = Number(count) * 1024 ** (unit === "M" ? 2 : 3);
        return String(bytes) === fallback ? "" : ` (${count} ${unit}iB is wrong)`;
      });
      expect(`${name} ${documented}`).toBe(`${name} ${expected}`);
      expect(`${name} ${description.split("\n")[0]}`).toBe(`${name} ${schema.description}`);
    }
  });
});

interface Content {
  readonly schema?: { readonly properties?: Readonly<Record<string, unknown>> };
}

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: { readonly 200: { readonly content: Readonly<Record<string, Content>> } };
}

describe("docs/api.md", () => {
  const document = buildOpenapi("http://127.0.0.1:8080", manifest.version) as unknown as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  const operationOf = (heading: string): Operation => {
    const [, method = "", path = ""] = /^`(\w+) (\S+)`$/.exec(heading) ?? [];
    const found = document.paths[path]?.[method.toLowerCase()];
    if (!found) throw new Error(`there is no ${heading}`);
    return found;
  };
  const requestOf = (heading: string): Content["schema"] => {
    const content = operationOf(heading).requestBody?.content;
    return (content?.["application/json"] ?? content?.["multipart/form-data"])?.schema;
  };

  const nameOf = (row: { readonly method: string; readonly path: string }) =>
    `${row.method} ${row.path}`;
  const ownRoutes = routes.filter(({ sameAs }) => sameAs === undefined);

  test("has every route and no other", () => {
    expect(codeHeadings("docs/api.md", 2).sort()).toEqual(ownRoutes.map(nameOf).sort());
  });

  test("has every alias of a route, with the route", () => {
    // In the table, `*` is any further path, and `…` the path after `/v1/`.
    const documented = rowsOf(sectionOf("docs/api.md", "Other paths")).flatMap(
      ([paths = "", aliases = ""]) => {
        const patterns = codesIn(paths);
        return ownRoutes
          .filter(({ path }) =>
            patterns.some((pattern) =>
              pattern.endsWith("*") ? path.startsWith(pattern.slice(0, -1)) : path === pattern,
            ),
          )
          .flatMap((row) =>
            codesIn(aliases).map(
              (alias) => `${alias.replace("…", row.path.slice("/v1/".length))}: ${nameOf(row)}`,
            ),
          );
      },
    );
    const aliases = routes.flatMap((row) => {
      const origin = ownRoutes.find(({ name }) => name === row.sameAs);
      return origin ? [`${row.path}: ${nameOf(origin)}`] : [];
    });
    expect(documented.sort()).toEqual(aliases.sort());
    expect(aliases.length).toBeGreaterThan(10);
  });

  test("describes each with its summary", () => {
    for (const row of ownRoutes) {
      const { body } = sectionOf("docs/api.md", `\`${nameOf(row)}\``);
      expect(body.startsWith(row.summary.replace(/\.$/, ""))).toBeTrue();
    }
  });

  /** Routes whose body has the fields of others, which are documented there. */
  const sharesFieldsWith: Readonly<Record<string, readonly string[]>> = {
    "/v1/engines/{model}/embeddings": ["/v1/embeddings"],
    "/v1/images/edits": ["/v1/images/generations"],
    "/v1/images/generations/async": ["/v1/images/generations"],
    "/v1/images/edits/async": ["/v1/images/generations", "/v1/images/edits"],
  };

  test("has every field of every body and no other", () => {
    const fieldsOf = (heading: string) => firstCodes(sectionOf("docs/api.md", heading)).sort();
    const documentedFields = (heading: string) =>
      Object.keys(requestOf(heading)?.properties ?? {}).sort();
    for (const { method, path, sameAs } of routes.filter((row) => row.method === "POST")) {
      const heading = `\`${method} ${path}\``;
      const shared = (sharesFieldsWith[path] ?? [])
        .flatMap((each) => fieldsOf(`\`POST ${each}\``))
        // A field that is in the path is not in the body.
        .filter((field) => !path.includes(`{${field}}`));
      // An alias of a route has the fields of the route, and no table of its own.
      if (sameAs !== undefined) {
        const origin = routes.find(({ name }) => name === sameAs);
        expect(documentedFields(heading)).toEqual(
          documentedFields(`\`${origin?.method} ${origin?.path}\``),
        );
        continue;
      }
      expect([...shared, ...fieldsOf(heading)].sort()).toEqual(documentedFields(heading));
    }
  });

  test("has the limits of a JSON body as they are in the code", () => {
    const written = rowsOf(sectionOf("docs/api.md", "Body size limit")).map(([, value]) => value);
    expect(written).toEqual(
      Object.values(jsonBounds).map((bound) => bound.toLocaleString("en-US")),
    );
  });

  test("has every word for a task type, and no other (docs/embeddings.md)", () => {
    const documented = rowsOf(sectionOf("docs/embeddings.md", "Task types")).flatMap(
      ([meaning, description = ""]) => codesIn(description).map((word) => `${word}: ${meaning}`),
    );
    const [, table = ""] =
      /^const spellings.*?\{\n(.*?)^\};/ms.exec(textOf("server/upstream/task-type.ts")) ?? [];
    const written = [...table.matchAll(/^ {2}(\w+): "([\w-]+)",$/gm)];
    expect(documented).toEqual(written.map(([, word, meaning]) => `${word}: ${meaning}`));
    expect(documented.length).toBeGreaterThan(10);
  });

  const examples = blocksOf("docs/api.md").filter(({ info }) => info.startsWith("json "));
  test("has every kind that makes quantized vectors, and its types (docs/embeddings.md)", () => {
    const made = vendorCases.flatMap(({ target: { upstream }, target }) => {
      const { outputTypes } = adapters.get(upstream.kind)!.embeddings!.capabilities(target);
      if (!outputTypes) return [];
      const { types, field } = outputTypes;
      const makes = (["int8", "uint8", "ubinary"] as const).map((type) =>
        types.includes(type) ? "yes" : "no",
      );
      return [[upstream.kind, ...makes, field].join(" ")];
    });
    const documented = rowsOf(sectionOf("docs/embeddings.md", "Quantized vectors"))
      .filter((cells) => cells.length === 7 && cells[5] !== "")
      .map(([kind = "", , int8, uint8, bits, field = ""]) =>
        [codesIn(kind)[0], int8, uint8, bits, codesIn(field)[0]].join(" "),
      );
    expect([...new Set(documented)].sort()).toEqual([...new Set(made)].sort());
  });

  test("has examples", () => {
    expect(examples.length).toBeGreaterThan(ownRoutes.length / 2);
  });
  for (const { info, text, under } of examples) {
    test(`${under}: the ${info.slice(5)} is valid`, () => {
      const schema =
        info === "json request"
          ? requestOf(under)
          : operationOf(under).responses[200].content["application/json"]?.schema;
      const ajv = new Ajv();
      const valid = ajv.validate(schema ?? false, JSON.parse(text));
      expect(valid ? "valid" : ajv.errorsText()).toBe("valid");
    });
  }

  test("has every header that the gateway sets by itself", () => {
    const documented = firstCodes(sectionOf("docs/api.md", "Response headers"));
    const text = ["api", "auth", "http", "images", "idempotency", "limits", "pipeline", "request"]
      .flatMap((folder) => filesBelow(`server/${folder}`))
      .map(textOf)
      .join("\n");
    for (const name of documented) expect(`${name} ${text.includes(name)}`).toBe(`${name} true`);
    const ours = [...text.matchAll(/"((?:x-(?!content-)|vexel-|retry-)[a-z-]+)":/g)].map(
      ([, name]) => name,
    );
    expect([...new Set(ours)].filter((name) => !documented.includes(name as string))).toEqual([]);
  });
});

describe("docs/upstreams.md", () => {
  const path = "docs/upstreams.md";
  const served = {
    "embedding, image": "Embeddings and images.",
    embedding: "Embeddings.",
    image: "Images.",
  } as const;

  test("has every kind of upstream and no other, with its facts", () => {
    const table = rowsOf(sectionOf(path, "OpenAI-compatible upstreams"));
    const rows = new Map(table.map(([name = "", ...facts]) => [codesIn(name)[0], facts]));
    const sections = codeHeadings(path, 3);
    expect<(string | undefined)[]>([...rows.keys(), ...sections]).toEqual([...kinds.keys()]);
    const list = (names: readonly string[], none: string) =>
      names.length > 0 ? names.map((name) => `\`${name}\``).join(", ") : none;
    for (const { name, baseUrl, needs, options, serves } of kinds.values()) {
      const defaultUrl = baseUrl ? `\`${baseUrl}\`` : "none";
      const wants = list(needs, "nothing");
      const others = Object.keys(options).filter((option) => !needs.includes(option));
      const has = list(others, "none");
      const makes = serves ?? "embedding, image";
      const row = rows.get(name);
      if (row) {
        // The one option that all rows of the table have is described above it.
        expect(`${name}: ${has}`).toBe(`${name}: \`base64\``);
        expect([name, ...row.slice(0, 3)]).toEqual([name, defaultUrl, wants, makes]);
        expect(row[3]).toMatch(/\w.*\.$/);
        continue;
      }
      const facts = [
        ...(baseUrl ? [`Base URL ${defaultUrl}.`] : []),
        ...(needs.length > 0 ? [`Needs ${wants}.`] : []),
        ...(others.length > 0 ? [`Options: ${has}.`] : []),
        served[makes],
      ].join(" ");
      const { body } = sectionOf(path, `\`${name}\``);
      expect(`${name}: ${body.split("\n\n")[0]}`).toBe(`${name}: ${facts}`);
      expect(body.split("\n\n").length).toBeGreaterThan(1);
    }
  });

  test("has every provider with all its variables, in order of precedence", () => {
    const rows = rowsOf(sectionOf(path, "Provider keys from environment variables"));
    const documented = rows.map((cells) => cells.flatMap(codesIn));
    expect(documented).toEqual(
      providers.map((provider) => [provider.kind, ...variablesOf(provider)]),
    );
  });

  test("has every option of a local embedding model", () => {
    const local = Object.keys(kinds.get("local")?.options ?? {});
    expect(firstCodes(sectionOf(path, "Local ONNX embedding models")).sort()).toEqual(local.sort());
  });

  test("describes every built-in model", () => {
    const loaded = loadSnapshot({ path: "/nowhere/vexel.yaml", env: {} });
    const ids = loaded.ok ? [...loaded.snapshot.models.keys()] : [];
    expect(ids).not.toEqual([]);
    for (const id of ids) expect(sectionOf(path, id).level).toBe(3);
  });
});

describe("docs/configuration.md", () => {
  const path = "docs/configuration.md";

  test("has every key of vexel.yaml and no other", () => {
    const keysUnder = (heading: string) => firstCodes(sectionOf(path, heading)).sort();
    const sorted = (keys: readonly string[]) => [...new Set(keys)].sort();
    const ofBothKinds = (keyPath: readonly PropertyKey[]) =>
      sorted(["embedding", "image"].flatMap((kind) => knownKeys(keyPath, kind)));
    expect(keysUnder("Top-level keys")).toEqual(sorted(knownKeys([])));
    expect(keysUnder("API keys")).toEqual(sorted(knownKeys(["keys", 0])));
    expect(keysUnder("Default models")).toEqual(sorted(knownKeys(["defaults"])));
    expect(keysUnder("Projects")).toEqual(sorted(knownKeys(["projects", 0])));
    expect(keysUnder("Rate limits")).toEqual(sorted(knownKeys(["keys", 0, "limits"])));
    expect(keysUnder("Budgets")).toEqual(sorted(knownKeys(["keys", 0, "budget"])));
    expect(keysUnder("Webhooks")).toEqual(sorted(knownKeys(["webhooks", 0])));
    expect(keysUnder("Upstreams")).toEqual(sorted(knownKeys(["upstreams", 0])));
    expect(keysUnder("Models")).toEqual(ofBothKinds(["models", 0]));
    expect(keysUnder("Targets")).toEqual(ofBothKinds(["models", 0, "targets", 0]));
    const moderation = knownKeys(["models", 0, "moderation"], "image");
    expect(keysUnder("Prompt moderation")).toEqual(sorted(moderation));
    const priceKeys = (kind: string) => sorted(knownKeys(["models", 0, "price"], kind));
    expect(keysUnder("Embedding prices")).toEqual(priceKeys("embedding"));
    expect(keysUnder("Image prices")).toEqual(priceKeys("image"));
  });

  test("has every policy of target selection and no other", () => {
    const names = firstCodes(sectionOf(path, "Load balancing and failover"));
    expect(names).toEqual([...policyNames]);
  });
});

test("docs/embeddings.md has every kind that embeds images and no other", () => {
  const rows = rowsOf(sectionOf("docs/embeddings.md", "Images"));
  const documented = rows.flatMap(([name = ""]) => codesIn(name).filter((code) => kinds.has(code)));
  const readers = vendorCases
    .filter(
      ({ target }) => adapters.get(target.upstream.kind)?.embeddings?.capabilities(target).images,
    )
    .map(({ target }) => target.upstream.kind);
  expect([...new Set(documented)].sort()).toEqual([...new Set(readers)].sort());
});

const formatWords: Readonly<Record<string, string>> = {
  "image/png": "PNG",
  "image/jpeg": "JPEG",
  "image/webp": "WebP",
  "image/gif": "GIF",
  "image/avif": "AVIF",
};

/** How docs/embeddings.md writes what a target fuses. */
function fusionWords({ fuses, maxPerEntry }: ImageInputCapabilities): string {
  if (fuses === undefined) return "no";
  if (fuses === "pair") return "one text and one image";
  return maxPerEntry === 1 ? "texts with one image" : "any parts";
}

test("docs/embeddings.md says what each target fuses, its formats and the evidence", () => {
  const rows = rowsOf(sectionOf("docs/embeddings.md", "Images")).filter(([name = ""]) =>
    codesIn(name).some((code) => kinds.has(code)),
  );
  expect(rows.filter((cells) => cells.length !== 6 || cells[5] === "")).toEqual([]);
  for (const { name, target } of vendorCases) {
    const { images } = adapters.get(target.upstream.kind)!.embeddings!.capabilities(target);
    if (!images) continue;
    const formats = images.types.map((type) => formatWords[type]).join(", ");
    const isDocumented = rows.some(
      ([kind = "", , fuses = "", written]) =>
        codesIn(kind)[0] === target.upstream.kind &&
        written === formats &&
        fuses
          .split("; ")
          .some((part) => part.replace(/^.*: (?=no$)/, "").startsWith(fusionWords(images))),
    );
    const facts = `${name}: ${fusionWords(images)}, ${formats}`;
    expect(isDocumented ? "documented" : facts).toBe("documented");
  }
});

test("bench/README.md has every target of the bench, with the value that --check compares", () => {
  const rows = rowsOf(sectionOf("bench/README.md", "Targets"));
  const documented = rows.map(([name = "", value]) => [codesIn(name)[0], Number(value)]);
  expect<unknown>(documented).toEqual(Object.entries(targets));
});
