/** Turns the samples of a page into one shell script that runs them as printed, in the order of the page. */
import type { Block } from "./markdown.ts";
import { blocksOf } from "./markdown.ts";

/** What a page leaves to its reader to fill in. Any other `…` in a command fails the test. */
const placeholders: readonly (readonly [printed: RegExp, value: string])[] = [
  [/\bsk-vx-…/g, "$(printed-key)"],
  [/\bsk-…/g, "sk-0123456789abcdef"],
  [/\bUSER_ID\b/g, "$(user-id)"],
  // A secret of the reader: an admin token, VEXEL_SECRET, the URL of a database.
  [/(?<==(?:postgres:\/\/)?)…/g, "0123456789abcdef"],
];

export interface Program {
  /** The name under which the page says to save it. */
  readonly name: string;
  readonly text: string;
  /** The image that it writes: the last one that it names. If absent, it writes none. */
  readonly image: string | undefined;
  /** The new folder in which the page says to save it. */
  readonly folder: string;
  /** The line of the block that runs it. If absent, it is not run. */
  runAt?: number;
}

interface PageScript {
  readonly text: string;
  readonly programs: readonly Program[];
  /** Requests to `/v1/` with curl. */
  readonly requests: number;
}

const isProgram = ({ info }: Block): boolean => info === "python" || info === "js";

/** Lines of NAME=value: settings of the gateway, for a service or a container. */
export const isSettings = ({ info, text }: Block): boolean =>
  info === "sh" && text.trimEnd().split("\n").every(isAssignment);
const isAssignment = (line: string): boolean =>
  /^[A-Z][A-Z0-9_]*=(?:'[^']*'|"[^"]*"|\S*)(?:\s+#.*)?$/.test(line);

export const filledIn = (text: string): string =>
  placeholders.reduce((filled, [printed, value]) => filled.replace(printed, value), text);

/** The file name in "Save this program as `boat.py`" or "write a `vexel.yaml`". */
const fileNameIn = ({ paragraph }: Block): string | undefined =>
  /\b(?:save|write)\b[^`]*`([\w.-]+)`/i.exec(paragraph)?.[1];

export function scriptOf(page: string, { withPython }: { withPython: boolean }): PageScript {
  const programs: Program[] = [];
  let requests = 0;
  let text = "";
  const blocks = blocksOf(page);
  for (const [at, block] of blocks.entries()) {
    const before = blocks[at - 1];
    const name = fileNameIn(block);
    if (isProgram(block)) {
      if (name === undefined) throw new Error(`${page}:${block.line} does not name its file`);
      const image = [...block.text.matchAll(/"(\w+\.png)"/g)].at(-1)?.[1];
      programs.push({ name, text: block.text, image, folder: `program-${at}` });
    } else if (block.info === "sh") {
      const isPython = before?.info === "python";
      if (isPython && !withPython) continue;
      // "Run it in that folder": the folder of the program above.
      const program = before && isProgram(before) ? programs.at(-1) : undefined;
      if (program) program.runAt = block.line;
      const folder = program?.folder ?? "vexel";
      if (/\bstop (?:the gateway|vexel)\b/i.test(block.paragraph)) text += "stop-gateway\n";
      text += `${begin(page, block)}cd "$SANDBOX/${folder}"\n${filledIn(block.text)}`;
      requests += [...block.text.matchAll(/^curl \S+:8080\/v1\//gm)].length;
    } else if (block.info === "yaml" && name === "vexel.yaml") {
      text += `${begin(page, block)}cat > "$SANDBOX/vexel/vexel.yaml" <<'END'\n${block.text}END\n`;
    } else if (block.info === "json request" && isForBuiltInModel(block)) {
      text += `${begin(page, block)}send-request ${pathOf(block)} <<'END'\n${block.text}END\n`;
      requests += 1;
    } else if (block.info === "nginx") {
      text += `${begin(page, block)}proxy-with-nginx <<'END'\n${block.text}END\n`;
    }
  }
  return { text, programs, requests };
}

/** A body below a heading such as `POST /v1/embeddings`. Other models need a vendor's account. */
const isForBuiltInModel = ({ under, text }: Block): boolean =>
  under.includes("/{model}/") || /"model": "(?:all-minilm-l6-v2|vexel-sketch)"/.test(text);
const pathOf = ({ under }: Block): string =>
  under.replace(/^`POST (.+)`$/, "$1").replace("{model}", "all-minilm-l6-v2");

const begin = (page: string, { line }: Block): string => `echo; echo "### ${page}:${line}"\n`;

/** The output of the blocks that begin at these lines, by line. */
export const outputByLine = (output: string): Map<number, string> =>
  new Map(
    output
      .split(/^### .*?:(?=\d+$)/m)
      .slice(1)
      .map((part) => [Number.parseInt(part, 10), part.slice(part.indexOf("\n") + 1)]),
  );
