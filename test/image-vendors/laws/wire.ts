/** Laws: exactly this goes out to a vendor, and this is what it answers. UPDATE_GOLDENS=1 writes it down anew. */
import { expect } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { anyEdges, type ImageCapabilities } from "../../../server/upstream/image-capabilities.ts";
import { root } from "../../harness.ts";
import { draw, source, sourceSize } from "../ask.ts";
import { goldenOf } from "../golden.ts";
import { paintMask } from "../paint.ts";
import type { PictureLaws } from "./law.ts";

export const goldens = join(root, "test", "wire", "images");
const updating = process.env.UPDATE_GOLDENS === "1";

/** Of each option, what the vendor is asked for, if it is one of the values that it is known to take. */
const preferred = {
  quality: ["high", "hd"],
  background: ["opaque"],
  moderation: ["low"],
  style: ["vivid"],
  input_fidelity: ["high"],
} as const;

function wishFor({ takes, sizes }: ImageCapabilities): Record<string, unknown> {
  const options = Object.entries(preferred).flatMap(([name, values]) => {
    const known = takes[name as keyof typeof preferred];
    const value = values.find((word) => known !== "any" && known?.includes(word));
    return value === undefined ? [] : [[name, value]];
  });
  return { ...Object.fromEntries(options), ...sizeFor(sizes) };
}

/** One that the vendor is sure to make. */
function sizeFor(sizes: ImageCapabilities["sizes"]): { size?: string } {
  if (sizes === "any" || sizes === anyEdges) return {};
  if ("ratios" in sizes) return { size: "1536x1024" };
  if ("list" in sizes) {
    const size = sizes.list.find((entry) => /^\d+x\d+$/.test(entry));
    return size === undefined ? {} : { size };
  }
  const { multipleOf, minEdge, maxEdge } = sizes.rule;
  const edge = Math.max(minEdge, Math.min(maxEdge, 1024));
  const fits = edge % multipleOf === 0 && edge * edge <= (sizes.rule.maxPixels ?? edge * edge);
  return fits ? { size: `${edge}x${edge}` } : {};
}

export const wire: PictureLaws = {
  "what is said between the gateway and the vendor is what is written down": {
    holds: async (place, operation) => {
      const traits = place.traits(operation);
      const asked = { prompt: "A cute baby sea otter", ...wishFor(traits) };
      const masked = operation === "edits" && traits.edits?.mask !== undefined;
      await draw(place, operation, {
        ...asked,
        images: [await source(0)],
        ...(masked && { mask: await paintMask(sourceSize, sourceSize) }),
      });
      const said = await goldenOf(place.vendor, asked, place.served.exchanges);
      const path = join(goldens, `${place.vendor.name}.${operation}.golden.json`);
      if (updating) {
        mkdirSync(goldens, { recursive: true });
        writeFileSync(path, `${JSON.stringify(said, null, 2)}\n`);
        return;
      }
      expect(existsSync(path), "not written down yet: UPDATE_GOLDENS=1").toBe(true);
      expect<unknown>(said).toEqual(JSON.parse(readFileSync(path, "utf8")));
    },
  },
};
