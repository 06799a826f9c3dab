// The text of THIRD-PARTY-NOTICES: each component with its license and the texts that it must be shipped with.
const line = "=".repeat(80);

/** @param texts The full texts that several components refer to, such as the LGPL, by file name. */
export function noticesOf(title, components, texts = {}) {
  const list = components.map(({ name, version, license }) => `- ${name} ${version}: ${license}`);
  const parts = components.map(({ name, version, license, texts }) =>
    [`${name} ${version}`, `License: ${license}`, "", ...texts.map((text) => text.trim())].join(
      "\n",
    ),
  );
  const common = Object.entries(texts).map(([name, text]) => `${name}\n\n${text.trim()}`);
  const head = `${title}\nVexel's own license is in the file LICENSE.\n\n${list.join("\n")}`;
  return `${[head, ...parts, ...common].join(`\n\n${line}\n`)}\n`;
}
