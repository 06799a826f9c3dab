/** The command line: the output of each command, its stream, and its exit code. */
import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json";
import { startFake } from "../fake-upstream.ts";
import { configFor, temporaryFolder } from "../harness.ts";
import { certificateFiles, newCertificate } from "../http/tls-fixture.ts";
import { testWith } from "../programs.ts";
import { vexel, vexelProcess } from "./process-fixture.ts";

const folder = temporaryFolder();
const fake = startFake();
afterAll(() => {
  fake.close();
  folder[Symbol.dispose]();
});
const run = (args: readonly string[], env: Record<string, string> = {}) =>
  vexel(args, { cwd: folder.path, env });
const file = (name: string, text: string): string => {
  const path = join(folder.path, name);
  writeFileSync(path, text);
  return path;
};

describe("help", () => {
  test.each([["help"], ["--help"], ["-h"]])(
    "%s lists every command, with exit code 0",
    async (word) => {
      const { code, out, err } = await run([word]);
      expect({ code, err }).toEqual({ code: 0, err: "" });
      for (const name of ["serve", "check", "keys", "models"]) expect(out).toContain(`  ${name} `);
    },
  );

  test.each(["serve", "check", "keys", "models"])("%s --help shows the usage", async (name) => {
    const { code, out, err } = await run([name, "--help"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toStartWith(`Usage: vexel ${name}`);
  });

  test("--version prints the version, in a process of its own", async () => {
    expect(await vexelProcess(["--version"], { cwd: folder.path })).toEqual({
      code: 0,
      out: `${manifest.version}\n`,
      err: "",
    });
  });

  test("needs no data folder and creates none", () => {
    expect(readdirSync(folder.path)).toEqual([]);
  });
});

describe("wrong usage gives exit code 2 and one line that names the mistake and the help:", () => {
  test.each<[string, readonly string[], string]>([
    ["an unknown command", ["frobnicate"], 'unknown command "frobnicate"'],
    ["a misspelled command", ["chekc"], 'unknown command "chekc" (did you mean "check"?).'],
    ["a misspelled action", ["keys", "crate"], 'not "crate" (did you mean "create"?).'],
    ["no action", ["keys"], 'vexel keys: expected "create", "list" or "revoke".'],
    ["an unknown option", ["--frobnicate"], "unknown option --frobnicate. Run "],
    ["an unknown option of a command", ["check", "--frobnicate"], "unknown option --frobnicate."],
    [
      "a misspelled option",
      ["serve", "--prot", "80"],
      "unknown option --prot (did you mean --port?).",
    ],
    ["an option with one dash", ["-port=80"], "unknown option -port (did you mean --port?)."],
    [
      "a misspelled --version",
      ["--verison"],
      "unknown option --verison (did you mean vexel --version?).",
    ],
    ["a misspelled --help", ["keys", "list", "--hlep"], "(did you mean --help?)."],
    ["an option without its value", ["serve", "--port"], "--port needs a value."],
    [
      "an option without its value before another one",
      ["serve", "--port", "--host", "h"],
      "--port needs a value. If the value is --host, write --port=--host.",
    ],
    ["a value of an option that has none", ["check", "--probe=1"], "--probe takes no value."],
    [
      "a negative number",
      ["keys", "create", "--budget-day", "-1"],
      '--budget-day must be US dollars, a number from 0 to 1000000000, not "-1".',
    ],
    ["a word too many", ["serve", "now"], '"now"'],
    ["two files", ["check", "a", "b"], "only one FILE can be checked"],
    ["a word that means nothing", ["models", "all"], '"all"'],
  ])("%s", async (_, args, text) => {
    const { code, out, err } = await run(args);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(text);
    expect(err).toMatch(
      /^vexel[^\n]*("vexel [a-z]+ --help" for help|"vexel help" lists the commands)\.\n$/,
    );
  });

  test("a setting that cannot be meant, which the page of the settings describes", async () => {
    expect(await run(["serve", "--port", "eighty"])).toEqual({
      code: 2,
      out: "",
      err: 'vexel serve: --port "eighty": must be a number. docs/settings.md describes the settings.\n',
    });
    expect((await run(["serve", "--port", "99999"])).err).toBe(
      'vexel serve: --port "99999": must be at most 65535. docs/settings.md describes the settings.\n',
    );
  });
});

describe("check", () => {
  testWith("openssl")("checks the files of the TLS certificate as well", async () => {
    const path = file("tls.yaml", configFor(fake.url));
    const { settings, write } = certificateFiles(folder.path, newCertificate());
    expect((await run(["check", path], settings)).code).toBe(0);
    write({ key: newCertificate().key });
    const { code, out, err } = await run(["check", path], settings);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain("does not belong to the certificate");
  });

  test("prints a summary of a valid file, with exit code 0", async () => {
    const lasting = configFor(fake.url).replaceAll(
      /model: (gpt-image-1\.5|dall-e-3)/g,
      "model: gpt-image-2",
    );
    const path = file("good.yaml", lasting);
    const { code, out, err } = await run(["check", path]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/good\.yaml is valid: \d+ upstreams, \d+ models, 1 key\.\n$/);
  });

  test("warns about a model that its vendor has retired, with the date", async () => {
    const ended = configFor(fake.url).replaceAll("gpt-image-1.5", "gpt-image-1");
    const { code, err } = await run(["check", file("ended.yaml", ended)]);
    expect(code).toBe(0);
    expect(err).toContain(
      'warning: the model "image-model": "gpt-image-1" at "fake" was shut down on ',
    );
  });

  test("reports every mistake in a file with its location, with exit code 1", async () => {
    const path = file(
      "bad.yaml",
      "upstreams:\n  - { id: a, kind: opnai, apiKey: x }\nmodels:\n  - { id: m, kind: image, targets: [{ upstream: b, model: 7 }] }\n",
    );
    const { code, out, err } = await run(["check", path]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toMatch(/bad\.yaml:2:\d+ upstreams\[0\]\.kind: /);
    expect(err).toMatch(/bad\.yaml:4:\d+ models\[0\]\.targets\[0\]\.model: /);
  });

  test("fails for a missing file, with exit code 1 and the option or setting that names it", async () => {
    const message = "nowhere.yaml does not exist. Create it or correct the path.\n";
    const env = { VEXEL_CONFIG: "nowhere.yaml" };
    for (const [args, variables, name] of [
      [["check", "nowhere.yaml"], {}, ""],
      [["check"], env, "VEXEL_CONFIG: "],
      [["models"], env, "VEXEL_CONFIG: "],
      [["models", "--config", "nowhere.yaml"], {}, "--config: "],
    ] as const) {
      const { code, err } = await run(args, variables);
      expect({ code, err }).toEqual({ code: 1, err: `${name}${message}` });
    }
  });

  test("says that no model is configured, and how to add one", async () => {
    const path = file("no-models.yaml", "builtInModels: false\n");
    const checked = await run(["check", path]);
    expect(checked.code).toBe(0);
    expect(checked.err).toStartWith("warning: no model is configured");
    expect(checked.err).toContain("OPENAI_API_KEY");
    expect(checked.err).toContain('without "builtInModels: false" there are built-in models');
    const listed = await run(["models", "--config", path]);
    expect(listed.err).toBe(checked.err);
  });

  test("treats a missing optional file like an empty one", async () => {
    expect((await run(["check"])).code).toBe(0);
  });

  test("warns about a likely typo, with exit code 0", async () => {
    const path = file(
      "typo.yaml",
      `${configFor(fake.url)}  - { name: idle, key: sk-idle-0123456789abcdef, models: ["nothing-*"] }\n`,
    );
    const { code, err } = await run(["check", path]);
    expect(code).toBe(0);
    expect(err).toStartWith("warning: ");
    expect(err).toContain("nothing-*");
    expect(err).not.toContain("sk-idle");
  });

  test("warns about a key that has expired already, with exit code 0", async () => {
    const expired = "  - { name: old, key: sk-old-0123456789abcdef, expires: 2020-01-31 }\n";
    const path = file("expired.yaml", `${configFor(fake.url)}${expired}`);
    const { code, err } = await run(["check", path]);
    expect(code).toBe(0);
    expect(err).toContain('warning: the key "old" expired at 2020-01-31T00:00:00.000Z');
  });

  test("--probe passes a working upstream, and sends it only free requests", async () => {
    fake.clear();
    const path = file("good.yaml", configFor(fake.url));
    const { code, out } = await run(["check", path, "--probe"]);
    expect(out).toContain(
      "ok      fake: The server responded with status 200. The credential is valid.",
    );
    expect(code).toBe(0);
    // The second request has no credential: only if it is refused is the credential known to be accepted.
    expect(fake.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /v1/models",
      "GET /v1/models",
    ]);
  });

  test("--probe reports a model that Infinity does not have, and would serve with another one", async () => {
    using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => Response.json({ data: [{ id: "tiny" }] }),
    });
    const probe = (model: string) => {
      const path = file(
        "infinity.yaml",
        `upstreams:
  - { id: own, kind: infinity, baseUrl: "${server.url.origin}" }
models:
  - { id: m, kind: embedding, targets: [{ upstream: own, model: ${model} }] }
`,
      );
      return run(["check", path, "--probe"]);
    };
    const wrong = await probe("large");
    expect(wrong.code).toBe(1);
    expect(wrong.out).toContain(
      "FAILED  own: It serves 'tiny', but not 'large', which targets of models name.",
    );
    expect(await probe("tiny")).toMatchObject({ code: 0 });
  });

  test("--probe reports an invalid key", async () => {
    const path = file(
      "wrong-key.yaml",
      configFor(fake.url).replace("apiKey: sk-fake", "apiKey: sk-wrong-0123456789"),
    );
    const { code, out, err } = await run(["check", path, "--probe"]);
    expect(code).toBe(1);
    expect(out).toContain("FAILED  fake: The server rejected the credential (status 401)");
    expect(`${out}${err}`).not.toContain("sk-wrong");
  });

  test("--probe prints the vendor's message on one line, without secrets, and what to do", async () => {
    const path = file("good.yaml", configFor(fake.url));
    const message = `The project sk-fake has\nno access. ${"x".repeat(1000)}`;
    const probe = (status: number, body: unknown) => {
      fake.script({ response: { status, body: JSON.stringify(body) } });
      return run(["check", path, "--probe"]);
    };
    const refused = await probe(400, { error: { message } });
    expect(refused.code).toBe(1);
    expect(refused.out).toMatch(
      /^FAILED {2}fake: \S+ rejected the request \(status 400\): The project \*\*\* has no access\. x{260,300}\. Check the base URL, the credential and the options\.$/m,
    );
    const limited = await probe(429, { error: { message: "Slow down." } });
    expect(limited.out).toContain(
      " is rate limiting requests (status 429): Slow down. Try again later, or check the quota of the account.\n",
    );
    const silent = await probe(400, null);
    expect(silent.out).toContain(" rejected the request (status 400). Check the ");
  });

  test("--probe reports an unreachable address, and what to check", async () => {
    const path = file("unreachable.yaml", configFor("http://127.0.0.1:9/v1"));
    const { code, out } = await run(["check", path, "--probe"]);
    expect(code).toBe(1);
    expect(out).toContain("FAILED  fake: 127.0.0.1:9 refused the connection");
    expect(out).toContain("Check the port, and whether the server is running.");
  });

  test("--probe reports a failing upstream, and says that one without a model list is not known", async () => {
    const path = file("good.yaml", configFor(fake.url));
    fake.script({ fail: "server-error" });
    const failing = await run(["check", path, "--probe"]);
    expect(failing.code).toBe(1);
    expect(failing.out).toContain(
      " returned an error (status 500): An error occurred while processing your request.",
    );
    fake.script({ fail: "detail" });
    const listless = await run(["check", path, "--probe"]);
    expect(listless.code).toBe(0);
    expect(listless.out).toContain(
      "unknown fake: GET /v1/models gave 404: is the base URL right? It is not known, because some servers have no list of models.\n",
    );
    const other = file("other-version.yaml", configFor(fake.url.replace("/v1", "/v2")));
    const wrong = await run(["check", other, "--probe"]);
    expect(wrong.out).toContain("unknown fake: GET /v2/models gave 404: is the base URL right?");
    fake.script({ response: { status: 200, body: "<html>Welcome</html>" } });
    const page = await run(["check", path, "--probe"]);
    expect(page.code).toBe(0);
    expect(page.out).toContain(
      "unknown fake: GET /v1/models gave 200, but not a list of models: is the base URL right? It is not known.\n",
    );
  });
});

describe("models", () => {
  test("lists the models that a gateway with this configuration serves, with their targets", async () => {
    const path = file("good.yaml", configFor(fake.url));
    const { code, out, err } = await run(["models", "--config", path]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const [head, ...rows] = out.trim().split("\n");
    expect(head).toMatch(/^MODEL +KIND +SOURCE +TARGETS$/);
    expect(rows.find((row) => row.startsWith("embedding-model "))).toMatch(
      /^embedding-model +embedding +yaml +fake:text-embedding-3-large$/,
    );
    expect(rows.some((row) => /^all-minilm-l6-v2 +embedding +built-in /.test(row))).toBe(true);
  });

  test("lists the same models as JSON", async () => {
    const path = file("good.yaml", configFor(fake.url));
    const { code, out } = await run(["models", "--json"], { VEXEL_CONFIG: path });
    expect(code).toBe(0);
    const listed = JSON.parse(out) as { id: string }[];
    expect(listed.find(({ id }) => id === "image-model")).toEqual({
      id: "image-model",
      kind: "image",
      source: "yaml",
      targets: ["fake:gpt-image-1.5"],
    } as never);
  });

  test("includes the providers whose keys are in the environment, and shows no key", async () => {
    const { code, out, err } = await run(["models"], { OPENAI_API_KEY: "sk-from-the-environment" });
    expect(code).toBe(0);
    expect(out).toMatch(/^text-embedding-3-small +embedding +environment /m);
    expect(`${out}${err}`).not.toContain("sk-from");
  });

  test("fails for a configuration with mistakes, with exit code 1", async () => {
    const path = file("bad.yaml", "models: [");
    const { code, out, err } = await run(["models", "--config", path]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain("bad.yaml:1:");
  });
});

test("names from another gateway, from a key and from the configuration cannot control the terminal", async () => {
  // YAML's \\e is the escape character: the first name blinks, and the second one forges a line.
  const config = file(
    "hostile.yaml",
    `model_list:
  - model_name: "a\\e[5mb\\u009b31m"
    litellm_params: { model: "custom\\e]0;title\\a/embedding", api_base: "http://127.0.0.1:1" }
  - model_name: "c\\n  carried      api_key"
    litellm_params: { model: openai/text-embedding-3-small, api_key: sk-a }
`,
  );
  const env = { VEXEL_DATA: join(folder.path, "hostile") };
  const name = "evil\x1b[2J\u202e\nname";
  const outputs = [
    await run(["import", "litellm", "--config", config], env),
    await run(["keys", "create", "--name", name], env),
    await run(["keys", "list"], env),
    await run([
      "check",
      file("hostile-vexel.yaml", `models: [{ id: "x\\e[5m", kind: embedding }]`),
    ]),
  ];
  const text = outputs.map(({ out, err }) => out + err).join("");
  expect(text).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
  expect(text).toContain("\\u001b[5m");
  expect(text).not.toMatch(/^ {2}carried {6}api_key$/m);
});
