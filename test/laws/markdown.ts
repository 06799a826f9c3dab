/** Reads the documents as far as the laws about them need: headings, sections, fenced blocks, tables, links. */
import { textOf } from "./tree.ts";

export interface Section {
  readonly heading: string;
  /** Up to the next heading of any level, without it. */
  readonly body: string;
  readonly level: number;
}

export interface Block {
  /** The text after the opening fence, such as `json request`. */
  readonly info: string;
  readonly text: string;
  /** The heading above it. */
  readonly under: string;
  /** The line of the opening fence. */
  readonly line: number;
  /** The paragraph above it. */
  readonly paragraph: string;
}

const fence = /^```(.*)\n([\s\S]*?)^```$/gm;

/** Blocks may contain lines that look like headings. */
const withoutBlocks = (text: string): string => text.replace(fence, "");

export const proseOf = (path: string): string => withoutBlocks(textOf(path));

function sectionsOf(path: string): Section[] {
  const parts = proseOf(path).split(/^(#{1,6}) (.+)$/m);
  const sections: Section[] = [];
  for (let at = 1; at < parts.length; at += 3) {
    const [marks = "", heading = "", body = ""] = parts.slice(at, at + 3);
    sections.push({ heading, body: body.trim(), level: marks.length });
  }
  return sections;
}

/** The text of a heading that is all code, such as `### \`PORT\``. */
export const codeHeadings = (path: string, level: number): string[] =>
  sectionsOf(path).flatMap((section) => {
    const [, code] = /^`([^`]+)`$/.exec(section.heading) ?? [];
    return code !== undefined && section.level === level ? [code] : [];
  });

export function sectionOf(path: string, heading: string): Section {
  const found = sectionsOf(path).find((section) => section.heading === heading);
  if (!found) throw new Error(`${path} has no heading "${heading}"`);
  return found;
}

export function blocksOf(path: string): Block[] {
  const text = textOf(path);
  return [...text.matchAll(fence)].map(({ 1: info = "", 2: body = "", index }) => {
    const before = withoutBlocks(text.slice(0, index));
    const headings = [...before.matchAll(/^#{1,6} (.+)$/gm)];
    return {
      info: info.trim(),
      text: body,
      under: headings.at(-1)?.[1] ?? "",
      line: text.slice(0, index).split("\n").length,
      paragraph: before.trimEnd().split("\n\n").at(-1) ?? "",
    };
  });
}

/** The cells of a section's tables, without head and rule. */
export const rowsOf = ({ body }: Section): string[][] =>
  body
    .split("\n")
    .filter((line, at, lines) => {
      const isRow = line.startsWith("|") && !/^\|[-|: ]+\|$/.test(line);
      return isRow && !/^\|[-|: ]+\|$/.test(lines[at + 1] ?? "");
    })
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

export const codesIn = (text: string): string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code as string);

/** The first column of a section's tables, out of its backticks. */
export const firstCodes = (section: Section): string[] =>
  rowsOf(section).flatMap(([first = ""]) => codesIn(first).slice(0, 1));

/** Targets of links and images. */
export const linksOf = (path: string): string[] =>
  [...proseOf(path).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link as string);

/** Anchors, as GitHub derives them from headings. */
export const anchorsOf = (path: string): string[] =>
  sectionsOf(path).map(({ heading }) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replace(/\s/g, "-"),
  );
