/** Every package that is shipped has a license that is known, with its text. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { root } from "../harness.ts";
import { runCommand } from "./installed.ts";

/** Runs a program for Node with functions of bin/release/. */
function runRelease(program: string, ...args: readonly string[]): string {
  const imports = ["components", "licenses", "platforms"].map(
    (name) => `import * as ${name} from ${JSON.stringify(join(root, `bin/release/${name}.mjs`))};`,
  );
  const text = `${imports.join("\n")}\n${program}`;
  return runCommand(["node", "--input-type=module", "-e", text, ...args], root).trim();
}

test("each package of the gateway and of the console has a known license and its text", () => {
  const counts = runRelease(`
    const platform = platforms.platforms.find(({ cpu }) => cpu === process.arch);
    const all = [
      components.consoleComponents(),
      components.installedComponents(platform, ${JSON.stringify(root)}),
    ];
    const hasText = ({ texts }) => texts.join("").trim() !== "";
    console.log(all.map((each) => each.length > 20 && each.every(hasText)).join());`);
  expect(counts).toBe("true,true");
});

test("a license that is not known ends the release", () => {
  const check = (license: string): string =>
    runRelease('console.log(licenses.checkedLicense("a-package", process.argv[1]));', license);
  expect(check("(MIT OR Apache-2.0)")).toBe("(MIT OR Apache-2.0)");
  expect(() => check("MIT AND SSPL-1.0")).toThrow("a-package has the license SSPL-1.0.");
  expect(() => check("")).toThrow("a-package has no license.");
});
