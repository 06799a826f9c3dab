/** Files of `/v1/files` are images of edits by their `file_id`, for the API keys of their project. */
import { afterAll, expect, test } from "bun:test";
import OpenAI, { toFile } from "openai";
import { grayImage, refusalOf, sha256Of } from "../conformance/arrange.ts";
import { startFake } from "../fake-upstream.ts";
import { keyOf, startTwoProjects, textFile } from "./two-projects.ts";

const fake = startFake();
const { gateway, first, other } = startTwoProjects({}, fake.url);
afterAll(async () => {
  await gateway.close();
  fake.close();
});

const edit = (name: Parameters<typeof keyOf>[0], file_id: string): Promise<Response> =>
  gateway.post(
    "/v1/images/edits",
    { model: "gpt-image-2", prompt: "a hat", images: [{ file_id }] },
    { authorization: `Bearer ${keyOf(name)}` },
  );

test("a file of the project is sent to the upstream as an image", async () => {
  const image = Buffer.from(grayImage("an otter"));
  const file = await first.files.create({
    file: await toFile(image, "otter.png"),
    purpose: "vision",
  });
  fake.clear();
  const response = await edit("mate", file.id);
  expect(response.status).toBe(200);
  const [sent] = fake.requests.at(-1)?.form?.filter(({ field }) => field.startsWith("image")) ?? [];
  expect(sent?.sha256).toBe(sha256Of(image));
});

test("a file of another project stays an id, which only the upstream may know", async () => {
  const file = await other.files.create({
    file: await toFile(Buffer.from(grayImage("a boat")), "boat.png"),
    purpose: "vision",
  });
  fake.clear();
  await edit("first", file.id);
  const sent = Buffer.from(JSON.stringify(fake.requests.at(-1) ?? ""));
  expect(sent.includes(file.id)).toBe(true);
});

test("a file that is not an image is refused", async () => {
  const file = await first.files.create({ file: await textFile("text"), purpose: "user_data" });
  const error = await refusalOf(
    first.post("/images/edits", {
      body: { model: "gpt-image-2", prompt: "a hat", images: [{ file_id: file.id }] },
    }),
    OpenAI.BadRequestError,
  );
  expect(error).toMatchObject({ code: "unsupported_file_mimetype", param: "images" });
});

test("a file with another purpose is refused as an image, and the error names its purpose", async () => {
  const file = await first.files.create({
    file: await toFile(Buffer.from(grayImage("a hat")), "hat.png"),
    purpose: "batch",
  });
  fake.clear();
  for (const [body, param] of [
    [{ images: [{ file_id: file.id }] }, "images"],
    [{ images: [{ image_url: "data:image/png;base64,AA==" }], mask: { file_id: file.id } }, "mask"],
  ] as const) {
    const error = await refusalOf(
      first.post("/images/edits", { body: { model: "gpt-image-2", prompt: "a hat", ...body } }),
      OpenAI.BadRequestError,
    );
    expect(error).toMatchObject({ code: "invalid_value", param });
    expect(error.message).toContain("its purpose is 'batch', and must be 'vision' or 'user_data'");
  }
  expect(fake.requests).toEqual([]);
});
