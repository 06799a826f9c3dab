/** The number of source files that run for one request stays small, so that a reader can follow a request. */
import { beforeAll, describe, expect, test } from "bun:test";
import {
  type MeasuredRequest,
  measureRequestPath,
  type PathFile,
} from "../../bench/request-path.ts";

const maxFiles: readonly (readonly [MeasuredRequest, number])[] = [
  ["embedding", 78],
  ["generation", 99],
  ["edit", 113],
];

describe("the path of one request", () => {
  let paths: Readonly<Record<MeasuredRequest, readonly PathFile[]>>;
  beforeAll(async () => {
    paths = await measureRequestPath();
  });

  test.each(maxFiles)("%s has at most %i files", (request, maximum) => {
    const files = paths[request].map(({ file }) => file);
    // A measurement that finds almost nothing has failed.
    expect(files.length).toBeGreaterThan(30);
    if (files.length > maximum) {
      throw new Error(`${files.length} files instead of ${maximum}:\n${files.join("\n")}`);
    }
  });
});
