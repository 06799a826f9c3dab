/** The mask editor: its steps, and the part of the image that it shows. */
import { expect, test } from "bun:test";
import {
  addStep,
  emptyHistory,
  type MaskStep,
  redo,
  undo,
} from "../../console/src/features/images/mask-history.ts";
import { fitInto, toImage, zoom } from "../../console/src/lib/viewport.ts";

const invert: MaskStep = { type: "invert" };
const clear: MaskStep = { type: "clear" };

test("undo and redo move one step at a time, and stop at the ends", () => {
  const painted = addStep(addStep(emptyHistory, invert), clear);
  const once = undo(painted);
  expect(once.steps).toEqual([invert]);
  expect(undo(undo(once))).toEqual({ steps: [], undone: [clear, invert] });
  expect(redo(once)).toEqual(painted);
  expect(redo(painted)).toEqual(painted);
});

test("a new step after an undo discards the steps that could be redone", () => {
  expect(addStep(undo(addStep(emptyHistory, invert)), clear)).toEqual({
    steps: [clear],
    undone: [],
  });
});

test("the whole image is shown first, centered", () => {
  const viewport = fitInto({ width: 200, height: 100 }, { width: 100, height: 100 });
  expect(viewport).toEqual({ scale: 0.5, left: 0, top: 25 });
});

test("zoom keeps the point under the pointer in place", () => {
  const viewport = fitInto({ width: 200, height: 100 }, { width: 100, height: 100 });
  const pointer = { x: 30, y: 40 };
  const zoomed = zoom(viewport, pointer, 3, { min: 0.1, max: 16 });
  expect(zoomed.scale).toBe(1.5);
  const [before, after] = [toImage(viewport, pointer), toImage(zoomed, pointer)];
  expect(after.x).toBeCloseTo(before.x, 9);
  expect(after.y).toBeCloseTo(before.y, 9);
});
