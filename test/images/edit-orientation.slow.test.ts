/** An image with an EXIF orientation and a mask is sent upright. */
import { afterAll, beforeEach, expect, test } from "bun:test";
import sharp from "sharp";
import { startEdits, storedIn } from "./edit-fixture.ts";

const { edit, editLinked, arrived, close } = startEdits();
beforeEach(() => {
  arrived.length = 0;
});
afterAll(close);

const [width, height] = [64, 48];
const orientations = [1, 2, 3, 4, 5, 6, 7, 8];

/** As people see it: the upper left quarter is red, and each of the others another color. */
const quarters = (across = width, down = height) =>
  paint(across, down, (left, upper) => {
    if (left) return upper ? [200, 20, 20, 255] : [20, 160, 40, 255];
    return upper ? [30, 40, 200, 255] : [230, 220, 60, 255];
  });
/** As people see it: the upper left quarter may change. */
const hole = (across = width, down = height) =>
  paint(across, down, (left, upper) => [0, 0, 0, left && upper ? 0 : 255]);

function paint(
  across: number,
  down: number,
  color: (left: boolean, upper: boolean) => readonly number[],
): Promise<Buffer> {
  const pixels = new Uint8Array(across * down * 4);
  for (let at = 0; at < across * down; at++) {
    const [x, y] = [at % across, Math.floor(at / across)];
    pixels.set(color(x < across / 2, y < down / 2), at * 4);
  }
  const raw = { width: across, height: down, channels: 4 } as const;
  return sharp(pixels, { raw }).png().toBuffer();
}

/** As stored by a camera in this orientation: after the rotation, the image is upright. */
const stored = async (upright: Buffer, orientation: number): Promise<Buffer> => {
  const back = { 6: 8, 8: 6 }[orientation] ?? orientation;
  const tagged = await sharp(upright).png().withMetadata({ orientation: back }).toBuffer();
  return sharp(tagged).autoOrient().png().toBuffer();
};

const photo = async (kind: "jpeg" | "png" | "webp", orientation: number, upright?: Buffer) =>
  sharp(await stored(upright ?? (await quarters()), orientation))
    .removeAlpha()
    .toFormat(kind, { quality: 100, chromaSubsampling: "4:4:4", lossless: true })
    .withMetadata({ orientation })
    .toBuffer();

/** In the upstream's mask convention, the image is red where the mask is open, and nowhere else. */
async function expectSameWayUp(across = width, down = height): Promise<void> {
  const [request] = arrived;
  const image = await storedIn(request?.images[0] ?? new Uint8Array());
  const mask = await storedIn(request?.mask ?? new Uint8Array());
  expect([image.width, image.height, image.orientation ?? 1]).toEqual([across, down, 1]);
  expect([mask.width, mask.height, mask.orientation ?? 1]).toEqual([across, down, 1]);
  const isWhite = !mask.hasAlpha;
  let wrong = 0;
  let open = 0;
  for (let at = 0; at < across * down * 4; at += 4) {
    const [red = 0, green = 0, blue = 0] = image.pixels.subarray(at, at + 3);
    const isRed = red > 150 && green < 80 && blue < 80;
    const isOpen = isWhite ? mask.pixels[at] === 255 : mask.pixels[at + 3] === 0;
    if (isRed !== isOpen) wrong++;
    if (isOpen) open++;
  }
  expect({ wrong, open }).toEqual({ wrong: 0, open: (across * down) / 4 });
  expect(image.pixels[0], "it is not upright").toBeGreaterThan(150);
}

test.each([...orientations.map((at) => ["form", at] as const), ["json", 6], ["d2", 6]] as const)(
  "a mask drawn on the image as shown is applied there, at an upstream called as `%s`, orientation %d",
  async (model, at) => {
    const response = await edit(model, await photo("jpeg", at), await hole());
    expect(response.status).toBe(200);
    await expectSameWayUp();
  },
);

test.each(["png", "webp"] as const)(
  "a %s with an EXIF orientation is rotated as well",
  async (kind) => {
    expect((await edit("form", await photo(kind, 6), await hole())).status).toBe(200);
    await expectSameWayUp();
  },
);

test("images behind links are rotated as well", async () => {
  expect((await editLinked("json", await photo("jpeg", 8), await hole())).status).toBe(200);
  await expectSameWayUp();
});

test("the mask of a square image applies to the image as shown", async () => {
  const upright = await quarters(48, 48);
  const image = await photo("jpeg", 6, upright);
  expect((await edit("form", image, await hole(48, 48))).status).toBe(200);
  await expectSameWayUp(48, 48);
});

test("a mask with an EXIF orientation of its own is rotated by it", async () => {
  const rotatedMask = await sharp(await stored(await hole(), 6))
    .png()
    .withMetadata({ orientation: 6 })
    .toBuffer();
  expect((await edit("form", await photo("jpeg", 1), rotatedMask)).status).toBe(200);
  await expectSameWayUp();
});

test("a photo stays a jpeg, and a header says that it was converted", async () => {
  const response = await edit("form", await photo("jpeg", 6), await hole());
  expect(response.headers.get("vexel-adapted")).toBe("image");
  expect((await storedIn(arrived[0]?.images[0] ?? new Uint8Array())).format).toBe("jpeg");
});

test("an upright image, or one without a mask, is sent unchanged", async () => {
  const [upright, mask] = [await photo("jpeg", 1), await hole()];
  const turned = await photo("jpeg", 6);
  await edit("form", upright, mask);
  await edit("form", turned);
  expect(arrived.map(({ images: [image] }) => Buffer.from(image ?? []))).toEqual([upright, turned]);
  expect(Buffer.compare(arrived[0]?.mask ?? Buffer.of(), mask)).toBe(0);
});
