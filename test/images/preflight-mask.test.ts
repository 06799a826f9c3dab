/** A mask that does not fit its image, or is fully opaque, is rejected before any upstream is called. */
import { afterAll, describe, expect, test } from "bun:test";
import sharp from "sharp";
import { generated, speckled, speckledPng, upload } from "../workers/image-worker-fixture.ts";
import { checker, edit, file, maskPng, noise } from "./preflight-fixture.ts";

const { check, refused, close } = checker();
afterAll(close);

describe("the mask", () => {
  const image = async () => upload(await noise(64, 48).jpeg().toBuffer());
  const masked = async (mask: Uint8Array) =>
    edit([await image()], { mask: file(upload(mask, "mask")) });

  test("passes if it is a png with alpha, of the first image's size", async () => {
    const other = upload(await speckledPng(9, 9));
    const query = {
      ...(await masked(await maskPng(64, 48))),
      images: [file(await image()), file(other)],
    };
    const { mask } = await check(query);
    expect(mask).toMatchObject({
      type: "image/png",
      width: 64,
      height: 48,
      alpha: true,
      opaque: false,
    });
  });

  test("is rejected as a jpeg", async () => {
    const query = await masked(await noise(64, 48).jpeg().toBuffer());
    await refused(query, "unsupported_file_mimetype", "mask", /'image\/jpeg'.*is 'image\/png'/);
  });

  test("is rejected without an alpha channel", async () => {
    const query = await masked(await speckledPng(64, 48, 3));
    await refused(query, "invalid_value", "mask", /no alpha channel/);
  });

  test("is rejected if its size differs, and both sizes are named", async () => {
    const query = await masked(await maskPng(48, 64));
    await refused(query, "invalid_value", "mask", /mask is 48x64 and the image 64x48/);
  });

  test("is rejected if it is fully opaque", async () => {
    const opaque = await sharp(await maskPng(64, 48))
      .removeAlpha()
      .ensureAlpha(1)
      .png()
      .toBuffer();
    await refused(await masked(opaque), "invalid_value", "mask", /opaque everywhere/);
  });

  test("is rejected if it is truncated", async () => {
    const whole = await maskPng(64, 48);
    const query = await masked(whole.subarray(0, whole.length - 20));
    await refused(query, "invalid_image_file", "mask", /'mask'.*truncated/);
  });

  test("may be larger than the 4 MB of dall-e-2", async () => {
    const pixels = speckled(1100, 1100, 4);
    const large = await generated(pixels, 1100, 1100, 4).png().toBuffer();
    expect(large.length).toBeGreaterThan(4 * 1024 * 1024);
    const query = edit([upload(large)], { mask: file(upload(large, "mask")) });
    expect((await check(query)).mask?.width).toBe(1100);
  });

  test("of a photo with an EXIF orientation has the size of the photo as shown", async () => {
    const photo = upload(await noise(64, 48).jpeg().withMetadata({ orientation: 6 }).toBuffer());
    const mask = file(upload(await maskPng(48, 64), "mask"));
    expect((await check(edit([photo], { mask }))).images[0]?.orientation).toBe(6);
    const asStored = file(upload(await maskPng(64, 48), "mask"));
    const wrongSize = /64x48 and the image 48x64/;
    await refused(edit([photo], { mask: asStored }), "invalid_value", "mask", wrongSize);
  });
});
