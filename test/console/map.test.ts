/** The labels and colors of the map of the embeddings playground. */
import { expect, test } from "bun:test";
import { colorColumns, colorScale } from "../../console/src/features/embeddings/color-scale.ts";
import { type Label, placeLabels } from "../../console/src/features/embeddings/place-labels.ts";
import { readTexts } from "../../console/src/features/embeddings/read-texts.ts";

const canvas = { width: 600, height: 400 };

test("no label of a map covers another label, leaves the map, or is lost without need", () => {
  const labels: Label[] = Array.from({ length: 300 }, (_, at) => ({
    at: { x: 300 + 290 * Math.sin(at), y: 200 + 190 * Math.cos(at * 7) },
    width: 30 + (at % 9) * 20,
  }));
  const places = placeLabels(labels, [], canvas);
  const boxes = places.flatMap((place, at) =>
    place ? [{ ...place, width: labels[at]?.width ?? 0 }] : [],
  );
  expect(boxes.length).toBeGreaterThan(20);
  for (const [at, a] of boxes.entries()) {
    expect([a.x >= 0, a.x + a.width <= canvas.width]).toEqual([true, true]);
    for (const b of boxes.slice(at + 1)) {
      const isApart = a.x + a.width <= b.x || b.x + b.width <= a.x || Math.abs(a.y - b.y) >= 14;
      expect(isApart).toBe(true);
    }
  }
  // The most important label is first, and always has its place.
  expect(places[0]).toBeDefined();
});

test("a label avoids the points of other labels", () => {
  const own = { x: 100, y: 100 };
  expect(placeLabels([{ at: own, width: 60 }], [own], canvas)[0]?.x).toBeGreaterThan(own.x);
  const beside = { x: 130, y: 100 };
  expect(placeLabels([{ at: own, width: 60 }], [own, beside], canvas)[0]?.x).toBeLessThan(own.x);
});

test("the most frequent categories have colors of their own, and the others share one", () => {
  const values = Array.from({ length: 60 }, (_, at) => `topic ${Math.floor(Math.sqrt(at * 3))}`);
  const scale = colorScale({ name: "topic", values });
  if (scale.type !== "categories") throw new Error("Topics are categories.");
  expect(new Set(scale.colors).size).toBe(10);
  expect(scale.legend.at(-1)?.label).toBeUndefined();
  expect(scale.colors[0]).toBe(colorScale({ name: "topic", values }).colors[0] ?? "");
});

test("many different numbers are a gradient from the lowest to the highest", () => {
  const values = [...Array.from({ length: 20 }, (_, at) => String(at * 5)), ""];
  expect(colorScale({ name: "price", values })).toMatchObject({
    type: "numbers",
    low: 0,
    high: 95,
  });
});

test("the columns of a file stay beside its texts, and ids are no colors", () => {
  const { texts, rows } = readTexts("id,topic,text\n1,a,one\n2,b,\n3,a,three\nx,b,four\n", "a.csv");
  expect(texts).toEqual(["one", "three", "four"]);
  expect(rows.map(({ topic }) => topic)).toEqual(["a", "a", "b"]);
  const columns = ["id", "topic"].map((name) => ({
    name,
    values: rows.map((row) => row[name] ?? ""),
  }));
  expect(colorColumns(columns).map(({ name }) => name)).toEqual(["topic"]);
});
