/** Laws: the exchanges with a vendor match the golden files. UPDATE_GOLDENS=1 writes them again. */
import { expect } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { anyEdges, type ImageCapabilities } from "../../../server/upstream/image-capabilities.ts";
import { goldenOf, goldenPrompt, goldens } from "../golden.ts";
import { generate, source, sourceSize } from "../send-request.ts";
import { createMask } from "../test-images.ts";
import type { ImageLaws } from "./law.ts";

const updating = process.env.UPDATE_GOLDENS === "1";

/** Preferred values of each option; the first one that the vendor supports is sent. */
const preferred = {
  quality: ["high", "hd"],
  background: ["opaque"],
  moderation: ["low"],
  style: ["vivid"],
  input_fidelity: ["high"],
} as const;

function requestOptionsFor({ takes, sizes }: ImageCapabilities): Record<string, unknown> {
  const options = Object.entries(preferred).flatMap(([name, values]) => {
    const supported = takes[name as keyof typeof preferred];
    const value = values.find((word) => supported !== "any" && supported?.includes(word));
    return value === undefined ? [] : [[name, value]];
  });
  return { ...Object.fromEntries(options), ...sizeFor(sizes) };
}

/** A size that the vendor certainly supports. */
function sizeFor(sizes: ImageCapabilities["sizes"]): { size?: string } {
  if (sizes === "any" || sizes === anyEdges) return {};
  if ("ratios" in sizes) return { size: "1536x1024" };
  if ("list" in sizes) {
    const size = sizes.list.find((entry) => /^\d+x\d+$/.test(entry));
    return size === undefined ? {} : { size };
  }
  const { multipleOf, minEdge, maxEdge, minPixels = 0 } = sizes.rule;
  const edge = Math.max(minEdge, Math.min(maxEdge, 1024), Math.ceil(Math.sqrt(minPixels)));
  const fits = edge % multipleOf === 0 && edge * edge <= (sizes.rule.maxPixels ?? edge * edge);
  return fits ? { size: `${edge}x${edge}` } : {};
}

export const wire: ImageLaws = {
  "the exchanges between the gateway and the vendor match the golden file": {
    holds: async (context, operation) => {
      const capabilities = context.capabilities(operation);
      const requested = { prompt: goldenPrompt, ...requestOptionsFor(capabilities) };
      const masked = operation === "edits" && capabilities.edits?.mask !== undefined;
      await generate(context, operation, {
        ...requested,
        images: [await source(0)],
        ...(masked && { mask: await createMask(sourceSize, sourceSize) }),
      });
      const golden = await goldenOf(context.vendor, requested, context.fake.exchanges);
      const path = join(goldens, `${context.vendor.name}.${operation}.golden.json`);
      if (updating) {
        mkdirSync(goldens, { recursive: true });
        writeFileSync(path, `${JSON.stringify(golden, null, 2)}\n`);
        return;
      }
      expect(existsSync(path), "no golden file yet: UPDATE_GOLDENS=1").toBe(true);
      expect<unknown>(golden).toEqual(JSON.parse(readFileSync(path, "utf8")));
    },
  },
};
