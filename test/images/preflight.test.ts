/** An edit with unusable images is rejected before any upstream is called, and the error says what is wrong. */
import { afterAll, describe, expect, test } from "bun:test";
import { checkImage, type EditRules } from "../../server/images/preflight.ts";
import { inspectOnce } from "../../server/workers/image/image-worker.ts";
import {
  blackPng,
  expectError,
  inBytes,
  never,
  speckledPng,
  upload,
  uploadOnDisk,
} from "../workers/image-worker-fixture.ts";
import { checker, dataUrl, edit, file, maskPng, noise, url } from "./preflight-fixture.ts";

const { imageWorker, processes, check, refused, close } = checker();
afterAll(close);

describe("uploaded images", () => {
  test("png, jpeg and webp pass, and are inspected", async () => {
    const parts = [
      upload(await speckledPng(20, 10)),
      upload(await noise(30, 40).jpeg().toBuffer()),
      upload(await noise(50, 60).webp().toBuffer()),
    ];
    const { images, mask, query } = await check(edit(parts));
    expect(images.map((image) => image && [image.type, image.width, image.height])).toEqual([
      ["image/png", 20, 10],
      ["image/jpeg", 30, 40],
      ["image/webp", 50, 60],
    ]);
    expect(mask).toBeUndefined();
    expect(query.images).toEqual(parts.map(file));
  });

  test("the type of a file is determined by its bytes, not by its name", async () => {
    const jpeg = upload(await noise(9, 9).jpeg().toBuffer(), "image", "photo.png");
    expect((await check(edit([jpeg]))).images[0]?.type).toBe("image/jpeg");
    const html = upload(Buffer.from("<!doctype html><p>404"), "image", "photo.png");
    await refused(
      edit([html]),
      "unsupported_file_mimetype",
      "image",
      /^Invalid file 'image': unsupported mimetype \('application\/octet-stream'\). Supported file formats are 'image\/jpeg', 'image\/png', and 'image\/webp'.$/,
    );
  });

  test("no process is started for a file that is not an image", async () => {
    const before = processes.requests.length;
    const html = edit([upload(Buffer.from("<html>"))]);
    await refused(html, "unsupported_file_mimetype", "image", /octet-stream/);
    expect(processes.requests).toHaveLength(before);
  });

  test("a gif passes only if the model accepts it", async () => {
    const gif = edit([upload(await noise(9, 9).gif().toBuffer())]);
    await refused(gif, "unsupported_file_mimetype", "image", /'image\/gif'/);
    const { images } = await check(gif, { reads: ["image/png", "image/gif"] });
    expect(images[0]?.type).toBe("image/gif");
  });

  for (const kind of ["png", "jpeg", "webp"] as const) {
    test(`a ${kind} that is truncated is reported with its index`, async () => {
      const whole = await noise(80, 80).toFormat(kind).toBuffer();
      const cut = upload(whole.subarray(0, whole.length * 0.7), "image[]");
      await refused(edit([cut]), "invalid_image_file", "image", /'image'.*truncated/);
      const good = upload(whole, "image[]");
      const third = edit([good, good, cut]);
      await refused(third, "invalid_image_file", "image[2]", /'image\[2\]'.*truncated/);
    });
  }

  test("the number that a client gave an image is in the error", async () => {
    const good = upload(await speckledPng(8, 8), "image[4]");
    const bad = { ...upload(blackPng(8, 8).subarray(0, 50)), field: "image[7]" };
    await refused(edit([good, bad]), "invalid_image_file", "image[7]", /'image\[7\]'/);
  });

  test("other files of the form are inspected too", async () => {
    const good = upload(await speckledPng(8, 8));
    const markup = upload(blackPng(8, 8).subarray(0, 60), "markup");
    await refused(edit([good], { files: [markup] }), "invalid_image_file", "markup", /'markup'/);
  });

  test("no further file is inspected after the request was rejected", async () => {
    const truncated = await uploadOnDisk((await speckledPng(64, 64)).subarray(0, 5000));
    const others = await Promise.all(
      Array.from({ length: 6 }, async () => uploadOnDisk(await speckledPng(300, 300))),
    );
    let under = 0;
    const counting: EditRules["imageWorker"] = {
      inspect: async (...args) => {
        under += 1;
        return imageWorker.inspect(...args).finally(() => {
          under -= 1;
        });
      },
    };
    const query = edit([truncated.part, ...others.map(({ part }) => part)]);
    if (truncated.part.path) {
      await expectError(
        check(query, { imageWorker: counting }),
        "invalid_image_file",
        /image\[0\]/,
      );
    }
    expect(under).toBe(0);
    await Promise.all([truncated, ...others].map(({ close }) => close()));
  });
});

describe("data: URLs", () => {
  test("become files, byte for byte, whatever type they declare", async () => {
    for (const size of [16, 400]) {
      const png = await speckledPng(size, size);
      const { query, images } = await check(edit([dataUrl(png, "image/jpeg")]));
      const [source] = query.images;
      if (source?.kind !== "file") throw new Error("It is still a link.");
      expect(Buffer.from(await source.file.bytes()).equals(png)).toBeTrue();
      expect([source.file.type, source.file.size]).toEqual(["image/png", png.length]);
      expect(images[0]?.width).toBe(size);
    }
  });

  test("may be percent-encoded, or broken into lines", async () => {
    const png = await speckledPng(16, 16);
    const base64 = png.toString("base64");
    for (const text of [
      encodeURIComponent(base64),
      base64.replace(/.{76}/g, "$&\r\n"),
      png.toString("base64url"),
    ]) {
      const { images } = await check(edit([url(`data:image/png;base64,${text}`)]));
      expect(images[0]?.width).toBe(16);
    }
  });

  test("are rejected like uploads, with their name in JSON", async () => {
    const good = await speckledPng(64, 64);
    const cut = dataUrl(good.subarray(0, 3000));
    const second = edit([dataUrl(good), cut]);
    await refused(second, "invalid_image_file", "images[1].image_url", /images\[1\]/);
    const html = edit([dataUrl(Buffer.from("<html>"))]);
    await refused(html, "unsupported_file_mimetype", "images[0].image_url", /octet-stream/);
    const mask = dataUrl(await maskPng(8, 8));
    const other = edit([dataUrl(good)], { mask });
    await refused(other, "invalid_value", "mask.image_url", /8x8 and the image 64x64/);
    const plain = edit([url("data:image/png,abc")]);
    await refused(plain, "invalid_value", "images[0].image_url", /base64/);
  });
});

test("links and file ids are left unchecked until they are downloaded", async () => {
  const sources = [url("https://example.com/a.png"), { kind: "file_id", id: "file-1" } as const];
  const mask = file(upload(await maskPng(8, 8), "mask"));
  const { query, images, mask: inspectedMask } = await check(edit(sources, { mask }));
  expect(images).toEqual([undefined, undefined]);
  expect(query.images).toEqual(sources);
  expect(inspectedMask?.width).toBe(8);
});

test("a downloaded image is inspected in the same way", async () => {
  const png = await speckledPng(12, 12);
  const rules = { imageWorker };
  const field = "images[0].image_url";
  expect((await checkImage(inBytes(png), field, rules, never)).width).toBe(12);
  const cut = inBytes(png.subarray(0, 200));
  const error = await expectError(checkImage(cut, field, rules, never), "invalid_image_file");
  expect(error.details.param).toBe(field);
  const gif = inBytes(await noise(9, 9).gif().toBuffer());
  await expectError(checkImage(gif, field, rules, never), "unsupported_file_mimetype", /gif/);
});

test("an inspected image is not decoded again", async () => {
  let decoded = 0;
  const inspector = inspectOnce({
    inspect: (...args) => {
      decoded++;
      return imageWorker.inspect(...args);
    },
  });
  const [one, other] = [upload(await speckledPng(12, 8)), upload(await speckledPng(9, 9))];
  const first = await inspector.inspect(one, never);
  expect(await inspector.inspect(one, never)).toEqual(first);
  expect((await inspector.inspect(other, never)).width).toBe(9);
  expect(decoded).toBe(2);
});
