/** Which files become images of a playground. */
import { expect, test } from "bun:test";
import { acceptImages } from "../../console/src/lib/accept-images.ts";

const file = (name: string, type: string, bytes = 1): File =>
  new File([new Uint8Array(bytes)], name, { type });
const limits = { types: ["image/png", "image/jpeg"], maxImages: 3, maxBytes: 100 };

test("images within the limits are added, and every other file is named with its reason", () => {
  const first = file("first.png", "image/png", 40);
  const { images, leftOut } = acceptImages(
    [first],
    [
      file("drawing.svg", "image/svg+xml"),
      file("large.png", "image/png", 61),
      file("small.jpg", "image/jpeg", 30),
      file("third.png", "image/png", 30),
      file("fourth.png", "image/png", 1),
    ],
    limits,
  );
  expect(images.map((image) => "name" in image && image.name)).toEqual([
    "first.png",
    "small.jpg",
    "third.png",
  ]);
  expect(leftOut).toEqual([
    { reason: "format", name: "drawing.svg" },
    { reason: "bytes", name: "large.png" },
    { reason: "count", name: "fourth.png" },
  ]);
});
