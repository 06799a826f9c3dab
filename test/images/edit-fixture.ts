/** Fixture of the edit tests: a gateway, and upstreams that keep the images and masks they receive. */
import sharp from "sharp";
import { base64Of, grayImage } from "../conformance/arrange.ts";
import { startGateway, testKey } from "../harness.ts";

interface Arrived {
  readonly model: string;
  readonly images: readonly Uint8Array[];
  readonly mask?: Uint8Array;
}

/** `form` gets OpenAI's multipart form, `json` the JSON of AUTOMATIC1111, and `d2` accepts only PNG. */
export function startEdits() {
  const arrived: Arrived[] = [];
  const shown = new Map<string, Uint8Array<ArrayBuffer>>();
  const response = base64Of(grayImage("an otter"));
  const fake = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const image = shown.get(new URL(request.url).pathname);
      if (image) return new Response(image);
      if (request.headers.get("content-type")?.includes("json")) {
        arrived.push(ofJson((await request.json()) as never));
        const info = JSON.stringify({ sd_model_name: "custom-checkpoint" });
        return Response.json({ images: [response], info });
      }
      arrived.push(await ofForm((await request.formData()) as FormData));
      return Response.json({ created: 1, data: [{ b64_json: response }] });
    },
  });
  const origin = `http://127.0.0.1:${fake.port}`;
  const gateway = startGateway({
    yaml: `
upstreams:
  - { id: openai, kind: openai, baseUrl: "${origin}", apiKey: sk-fake }
  - { id: a1111, kind: automatic1111, baseUrl: "${origin}" }
models:
  - { id: form, kind: image, targets: [{ upstream: openai, model: gpt-image-2 }] }
  - { id: json, kind: image, targets: [{ upstream: a1111, model: custom-checkpoint }] }
  - { id: d2, kind: image, targets: [{ upstream: openai, model: dall-e-2 }] }
  - { id: either, kind: image, targets: [{ upstream: openai, model: dall-e-2, tier: 1 }, { upstream: openai, model: gpt-image-2, tier: 2 }] }
keys: [{ name: test, key: ${testKey} }]
`,
    settings: { VEXEL_DOWNLOAD_PRIVATE: "127.0.0.1" },
  });
  return {
    gateway,
    arrived,
    edit: (model: string, image: Uint8Array, mask?: Uint8Array) => {
      const body = new FormData();
      body.append("model", model);
      body.append("prompt", "a hat");
      body.append("image", fileOf(image));
      if (mask) body.append("mask", fileOf(mask));
      const headers = { authorization: `Bearer ${testKey}` };
      return fetch(`${gateway.baseURL}/images/edits`, { method: "POST", headers, body });
    },
    /** As `edit`, with links to the image and the mask. */
    editLinked: (model: string, image: Uint8Array, mask?: Uint8Array) => {
      const link = (name: string, bytes: Uint8Array) => {
        shown.set(name, new Uint8Array(bytes));
        return { image_url: `${origin}${name}` };
      };
      return gateway.post("/v1/images/edits", {
        model,
        prompt: "a hat",
        images: [link("/image", image)],
        ...(mask && { mask: link("/mask", mask) }),
      });
    },
    close: async () => {
      await gateway.close();
      await fake.stop(true);
    },
  };
}

const fileOf = (bytes: Uint8Array): File => new File([new Uint8Array(bytes)], "a.png");

const fromBase64 = (text: string): Uint8Array =>
  Buffer.from(text.replace(/^data:[^,]*,/, ""), "base64");

const ofJson = (body: { init_images: string[]; mask?: string }): Arrived => ({
  model: "custom-checkpoint",
  images: body.init_images.map(fromBase64),
  ...(body.mask && { mask: fromBase64(body.mask) }),
});

async function ofForm(form: FormData): Promise<Arrived> {
  const filesIn = (name: string) =>
    Promise.all(form.getAll(name).flatMap((part) => (part instanceof Blob ? [part.bytes()] : [])));
  const [mask] = await filesIn("mask");
  return {
    model: String(form.get("model")),
    images: [...(await filesIn("image")), ...(await filesIn("image[]"))],
    ...(mask && { mask }),
  };
}

/** Four bytes for each pixel, as stored: the EXIF orientation is not applied. */
export async function storedIn(image: Uint8Array) {
  const { orientation, format, hasAlpha } = await sharp(image).metadata();
  const { data, info } = await sharp(image)
    .toColourspace("srgb")
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const { width, height } = info;
  return { width, height, pixels: new Uint8Array(data), orientation, format, hasAlpha };
}
