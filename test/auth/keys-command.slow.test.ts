/** `vexel keys`: keys are created, listed and revoked while a gateway runs, which applies the changes at once. */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { configFor, type GatewayProcess, startProcess, temporaryFolder } from "../harness.ts";
import { type Ended, vexel } from "../process/process-fixture.ts";
import { until } from "../until.ts";

const folder = temporaryFolder();
const data = join(folder.path, "data");
let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startProcess({ folder: folder.path, yaml: configFor("http://127.0.0.1:9/v1") });
});
afterAll(async () => {
  await gateway.close();
  folder[Symbol.dispose]();
});

const keys = (...args: string[]): Promise<Ended> =>
  vexel(["keys", ...args], { cwd: folder.path, env: { VEXEL_DATA: data } });
const create = async (...args: string[]): Promise<string> => {
  const { code, out } = await keys("create", "--name", "default", ...args);
  expect(code).toBe(0);
  return out.trim();
};
const models = (key: string) =>
  fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });

/** Milliseconds until a request with the key gets this status. */
async function untilStatus(key: string, status: number): Promise<number> {
  const from = performance.now();
  for (;;) {
    const response = await models(key);
    await response.text();
    if (response.status === status) return performance.now() - from;
    if (performance.now() - from > 10_000) throw new Error(`${response.status}, not ${status}`);
    await Bun.sleep(20);
  }
}

describe("while a gateway runs", () => {
  test("a new key works, and a revoked one stops working, within a second", async () => {
    const key = await create("--name", "short-lived");
    expect(await untilStatus(key, 200)).toBeLessThan(1_500);
    expect((await keys("revoke", "short-lived")).code).toBe(0);
    expect(await untilStatus(key, 401)).toBeLessThan(1_500);
    await until(() => gateway.output().includes("keys-changed"));
  });

  test("a new key works, and a revoked key stops working, while vexel.yaml has an error", async () => {
    const path = join(folder.path, "vexel.yaml");
    const good = readFileSync(path, "utf8");
    writeFileSync(path, "models: [");
    await until(() => gateway.output().includes("config-rejected"));
    const key = await create("--name", "in-spite");
    await untilStatus(key, 200);
    await keys("revoke", "in-spite");
    await untilStatus(key, 401);
    writeFileSync(path, good);
  });

  test("a key may be limited to some models", async () => {
    const key = await create("--name", "narrow", "--models", "text-embedding-*, gpt-image-2");
    await untilStatus(key, 200);
    const { data: listed } = (await (await models(key)).json()) as { data: { id: string }[] };
    expect(listed.map(({ id }) => id).sort()).toEqual([
      "gpt-image-2",
      "text-embedding-3-small",
      "text-embedding-ada-002",
    ]);
  });
});

describe("create", () => {
  test("prints only the key to stdout, for scripts, and the explanation to stderr", async () => {
    const { code, out, err } = await keys("create", "--name", "for a script");
    expect(code).toBe(0);
    expect(out).toMatch(/^sk-vx-[\w-]{43}\n$/);
    expect(err).toMatch(
      /^Created key "for a script" \(key_[0-9a-f]{16}\)\. It is shown only once:\n$/,
    );
    expect(err).not.toContain(out.trim());
  });

  test("without a name is refused, because keys are told apart by their names", async () => {
    const { code, out, err } = await keys("create", "--models", "gpt-image-2");
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toStartWith("vexel keys: --name is missing: ");
  });

  test("stores the hash of the key only", async () => {
    const key = await create("--name", "hashed");
    const db = new Database(join(data, "vexel.db"), { readonly: true });
    const rows = JSON.stringify(db.query("SELECT * FROM keys").all());
    db.close();
    expect(rows).not.toContain(key);
    expect(rows).not.toContain(key.slice(6, 30));
    expect(rows).toContain(new Bun.CryptoHasher("sha256").update(key).digest("hex"));
  });

  test("warns of a pattern that matches no model, and names the nearest model and all others", async () => {
    const { code, out, err } = await keys(
      "create",
      "--name",
      "default",
      "--models",
      "gpt-imgae-2,text-*",
    );
    expect(code).toBe(0);
    expect(out).toStartWith("sk-vx-");
    expect(err).toStartWith(
      'warning: the key "default" may use gpt-imgae-2, but no model id matches it (did you mean gpt-image-2?).\nModels that exist: ',
    );
    expect(err).toContain("text-embedding-3-small, ");
    expect(
      (await keys("create", "--name", "default", "--models", "gpt-image-2")).err,
    ).not.toContain("warning");
    expect((await keys("create", "--name", "default")).err).not.toContain("warning");
  });

  test("refuses a project that does not exist, and warns of default models that do not exist", async () => {
    const refused = await keys("create", "--name", "lost", "--project", "alpah");
    expect([refused.code, refused.out]).toEqual([2, ""]);
    expect(refused.err).toContain('--project is "alpah", but there is no such project');
    expect((await keys("list")).out).not.toContain("lost");

    const { code, err } = await keys(
      "create",
      "--name",
      "default",
      "--default-embedding",
      "text-embedding-3-smal",
    );
    expect(code).toBe(0);
    expect(err).toContain(
      'the default embedding model "text-embedding-3-smal", but there is no embedding model',
    );
    expect(err).toContain("Models that exist: ");
    const wrongKind = await keys(
      "create",
      "--name",
      "default",
      "--default-image",
      "text-embedding-3-small",
    );
    expect(wrongKind.err).toContain("there is no image model of that name");
    const right = await keys(
      "create",
      "--name",
      "default",
      "--default-embedding",
      "text-embedding-3-small",
    );
    expect(right.err).not.toContain("warning");
  });

  test("refuses invalid arguments with exit code 2", async () => {
    const invalidArguments = [
      ["--name", ""],
      ["--name", "\u001b[31mred"],
      ["--name", "a\nb"],
      ["--name", "n".repeat(201)],
      ["--models", "a,,b"],
      ["--models", "a\u009b31m"],
      ["--color", "red"],
      ["more"],
    ];
    for (const { code, out, err } of await Promise.all(
      invalidArguments.map((args) => keys("create", "--name", "default", ...args)),
    )) {
      expect({ code, out }).toEqual({ code: 2, out: "" });
      expect(err).toStartWith("vexel keys: ");
      expect(err).toEndWith('Run "vexel keys --help" for help.\n');
    }
  });
});

describe("list", () => {
  test("names the keys of vexel.yaml, which are not in it", async () => {
    const { code, out, err } = await keys("list");
    expect(code).toBe(0);
    expect(err).toBe("The keys of ./vexel.yaml are not in this list: 'test'.\n");
    expect(out).not.toContain("test");
  });

  test("says that it has no keys of vexel.yaml, also where a variable of the file is not set", async () => {
    const path = join(folder.path, "elsewhere.yaml");
    writeFileSync(path, `keys:\n  - { name: shop, key: "\${SHOP_KEY}" }\n`);
    const env = { VEXEL_DATA: data, VEXEL_CONFIG: path };
    const { code, err } = await vexel(["keys", "list"], { cwd: folder.path, env });
    expect(code).toBe(0);
    expect(err).toBe(
      `The keys of ${path} are not in this list. The file has errors here: "vexel check" shows them.\n`,
    );
  });

  test("shows every key with a prefix that identifies it", async () => {
    const key = await create("--name", "to-be-listed", "--models", "a*,b");
    const { code, out } = await keys("list");
    expect(code).toBe(0);
    const [head, ...rows] = out.trim().split("\n");
    expect(head).toMatch(
      /^ID +NAME +KEY +MODELS +DEFAULTS +PROJECT +LIMITS +BUDGET +PARAMETERS +PRIORITY +CREATED +EXPIRES +REVOKED$/,
    );
    const row = rows.find((line) => line.includes("to-be-listed"))!;
    expect(row).toContain(`${key.slice(0, 10)}…`);
    expect(row).toContain("a*,b");
    expect(out).not.toContain(key);
  });

  test("shows the same as JSON, without the hashes", async () => {
    const { code, out } = await keys("list", "--json");
    expect(code).toBe(0);
    const listed = JSON.parse(out) as Record<string, unknown>[];
    expect(listed.find(({ name }) => name === "to-be-listed")).toEqual({
      id: expect.stringMatching(/^key_/),
      name: "to-be-listed",
      hint: expect.stringMatching(/^sk-vx-/),
      models: ["a*", "b"],
      createdAt: expect.any(Number),
      revokedAt: null,
      version: expect.any(Number),
    });
    expect(listed.find(({ name }) => name === "short-lived")).toMatchObject({
      revokedAt: expect.any(Number),
    });
  });
});

describe("revoke", () => {
  test("revokes by ID if two keys have the same name", async () => {
    await create("--name", "twin");
    await create("--name", "twin");
    const byName = await keys("revoke", "twin");
    expect(byName.code).toBe(1);
    expect(byName.err).toBe('2 keys have the name "twin". Revoke one of them by its id.\n');
    const listed = JSON.parse((await keys("list", "--json")).out) as { id: string; name: string }[];
    const { id } = listed.find(({ name }) => name === "twin")!;
    const byId = await keys("revoke", id);
    expect(byId).toMatchObject({ code: 0, out: `Revoked "twin" (${id}).\n` });
    expect((await keys("revoke", "twin")).code).toBe(0);
  });

  test("exits with code 1 for an unknown or already revoked key", async () => {
    for (const target of ["unknown", "short-lived"]) {
      const { code, out, err } = await keys("revoke", target);
      expect({ code, out }).toEqual({ code: 1, out: "" });
      expect(err).toContain(`No active key has the id or name "${target}"`);
    }
  });
});

describe("with wrong usage", () => {
  test("the exit code is 2, and no key is created", async () => {
    using elsewhere = temporaryFolder();
    const invalidArguments = [[], ["frobnicate"], ["revoke"], ["list", "all"]];
    const ended = await Promise.all(
      invalidArguments.map((args) => vexel(["keys", ...args], { cwd: elsewhere.path })),
    );
    for (const { code, out } of ended) expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(existsSync(join(elsewhere.path, "data"))).toBe(false);
  });

  test("a key with a past expiry date is not created", async () => {
    using elsewhere = temporaryFolder();
    const today = new Date().toISOString().slice(0, 10);
    for (const date of ["2020-01-01", "2020-01-01T00:00:00Z", today]) {
      const { code, out, err } = await vexel(
        ["keys", "create", "--name", "default", "--expires", date],
        {
          cwd: elsewhere.path,
        },
      );
      expect({ code, out }).toEqual({ code: 2, out: "" });
      expect(err).toStartWith(`vexel keys: --expires must be in the future`);
      expect(err).toContain(date);
    }
    expect(existsSync(join(elsewhere.path, "data"))).toBe(false);
  });

  test.each(["list", "list --json", "revoke unknown"])(
    "%s of a missing data folder fails with a message, and creates no folder",
    async (args) => {
      using elsewhere = temporaryFolder();
      const mistyped = join(elsewhere.path, "dtaa");
      const env = { VEXEL_DATA: mistyped };
      const { code, out, err } = await vexel(["keys", ...args.split(" ")], {
        cwd: elsewhere.path,
        env,
      });
      expect({ code, out }).toEqual({ code: 1, out: "" });
      expect(err).toStartWith(`vexel keys: There are no keys in ${mistyped}`);
      expect(err).toContain("VEXEL_DATA");
      expect(err.trim().split("\n")).toHaveLength(1);
      expect(existsSync(mistyped)).toBe(false);
    },
  );

  test("an unusable data folder gives exit code 1 and one line", async () => {
    const env = { VEXEL_DATA: "/proc/nope" };
    const { code, out, err } = await vexel(["keys", "create", "--name", "default"], {
      cwd: folder.path,
      env,
    });
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toStartWith("vexel keys: The folder /proc/nope (VEXEL_DATA) cannot be used: ");
    expect(err.trim().split("\n")).toHaveLength(1);
  });
});
