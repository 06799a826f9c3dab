/** Fake of the Gemini API, with an image model of each generation. */
import type { FakeVendor, VendorRequest } from "../image-vendor.ts";
import { generateContent, imageRefusals, refusal, type Surface } from "./google-server.ts";

const key = "AIzaSyVexelPictures0123456789abcdefghij";
const host = "generativelanguage.googleapis.com";
const shapes = ["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"];

function caseOf(name: string, surface: Surface): FakeVendor {
  const { model } = surface;
  const checkRequest = ({ method, path, headers }: VendorRequest): void => {
    if (headers.get("x-goog-api-key") !== key) {
      throw refusal(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.");
    }
    const requested = /^\/v1beta\/models\/([^/:]+):generateContent$/.exec(path)?.[1];
    if (method === "POST" && requested === model) return;
    throw refusal(
      404,
      "NOT_FOUND",
      `models/${requested} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.`,
    );
  };
  return {
    name,
    kind: "gemini",
    model,
    config: { apiKey: key },
    basePath: "/v1beta",
    operations: ["generations", "edits"],
    source:
      "https://ai.google.dev/gemini-api/docs/generate-content/image-generation; googleapis/js-genai, src/types.ts",
    open: (generator) => (request) => {
      checkRequest(request);
      return generateContent(request, generator, surface);
    },
    refusals: imageRefusals(model, { host, project: "otter-works" }),
  };
}

const imageConfig = ["aspectRatio", "imageSize"];
const banners = ["1:4", "4:1", "1:8", "8:1"];
const sizes = ["1K", "2K", "4K"];

export const gemini: readonly FakeVendor[] = [
  caseOf("gemini-nano-banana-2.1", {
    model: "gemini-nano-banana-2.1",
    imageConfig,
    shapes: [...shapes, ...banners],
    sizes,
    levels: { MINIMAL: "low", MEDIUM: "medium", HIGH: "high" },
    maxImages: 14,
    kind: "jpeg",
  }),
  caseOf("gemini-3.1-flash-image", {
    model: "gemini-3.1-flash-image",
    imageConfig,
    shapes: [...shapes, ...banners],
    sizes: ["512", ...sizes],
    levels: { MINIMAL: "low", HIGH: "high" },
    maxImages: 14,
    kind: "jpeg",
  }),
  caseOf("gemini-2.5-flash-image", {
    model: "gemini-2.5-flash-image",
    imageConfig,
    shapes,
    maxImages: 14,
    kind: "png",
  }),
];
