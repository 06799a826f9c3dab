/**
 * vexel.yaml: its values are applied as written, and all of its problems are reported at once, with line and column.
 */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: such text is what the file is about
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadSnapshot } from "../../server/config/build/load-snapshot.ts";
import { describeProblems } from "../../server/config/yaml/problem.ts";
import { knownEmbedding } from "../../server/upstream/catalog/index.ts";
import { loadYaml, problemsOf } from "./load-yaml.ts";

const refused = (text: string | Uint8Array): string[] => problemsOf(text).split("\n");
const accepted = (text: string, env: Record<string, string> = {}) =>
  loadYaml(text, { env }).snapshot;

const example = `upstreams:
  - id: openai
    kind: openai                      # the adapter
    baseUrl: https://api.openai.com/v1
    apiKey: \${OPENAI_API_KEY}
models:
  - id: text-embedding-3-small        # what clients send and the console shows
    kind: embedding                   # embedding | image
    targets:
      - { upstream: openai, model: text-embedding-3-small }
keys:
  - { name: web, key: "\${WEB_KEY}", models: ["text-embedding-*"] }
`;

describe("a valid file", () => {
  test("is read as written", () => {
    const env = { OPENAI_API_KEY: "sk-1", WEB_KEY: "web-0123456789abcdef" };
    const { upstreams, models, keys } = accepted(example, env);
    const openai = {
      id: "openai",
      kind: "openai",
      baseUrl: "https://api.openai.com/v1",
      apiKey: "sk-1",
      headers: {},
      options: {},
    };
    expect(upstreams.get("openai")).toEqual(openai);
    const known = knownEmbedding("text-embedding-3-small");
    expect(models.get("text-embedding-3-small")).toEqual({
      id: "text-embedding-3-small",
      kind: "embedding",
      targets: [{ upstream: openai, model: "text-embedding-3-small", tokenPrice: 0.02 }],
      source: "yaml",
      ownedBy: "openai",
      dimensions: 1536,
      space: "text-embedding-3-small",
      ...(known && { known }),
      maxImages: 10,
    });
    expect([...keys.values()]).toMatchObject([
      { id: "file:web", name: "web", models: ["text-embedding-*"], source: "yaml" },
    ]);
  });

  test("gives each kind its default base URL and its own options, without trailing slashes", () => {
    const { upstreams } = accepted(`upstreams:
  - { id: m, kind: mistral, apiKey: k, headers: { x-team: search } }
  - { id: z, kind: azure, apiKey: k, baseUrl: "https://z.openai.azure.com//", apiVersion: v1 }
  - { id: l, kind: local, path: ./model, pooling: cls }
`);
    expect(upstreams.get("m")?.baseUrl).toBe("https://api.mistral.ai/v1");
    expect(upstreams.get("m")?.headers).toEqual({ "x-team": "search" });
    expect(upstreams.get("z")?.baseUrl).toBe("https://z.openai.azure.com");
    expect(upstreams.get("z")?.options).toEqual({ apiVersion: "v1" });
    expect(upstreams.get("l")?.options).toEqual({ path: "./model", pooling: "cls" });
  });

  test("has base URLs in one spelling: scheme and host in lower case, the path unchanged", () => {
    const { upstreams } = accepted(`upstreams:
  - { id: m, kind: mistral, apiKey: k, baseUrl: "HTTPS://API.Mistral.ai/V1/" }
`);
    expect(upstreams.get("m")?.baseUrl).toBe("https://api.mistral.ai/V1");
  });

  test("may be empty, have only comments, or leave lists blank", () => {
    for (const text of ["", "\n# nothing yet\n", "models:\nkeys:\nupstreams:\n", "{}", "\uFEFF{}"])
      expect(accepted(text).models.size).toBe(2);
  });

  test("may use anchors", () => {
    const { models } = accepted(`models:
  - { id: a, kind: embedding, targets: &there [{ upstream: vexel-minilm, model: m }] }
  - { id: b, kind: embedding, targets: *there }
`);
    expect(models.get("b")?.targets[0]?.upstream.id).toBe("vexel-minilm");
  });

  test("may refer to provisioned upstreams", () => {
    const { models } = accepted(
      `models:
  - { id: mine, kind: embedding, targets: [{ upstream: openai, model: text-embedding-3-small }] }
`,
      { OPENAI_API_KEY: "sk-1" },
    );
    expect(models.get("mine")?.targets[0]?.upstream.apiKey).toBe("sk-1");
  });
});

test("all problems of the schema are reported at once, in order, each with its line, column and key", () => {
  expect(
    refused(
      `upstreams:
  - id: openai
    kind: opnai
  - { id: a b, kind: openai, apikey: foo, base64: 1 }
  - 3
models:
  - id: m
    kind: embeddings
    targets: []
  - id: m
    kind: image
    dimensions: 4
    targets: [{ upstream: opnai, mdoel: x }]
  - id: e
    kind: embedding
    id: f
    targets: []
keys:
  - { name: web, key: "\${NOPE}" }
  - { name: web, key: short }
  - { name: 7, key: "\${X", models: [] }
wat: 1
`,
    ),
  ).toEqual([
    expect.stringMatching(
      /^vexel.yaml:3:11 upstreams\[0\].kind: "opnai" is no kind of upstream \(did you mean "openai"\?\); known: openai, /,
    ),
    "vexel.yaml:4:5 upstreams[1].apiKey: is missing: an upstream of kind openai needs it",
    "vexel.yaml:4:11 upstreams[1].id: must not contain spaces, line breaks or invisible characters",
    "vexel.yaml:4:30 upstreams[1].apikey: unknown key (did you mean `apiKey`?)",
    "vexel.yaml:4:51 upstreams[1].base64: must be true or false, not a number",
    "vexel.yaml:5:5 upstreams[2]: must be a map, not a number",
    'vexel.yaml:8:11 models[0].kind: "embeddings" is no kind of model (did you mean "embedding"?); known: embedding, image',
    "vexel.yaml:12:5 models[1].dimensions: only a model of kind embedding can have this",
    "vexel.yaml:13:15 models[1].targets[0].model: is missing",
    'vexel.yaml:13:27 models[1].targets[0].upstream: there is no upstream "opnai" (did you mean "openai"?)',
    "vexel.yaml:13:34 models[1].targets[0].mdoel: unknown key (did you mean `model`?)",
    "vexel.yaml:16:5 models[2].id: duplicate key",
    "vexel.yaml:17:14 models[2].targets: must have at least one entry",
    "vexel.yaml:19:23 keys[0].key: the environment variable NOPE is not set: set it, and restart a gateway that is running",
    'vexel.yaml:20:13 keys[1].name: "web" is the same as keys[0].name',
    "vexel.yaml:20:23 keys[1].key: must have at least 16 characters",
    "vexel.yaml:21:13 keys[2].name: must be text, not a number: put it in quotes",
    expect.stringMatching(
      /^vexel.yaml:21:21 keys\[2\].key: \$\{X is not closed: write \$\{NAME\} or/,
    ),
    "vexel.yaml:21:36 keys[2].models: must have at least one entry",
    "vexel.yaml:22:1 wat: unknown key; known here: upstreams, models, keys, projects, defaults, alerts, webhooks, builtInModels, environment",
  ]);
});

test("all problems of references are reported at once, in order, each with its line, column and key", () => {
  expect(
    refused(
      `upstreams:
  - { id: openai, kind: openai }
  - { id: openai, kind: azure }
models:
  - id: m
    kind: image
    targets: [{ upstream: vexel-minilm, model: x }, { upstream: opnai, model: x }]
  - id: m
    kind: embedding
    targets:
      - { upstream: openai, model: openai/text-embedding-3-small }
      - { upstream: openai, model: text-embedding-3-large }
keys:
  - { name: web, key: sk-0123456789abcdef }
  - { name: web, key: sk-0123456789abcdeg }
`,
    ),
  ).toEqual([
    "vexel.yaml:2:5 upstreams[0].apiKey: is missing: an upstream of kind openai needs it",
    "vexel.yaml:3:5 upstreams[1].baseUrl: is missing: an upstream of kind azure needs it",
    "vexel.yaml:3:5 upstreams[1]: an upstream of kind azure needs apiKey, or auth",
    'vexel.yaml:3:11 upstreams[1].id: "openai" is the same as upstreams[0].id',
    'vexel.yaml:7:27 models[0].targets[0].upstream: "vexel-minilm" is of kind minilm, which serves only embedding models, and this model is of kind image',
    'vexel.yaml:7:65 models[0].targets[1].upstream: there is no upstream "opnai" (did you mean "openai"?)',
    'vexel.yaml:8:9 models[1].id: "m" is the same as models[0].id',
    'vexel.yaml:12:36 models[1].targets[1].model: "openai/text-embedding-3-small" at "openai" (vector space "text-embedding-3-small") and "text-embedding-3-large" at "openai" (vector space "text-embedding-3-large") are different models, and their vectors cannot be compared; set sameSpace: true on the model if they are one model under two names',
    'vexel.yaml:15:13 keys[1].name: "web" is the same as keys[0].name',
  ]);
});

test("problems of references are reported together with those of the schema", () => {
  expect(
    refused(
      `upstreams:
  - { id: gpu, kind: openai-compatible, apiky: sk-1 }
  - { id: broken, kind: opnai }
models:
  - { id: m, kind: embedding, targets: [{ upstream: gpuu, model: x }] }
  - { id: n, kind: embedding, targets: [{ upstream: broken, model: x }] }
  - { id: m, kind: embedding, dimensions: many, targets: [{ upstream: gpu, model: x }] }
keys:
  - { name: web, key: sk-0123456789abcdef, project: shop }
  - { name: app, key: sk-0123456789abcdeg, expires: next year }
projects: [{ name: shopp }]
defaults: { embedding: nope }
`,
    ),
  ).toEqual([
    "vexel.yaml:2:5 upstreams[0].baseUrl: is missing: an upstream of kind openai-compatible needs it",
    "vexel.yaml:2:41 upstreams[0].apiky: unknown key (did you mean `apiKey`?)",
    expect.stringContaining('vexel.yaml:3:25 upstreams[1].kind: "opnai" is no kind of upstream'),
    'vexel.yaml:5:53 models[0].targets[0].upstream: there is no upstream "gpuu" (did you mean "gpu"?)',
    'vexel.yaml:7:11 models[2].id: "m" is the same as models[0].id',
    "vexel.yaml:7:43 models[2].dimensions: must be a number, not text",
    'vexel.yaml:9:53 keys[0].project: there is no project "shop" (did you mean "shopp"?)',
    "vexel.yaml:10:53 keys[1].expires: must be a date such as 2027-01-31, or a time such as 2027-01-31T12:00:00Z",
    'vexel.yaml:12:24 defaults.embedding: there is no model "nope"',
  ]);
});

test("an entry with a problem is checked for all of its other problems", () => {
  expect(
    refused(
      `upstreams:
  - { id: openai, kind: openai, apiKey: k, timeout: 5 }
  - { id: gpu, kind: vllm, limits: { concurrent: many } }
  - { id: broken, kind: opnai }
models:
  - id: search
    kind: embedding
    dimensions: many
    targets: [{ upstream: gpu, model: x }, { upstream: opena, model: x }, { upstream: broken, model: y }]
  - { id: art, kind: imge, targets: [{ upstream: opena, model: x }, { upstream: openai, model: x }] }
  - { id: pictures, kind: image, targets: [{ upstream: opena, modle: x }, { upstream: gpu, model: x }] }
keys:
  - { name: shop, key: "\${SHOP_KEY}", project: shopp, expires: next year }
  - { name: shop, key: "\${SHOP_KEY}", project: shop, defaults: { embedding: serach, image: pictures } }
  - { name: low, key: sk-0123456789abcdef, project: shopp, budget: { month: -3 } }
projects:
  - { name: shop, budgt: { month: 3 } }
`,
    ).map((line) => line.replace(/; known.*| \(did.*/, "")),
  ).toEqual([
    "vexel.yaml:2:44 upstreams[0].timeout: unknown key",
    "vexel.yaml:3:5 upstreams[1].baseUrl: is missing: an upstream of kind vllm needs it",
    "vexel.yaml:3:50 upstreams[1].limits.concurrent: must be a number, not text",
    'vexel.yaml:4:25 upstreams[2].kind: "opnai" is no kind of upstream',
    "vexel.yaml:8:17 models[0].dimensions: must be a number, not text",
    'vexel.yaml:9:56 models[0].targets[1].upstream: there is no upstream "opena"',
    'vexel.yaml:10:22 models[1].kind: "imge" is no kind of model',
    'vexel.yaml:10:50 models[1].targets[0].upstream: there is no upstream "opena"',
    "vexel.yaml:11:44 models[2].targets[0].model: is missing",
    'vexel.yaml:11:56 models[2].targets[0].upstream: there is no upstream "opena"',
    "vexel.yaml:11:63 models[2].targets[0].modle: unknown key",
    expect.stringContaining("keys[0].key: the environment variable SHOP_KEY is not set"),
    'vexel.yaml:13:48 keys[0].project: there is no project "shopp"',
    "vexel.yaml:13:64 keys[0].expires: must be a date such as 2027-01-31, or a time such as 2027-01-31T12:00:00Z",
    'vexel.yaml:14:13 keys[1].name: "shop" is the same as keys[0].name',
    expect.stringContaining("keys[1].key: the environment variable SHOP_KEY is not set"),
    'vexel.yaml:14:77 keys[1].defaults.embedding: there is no model "serach"',
    'vexel.yaml:15:53 keys[2].project: there is no project "shopp"',
    "vexel.yaml:15:77 keys[2].budget.month: must be at least 0",
    "vexel.yaml:17:19 projects[0].budgt: unknown key",
  ]);
});

test.each(["", "id: 1", "- a", "kind: 2"])(
  "entries without a name are reported, each at its place: %j",
  (entry) => {
    for (const list of ["models", "upstreams", "projects", "keys", "alerts", "webhooks"]) {
      const lines = refused(`${list}:\n  - ${entry}\n  - ${entry}\n`);
      expect(lines.some((line) => line.startsWith("vexel.yaml:2:"))).toBe(true);
      expect(lines.some((line) => line.startsWith("vexel.yaml:3:"))).toBe(true);
      expect(lines.join("\n")).not.toContain("is the same as");
    }
  },
);

test("a broken entry causes no second problem where other entries refer to it", () => {
  const [only, ...more] = refused(
    `upstreams:
  - { id: moderator, kind: opnai, apiKey: sk-1 }
models:
  - { id: pictures, kind: imge, targets: [{ upstream: moderator, model: gpt-image-1 }] }
keys:
  - { name: web, key: sk-0123456789abcdef, project: shop, defaults: { image: pictures } }
projects: [{ name: shop, limits: { requestsPerMinute: many } }]
`,
  );
  expect(only).toContain("upstreams[0].kind");
  expect(more.map((line) => line.split(" ")[1])).toEqual([
    "models[0].kind:",
    "projects[0].limits.requestsPerMinute:",
  ]);
});

describe("an invalid file is refused with a plain message:", () => {
  const upstream = (rest: string) => `upstreams:\n  - { id: u, kind: vllm, ${rest} }\n`;
  const model = (rest: string) =>
    `models:\n  - { id: m, targets: [{ upstream: vexel-sketch, model: x }], ${rest} }\n`;
  const cases: readonly (readonly [what: string, text: string, says: string])[] = [
    ["a list instead of a map", "- a", "1:1 must be a map, not a list"],
    ["a lone word", "hello", "1:1 must be a map, not text"],
    ["a map instead of a list", "models: { a: 1 }", "1:9 models: must be a list, not a map"],
    ["an unclosed bracket", "models: [\n", "bracket that is not closed"],
    ["an unclosed quote", "models: 'x\n", "a quote, comma, colon or bracket is missing"],
    ["a tab", "models:\n\t- a\n", "2:1 a tab is used for indentation: use spaces"],
    ["two documents", "a: 1\n---\nb: 1\n", "only one document"],
    ["an unknown tag", "models: !x []", "an unknown !tag"],
    [
      "an alias of nothing",
      "models: *nope",
      "1:9 an alias without an anchor of this name before it",
    ],
    [
      "a file that holds itself",
      "models: &a [*a]",
      "1:13 an alias inside the value that it repeats",
    ],
    ["a key that is no text", "? [a]\n: b\n", "a key must be plain text"],
    ["__proto__", "__proto__: { models: 1 }", "1:1 __proto__: unknown key"],
    ["a variable as a key", `$\{X}: 1`, "1:1 a key cannot contain a variable"],
    ["a URL without a scheme", upstream("baseUrl: gpu-box"), "baseUrl: is not a valid URL"],
    ...[
      "https://api.openai.com/v1/embeddings",
      "https://api.openai.com/v1/images/generations/",
      "http://gpu-box:7997/embeddings",
      "https://x.openai.azure.com/openai/v1/Images/Edits",
      "https://gpu-box/v1/chat/completions",
    ].map((url) => {
      const [, path] = /(\/(?:embeddings|images\/\w+|chat\/completions))\/?$/i.exec(url) ?? [];
      const problem = `baseUrl: must not end with the path of an endpoint: remove ${path}`;
      return [
        `the address of an endpoint, ${url}`,
        upstream(`baseUrl: "${url}"`),
        problem,
      ] as const;
    }),
    ["a URL without slashes", upstream("baseUrl: 'http:gpu-box'"), "must start with http://"],
    ["a URL of another scheme", upstream("baseUrl: file:///etc"), "must start with http://"],
    [
      "a password in a URL",
      upstream("baseUrl: 'http://u:p@h'"),
      "baseUrl: must not contain a user",
    ],
    ["a query in a URL", upstream("baseUrl: 'http://h/?a=b'"), "must not contain a query"],
    [
      "a broken header",
      upstream('baseUrl: http://h, headers: { a: "x\\ny" }'),
      "headers.a: contains a",
    ],
    [
      "a header name",
      upstream("baseUrl: http://h, headers: { a b: x }"),
      "is not a valid header name",
    ],
    [
      "a key with a line break",
      upstream('baseUrl: http://h, apiKey: "k\\n"'),
      "apiKey: contains a",
    ],
    ["a model with no kind", model("dimensions: 3"), "kind: is missing; known: embedding, image"],
    ["too many images", model("kind: image, maxImages: 11"), "maxImages: must be at most 10"],
    [
      "a fraction as the number of images",
      model("kind: image, maxImages: 1.5"),
      "maxImages: must be a whole number",
    ],
    [
      "an embedding model at an image upstream",
      model("kind: embedding"),
      "serves only image models",
    ],
    [
      "an id that is too long",
      `models: [{ kind: image, id: ${"x".repeat(201)} }]`,
      "id: must have at most 200",
    ],
    [
      "an invisible id",
      'models: [{ kind: image, id: "a\\u200b" }]',
      "id: must not contain spaces, line breaks",
    ],
    [
      "one key under two names",
      "keys: [{ name: a, key: 0123456789abcdef-x }, { name: b, key: 0123456789abcdef-x }]",
      "keys[1].key: it is the same as keys[0].key",
    ],
    [
      "an upstream only a variable would make",
      "models: [{ id: m, kind: image, targets: [{ upstream: openai, model: m }] }]",
      'there is no upstream "openai" (OPENAI_API_KEY would create it, or add it under upstreams)',
    ],
    [
      "a built-in upstream that was switched off",
      "builtInModels: false\nmodels: [{ id: m, kind: image, targets: [{ upstream: vexel-sketch, model: m }] }]",
      'there is no upstream "vexel-sketch"',
    ],
  ];
  for (const [what, text, says] of cases)
    test(what, () => expect(refused(text).join("\n")).toContain(says));
});

test("limits of end users and tags say where they belong, and that they have no total", () => {
  expect(
    refused(`projects:
  - { name: a, perEndUser: { budget: { total: 5 } } }
keys:
  - { name: k, key: sk-0123456789abcdef, perTag: {} }
`),
  ).toEqual([
    "vexel.yaml:2:40 projects[0].perEndUser.budget.total: end users and tags have budgets per `day` and `month`, not in total",
    "vexel.yaml:4:42 keys[0].perTag: only a project can have this: put the API key into a project",
  ]);
});

describe("a file that cannot be read", () => {
  const folder = mkdtempSync(join(tmpdir(), "vexel-config-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const missing = join(folder, "missing.yaml");
  test("is ignored if it is optional and missing", () => {
    expect(loadSnapshot({ path: missing, env: {} }).ok).toBe(true);
  });
  test("is reported with the setting that names it if it is missing", () => {
    const loaded = loadSnapshot({ path: missing, env: {}, namedBy: "VEXEL_CONFIG" });
    expect(!loaded.ok && describeProblems(loaded.problems)).toBe(
      `VEXEL_CONFIG: ${missing} does not exist. Create it or correct the path.`,
    );
  });
  test("is reported if it is a directory, a dangling link or a link cycle", () => {
    const circle = join(folder, "circle");
    symlinkSync(circle, circle);
    mkdirSync(join(folder, "d"));
    writeFileSync(join(folder, "file"), "");
    for (const [at, says] of [
      [join(folder, "d"), "is not a regular file"],
      [join(folder, "file", "below"), "a part of its path is not a directory"],
      [circle, "cannot be read (ELOOP)"],
    ] as const) {
      const loaded = loadSnapshot({ path: at, env: {} });
      expect(!loaded.ok && describeProblems(loaded.problems)).toContain(says);
    }
  });
  test("is reported if it is not UTF-8 or too large", () => {
    expect(refused(new Uint8Array([0x61, 0xff]))).toEqual(["vexel.yaml: is not UTF-8 text"]);
    expect(refused("#".repeat(1024 * 1024 + 1))).toEqual(["vexel.yaml: is larger than 1 MiB"]);
    expect(accepted("#".repeat(1024 * 1024)).version).toBe(1);
  });
});

test("a file with too many aliases, levels, variables or mistakes is refused quickly", () => {
  const nine = (name: string) => `[${Array(9).fill(`*${name}`)}]`;
  const bomb = [..."bcdefghij"].map((to, i) => `${to}: &${to} ${nine("abcdefghi"[i]!)}`).join("\n");
  // An ordinary large file, as a measure of how fast this machine is now.
  const models = Array.from(
    { length: 500 },
    (_, i) => `  - { id: m${i}, kind: embedding, targets: [] }`,
  );
  const ordinaryMs = millisecondsOf(() => refused(`models:\n${models.join("\n")}`));
  const began = performance.now();
  expect(refused(`a: &a [x,x,x]\n${bomb}`)[0]).toContain("too many aliases");
  expect(refused(`a: &a 1\nb: [${"*a,".repeat(101)}]`)[0]).toContain("more than 100 aliases");
  expect(refused("[".repeat(20_000))[0]).toContain("is nested too deeply");
  expect(refused("${".repeat(10_001))[0]).toContain("${ is not closed");
  const many = refused(Array.from({ length: 5000 }, (_, i) => `model${i}: 1`).join("\n"));
  expect(many).toHaveLength(101);
  expect(many.at(-1)).toBe("vexel.yaml: and 4900 more problems");
  expect(performance.now() - began).toBeLessThan(100 * ordinaryMs + 1000);
});

function millisecondsOf(work: () => unknown): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}
