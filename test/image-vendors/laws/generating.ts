/** Laws: the vendor gets the client's prompt, and the client gets the vendor's images. */
import { expect } from "bun:test";
import { sniffImage } from "../../../server/lib/sniff-image.ts";
import { promptMember, stepsOf } from "../golden.ts";
import { capabilitiesOf } from "../law-gateway.ts";
import { generate, usualPrompt } from "../send-request.ts";
import { expectConsistent, hashOf, imagesIn } from "./expect-response.ts";
import type { ImageLaws } from "./law.ts";

/** Characters that break careless bodies, forms, headers and templates. */
const trickyPrompt = [
  `She said "don't" \\ 'perhaps' and {"left": [1, 2]}, 100% of it & more; a=b?c#d`,
  "a second line\twith a tab",
  "🦦 水獺 выдра نهر ñandú e\u0301 \u202Eabc\u202C",
  "--boundary\r\nContent-Disposition: form-data; </script> $x {{y}}",
].join("\n");

export const generating: ImageLaws = {
  "the prompt reaches the vendor exactly as it was sent": {
    alike: promptMember,
    holds: async (context, operation) => {
      // Clients encode line breaks in a form as CRLF, so that is what was sent.
      const written = operation === "edits" ? trickyPrompt.replace(/\r?\n/g, "\r\n") : trickyPrompt;
      await generate(context, operation, { prompt: written });
      expect(context.fake.generator.requests.map(({ prompt }) => prompt)).toEqual([written]);
    },
  },

  "an image requested as a link can be downloaded and is the generated one": {
    alike: stepsOf,
    holds: async (context, operation) => {
      const response = await generate(context, operation, { response_format: "url" });
      const links = (response.body.data ?? []).map(({ url, b64_json }) => {
        expect(b64_json).toBeUndefined();
        return url ?? "";
      });
      const images = await Promise.all(
        links.map(async (link) => {
          const file = await fetch(link);
          expect(file.status, link).toBe(200);
          expect(file.headers.get("content-type")).toBe(
            sniffImage(await file.clone().bytes()) ?? "",
          );
          return file.bytes();
        }),
      );
      expect(images.map(hashOf)).toEqual(context.fake.generator.images.map(hashOf));
      expectConsistent(response, images);
    },
  },

  "an image above the memory limit is delivered to the last byte": {
    alike: stepsOf,
    holds: async (context, operation) => {
      const { generator } = context.fake;
      generator.injectFault("heavy");
      const response = await generate(context, operation, { response_format: "b64_json" });
      const images = imagesIn(response);
      expect(images[0]?.length).toBeGreaterThan(160 * 1024);
      expect(images.map(hashOf)).toEqual(generator.images.map(hashOf));
      expectConsistent(response, images);
    },
  },

  "three images are three different ones, however many the vendor generates per request": {
    alike: (vendor, operation) => {
      // The gateway sends several requests, or one, whatever else the vendor's maximum is.
      const { maxImages } = capabilitiesOf(vendor, "http://127.0.0.1", operation);
      return `${stepsOf(vendor, operation)} ${maxImages > 1}`;
    },
    holds: async (context, operation) => {
      const { generator } = context.fake;
      const response = await generate(context, operation, { n: 3, response_format: "b64_json" });
      const images = imagesIn(response);
      expect(new Set(images.map(hashOf))).toEqual(new Set(generator.images.map(hashOf)));
      expect(new Set(images.map(hashOf)).size).toBe(3);
      expect(generator.requests.reduce((sum, { n }) => sum + n, 0)).toBe(3);
      for (const { prompt } of generator.requests) expect(prompt).toBe(usualPrompt);
      expectConsistent(response, images);
    },
  },
};
