/** Laws: the vendor gets the client's prompt, and the client gets the vendor's images. */
import { expect } from "bun:test";
import { sniffImage } from "../../../server/lib/sniff-image.ts";
import { draw, usualPrompt } from "../ask.ts";
import type { PictureLaws } from "./law.ts";
import { expectTrue, hashOf, picturesIn } from "./truth.ts";

/** Whatever a body, a form, a header or a template could stumble over. */
const trickyPrompt = [
  `She said "don't" \\ 'perhaps' and {"left": [1, 2]}, 100% of it & more; a=b?c#d`,
  "a second line\twith a tab",
  "🦦 水獺 выдра نهر ñandú e\u0301 \u202Eabc\u202C",
  "--boundary\r\nContent-Disposition: form-data; </script> $x {{y}}",
].join("\n");

export const drawing: PictureLaws = {
  "the prompt arrives exactly as it was written": {
    holds: async (place, operation) => {
      // In a form every client writes line breaks as two characters: then that is what was written.
      const written = operation === "edits" ? trickyPrompt.replace(/\r?\n/g, "\r\n") : trickyPrompt;
      await draw(place, operation, { prompt: written });
      expect(place.served.studio.orders.map(({ prompt }) => prompt)).toEqual([written]);
    },
  },

  "a picture asked for as base64 is the one that was drawn, to the last byte": {
    holds: async (place, operation) => {
      const { studio } = place.served;
      const answer = await draw(place, operation, { response_format: "b64_json" });
      const pictures = picturesIn(answer);
      expect(pictures.map(hashOf)).toEqual(studio.pictures.map(hashOf));
      expectTrue(answer, pictures);
      expect(studio.orders.map(({ prompt, n }) => ({ prompt, n }))).toEqual([
        { prompt: usualPrompt, n: 1 },
      ]);
      expect(answer.row.attempts).toBe(1);
    },
  },

  "a picture asked for as a link can be fetched, and is the one that was drawn": {
    holds: async (place, operation) => {
      const answer = await draw(place, operation, { response_format: "url" });
      const links = (answer.body.data ?? []).map(({ url, b64_json }) => {
        expect(b64_json).toBeUndefined();
        return url ?? "";
      });
      const pictures = await Promise.all(
        links.map(async (link) => {
          const file = await fetch(link);
          expect(file.status, link).toBe(200);
          expect(file.headers.get("content-type")).toBe(
            sniffImage(await file.clone().bytes()) ?? "",
          );
          return file.bytes();
        }),
      );
      expect(pictures.map(hashOf)).toEqual(place.served.studio.pictures.map(hashOf));
      expectTrue(answer, pictures);
    },
  },

  "a picture too large to be held arrives to the last byte": {
    holds: async (place, operation) => {
      const { studio } = place.served;
      studio.play("heavy");
      const answer = await draw(place, operation, { response_format: "b64_json" });
      const pictures = picturesIn(answer);
      expect(pictures[0]?.length).toBeGreaterThan(160 * 1024);
      expect(pictures.map(hashOf)).toEqual(studio.pictures.map(hashOf));
      expectTrue(answer, pictures);
    },
  },

  "three pictures are three different ones, however many the vendor makes at a time": {
    holds: async (place, operation) => {
      const { studio } = place.served;
      const answer = await draw(place, operation, { n: 3, response_format: "b64_json" });
      const pictures = picturesIn(answer);
      expect(new Set(pictures.map(hashOf))).toEqual(new Set(studio.pictures.map(hashOf)));
      expect(new Set(pictures.map(hashOf)).size).toBe(3);
      expect(studio.orders.reduce((sum, { n }) => sum + n, 0)).toBe(3);
      for (const { prompt } of studio.orders) expect(prompt).toBe(usualPrompt);
      expectTrue(answer, pictures);
    },
  },
};
