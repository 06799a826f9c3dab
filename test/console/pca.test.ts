/** The map of few texts, and what truncation costs, in the embeddings playground. */
import { expect, test } from "bun:test";
import { principalComponents } from "../../console/src/features/embeddings/pca.ts";
import {
  qualityCurve,
  rankingQuality,
} from "../../console/src/features/embeddings/ranking-quality.ts";
import { normalized } from "../../console/src/features/embeddings/vectors.ts";

const vector = (...values: number[]) => Float32Array.from(values);
const distance = ([ax, ay]: readonly number[], [bx, by]: readonly number[]): number =>
  Math.hypot((ax ?? 0) - (bx ?? 0), (ay ?? 0) - (by ?? 0));

test("points that lie in a plane keep their distances on the map", () => {
  const points = [vector(0, 0, 5), vector(3, 4, 5), vector(3, 0, 5), vector(-1, 2, 5)];
  const map = principalComponents(points);
  for (const [at, point] of points.entries())
    for (const [other, second] of points.entries())
      expect(distance(map[at] ?? [], map[other] ?? [])).toBeCloseTo(
        Math.hypot(...point.map((value, axis) => value - (second[axis] ?? 0))),
        4,
      );
});

test("equal texts are one point of the map", () => {
  expect(principalComponents([vector(1, 2), vector(1, 2)])).toEqual([
    [0, 0],
    [0, 0],
  ]);
});

test("ranking quality is 1 with all dimensions, smaller with fewer, and unknown for one text", () => {
  const vectors = [vector(1, 0), normalized(vector(9, 10)), normalized(vector(-20, 1))];
  expect(rankingQuality(vectors, 2)).toBe(1);
  expect(rankingQuality([vector(1)], 1)).toBeNull();
  const spread = Array.from({ length: 30 }, (_, at) =>
    normalized(vector(1, Math.sin(at), Math.cos(at * 7), Math.sin(at * 3))),
  );
  expect(rankingQuality(spread, 4)).toBe(1);
  expect(rankingQuality(spread, 2)).toBeLessThan(1);
  expect(qualityCurve(spread).at(-1)).toEqual({ dimensions: 4, quality: 1 });
});
