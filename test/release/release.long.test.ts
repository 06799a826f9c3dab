/**
 * `npm run release`: two builds of one commit are equal, and each file that runs on this machine is installed and serves
 * embeddings and images.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import image from "../../deploy/docker/image.json";
import { version } from "../../package.json";
import { root, temporaryFolder } from "../harness.ts";
import { helmPath } from "../programs.ts";
import { installPackages } from "./install-packages.ts";
import { expectBuiltInModels, runCommand, type Started, startGateway } from "./installed.ts";

const folder = temporaryFolder();
const [first, second] = [join(folder.path, "first"), join(folder.path, "second")];
afterAll(() => folder[Symbol.dispose]());

const name = `vexel-${version}`;
const release = (target: string): string =>
  runCommand(["node", join(root, "bin/release.mjs"), target], root);
/** The release needs programs of Debian, Helm, and a git checkout. */
const canRelease =
  process.env.CI === "true" ||
  (process.platform === "linux" &&
    ["dpkg-deb", "git", "xz"].every((each) => Bun.which(each) !== null) &&
    helmPath() !== undefined);
const isRoot = process.getuid?.() === 0;

describe.skipIf(!canRelease)("a release", () => {
  beforeAll(() => release(first), 600_000);

  const read = (file: string): string => readFileSync(join(first, file), "utf8");
  const record = () =>
    JSON.parse(read(`${name}.json`)) as {
      readonly commit: string;
      readonly programs: Readonly<Record<string, string>>;
      readonly files: readonly {
        readonly file: string;
        readonly sha256: string;
        readonly started?: string;
      }[];
    };

  test("has the same checksums when it is made again", () => {
    release(second);
    expect(readFileSync(join(second, "SHA256SUMS"), "utf8")).toBe(read("SHA256SUMS"));
  }, 600_000);

  test("has checksums of all of its files, and names the commit and the programs", () => {
    runCommand(["sha256sum", "--check", "--strict", "SHA256SUMS"], first);
    const listed = read("SHA256SUMS")
      .trim()
      .split("\n")
      .map((line) => line.split("  ")[1] ?? "");
    expect(listed).toEqual(
      readdirSync(first)
        .filter((file) => file !== "SHA256SUMS")
        .sort(),
    );
    expect(record().commit).toMatch(/^[0-9a-f]{40}(?:-dirty)?$/);
    expect(record().programs).toHaveProperty("bun");
    const started = new Map(record().files.map(({ file, started }) => [file, started]));
    expect(started.get(`${name}-linux-x64.tar.gz`)).not.toBe("built, not run");
    // In an emulator, if this machine has one.
    expect(started.get(`${name}-linux-arm64.tar.gz`) === "built, not run").toBe(
      Bun.which("qemu-aarch64-static") === null,
    );
    expect(started.get(`${name}-image-arm64.tar`)).toBe("built, not run");
    expect(read(`${name}-notes.md`)).toStartWith(`## ${version}`);
  });

  test("has a bill of materials that is valid CycloneDX 1.6", () => {
    const validator = installPackages("vexel-cyclonedx", {
      dependencies: {
        "@cyclonedx/cyclonedx-library": "10.3.0",
        ajv: "8.18.0",
        "ajv-formats": "3.0.1",
        "ajv-formats-draft2019": "1.6.1",
      },
    });
    const validate = `
      const { Spec, Validation } = require("@cyclonedx/cyclonedx-library");
      const bill = require("node:fs").readFileSync(process.argv[1], "utf8");
      const { JsonStrictValidator } = Validation;
      new JsonStrictValidator(Spec.Version.v1dot6).validate(bill).then((error) => {
        console.log(error === null ? "valid" : JSON.stringify(error, null, 2));
      });`;
    const bill = join(first, `${name}.cdx.json`);
    expect(runCommand(["node", "-e", validate, bill], validator).trim()).toBe("valid");
  }, 600_000);

  test("names in its bill of materials the packages, libraries and licenses of each file", () => {
    const bill = JSON.parse(read(`${name}.cdx.json`)) as {
      readonly components: readonly {
        readonly purl: string;
        readonly licenses: readonly object[];
        readonly properties: readonly { readonly value: string }[];
      }[];
    };
    const filesOf = (start: string) =>
      bill.components
        .filter(({ purl }) => purl.startsWith(start))
        .flatMap(({ properties }) => properties.map(({ value }) => value));
    expect(filesOf("pkg:npm/react-dom@")).toContain(`${name}.tgz`);
    expect(filesOf("pkg:npm/bun@")).toContain(`${name}-linux-x64.tar.gz`);
    expect(filesOf("pkg:npm/%40img/sharp-libvips-linux-arm64@")).toEqual([
      `${name}-image-arm64.tar`,
      `${name}-linux-arm64.tar.gz`,
    ]);
    expect(filesOf("pkg:deb/debian/libc6@")).toEqual([
      `${name}-image-amd64.tar`,
      `${name}-image-arm64.tar`,
    ]);
    expect(bill.components.filter(({ licenses }) => licenses.length === 0)).toEqual([]);
  });

  test("has the npm package, which npm installs and which serves the built-in models", async () => {
    const project = join(folder.path, "project");
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), '{"private":true}');
    const quiet = ["--prefer-offline", "--no-audit", "--no-fund"];
    runCommand(["npm", "install", ...quiet, join(first, `${name}.tgz`)], project);
    const own = join(project, "node_modules", "vexel");
    const notices = readFileSync(join(own, "THIRD-PARTY-NOTICES"), "utf8");
    expect(notices).toContain("\nreact-dom 19");
    expect(readdirSync(own)).toContain("LICENSE");
    await using gateway = await startGateway([join(project, "node_modules/.bin/vexel")]);
    await expectBuiltInModels(gateway);
  }, 600_000);

  test.skipIf(process.arch !== "x64")(
    "has an executable that serves the built-in models",
    async () => {
      runCommand(["tar", "-xzf", join(first, `${name}-linux-x64.tar.gz`)], folder.path);
      const own = join(folder.path, `${name}-linux-x64`);
      expect(readdirSync(own).sort()).toEqual(["LICENSE", "THIRD-PARTY-NOTICES", "lib", "vexel"]);
      const notices = readFileSync(join(own, "THIRD-PARTY-NOTICES"), "utf8");
      for (const part of ["JavaScriptCore", "libvips", "all-MiniLM-L6-v2", "GNU LESSER GENERAL"])
        expect(notices).toContain(part);
      await using gateway = await startGateway([join(own, "vexel")]);
      await expectBuiltInModels(gateway);
    },
  );

  describe.skipIf(process.arch !== "x64")("has an image", () => {
    const rootfs = join(folder.path, "rootfs");
    beforeAll(() => {
      const layout = join(folder.path, "layout");
      for (const each of [layout, rootfs]) mkdirSync(each);
      runCommand(["tar", "-xf", join(first, `${name}-image-amd64.tar`)], layout);
      const [{ Layers: layers }] = JSON.parse(
        readFileSync(join(layout, "manifest.json"), "utf8"),
      ) as [{ readonly Layers: readonly string[] }];
      for (const layer of layers)
        runCommand(["tar", "-C", rootfs, "-xzf", join(layout, layer)], folder.path);
    });

    test("of less than 250 MB, without a shell, with licenses and one user", () => {
      const files = readdirSync(rootfs, { recursive: true, encoding: "utf8" });
      const bytes = files.reduce((sum, file) => sum + lstatSync(join(rootfs, file)).size, 0);
      expect(bytes).toBeLessThan(250e6);
      expect(files.filter((file) => /^(?:usr\/)?s?bin\//.test(file))).toEqual([]);
      expect(files).toContain("usr/share/doc/vexel/THIRD-PARTY-NOTICES");
      expect(files).toContain("usr/share/doc/libc6/copyright");
      expect(image.User).toBe("65532:65532");
    });

    test.skipIf(Bun.which("skopeo") === null)(
      "that skopeo reads as OCI and as Docker's archive",
      () => {
        for (const format of ["oci-archive", "docker-archive"]) {
          const from = `${format}:${join(first, `${name}-image-amd64.tar`)}`;
          runCommand(["skopeo", "copy", from, `dir:${join(folder.path, format)}`], folder.path);
        }
      },
    );

    test.skipIf(!isRoot)(
      "that serves the built-in models as user 65532, read-only except /data and /tmp",
      async () => {
        const data = join(folder.path, "image-data");
        mkdirSync(data);
        chownSync(data, 65_532, 65_532);
        const inImage = (command: readonly string[]): string[] => [
          ...["unshare", "--mount", "bash"],
          ...[join(root, "test/release/in-image.sh"), rootfs, data, ...command],
        ];
        const env = Object.fromEntries(image.Env.map((each) => each.split(/=(.*)/s).slice(0, 2)));
        const [bun = "", option = ""] = image.Entrypoint;
        const main = "/opt/vexel/node_modules/vexel/cli/main.ts";
        const created = runCommand(
          inImage([bun, option, main, "keys", "create", "--name", "app"]),
          folder.path,
          env,
        );
        const key = /sk-vx-\S+/.exec(created)?.[0] ?? "";
        await using gateway: Started = await startGateway(inImage(image.Entrypoint), {
          env: { ...env, HOST: "127.0.0.1" },
          key,
        });
        await expectBuiltInModels(gateway);
        expect(lstatSync(join(data, "vexel.db")).uid).toBe(65_532);
        expect(existsSync(join(rootfs, "data/vexel.db"))).toBe(false);
      },
    );
  });

  test("has a chart that Helm installs from the archive", () => {
    const helm = helmPath() ?? "helm";
    const chart = join(first, `${name}-chart.tgz`);
    const single = ["--set=replicas=1,autoscaling.enabled=false", "--kube-version=1.30"];
    const rendered = runCommand([helm, "template", "x", chart, ...single], folder.path);
    expect(rendered).toContain(`image: "vexel:${version}"`);
  });
});
