/** The sizes in pixels that Ideogram's newer models generate. */

/**
 * developer.ideogram.ai, 4.5: "one of the supported 1K/2K presets", without a list. The 2K presets are those of 4.0
 * (docs.comfy.org, IdeogramV4, lists nearly all of them); the 1K presets are half as large. Ideogram refuses a size
 * that is not a preset.
 */
export const sizesOf45: readonly string[] = [
  "1024x1024",
  "896x1120",
  "1120x896",
  "864x1152",
  "1152x864",
  "832x1248",
  "1248x832",
  "800x1280",
  "1280x800",
  "720x1280",
  "1280x720",
  "720x1440",
  "1440x720",
  "2048x2048",
  "1792x2240",
  "2240x1792",
  "1728x2304",
  "2304x1728",
  "1664x2496",
  "2496x1664",
  "1600x2560",
  "2560x1600",
  "1440x2560",
  "2560x1440",
  "1440x2880",
  "2880x1440",
  "1296x3168",
  "3168x1296",
  "1152x2944",
  "2944x1152",
  "1248x3328",
  "3328x1248",
  "1280x3072",
  "3072x1280",
  "1024x3072",
  "3072x1024",
];

/** developer.ideogram.ai, ResolutionV4: the same sizes, and the narrowest one also as 1K. */
export const sizesOf4: readonly string[] = [...sizesOf45, "512x1536", "1536x512"];

/**
 * The same page: with an input image, both edges are multiples of 32, and up to 1024x1024 pixels cost least. So these
 * are the largest such sizes of each aspect ratio.
 */
export const editSizesByRatio: Readonly<Record<string, string>> = {
  "1:1": "1024x1024",
  "5:4": "1120x896",
  "4:5": "896x1120",
  "4:3": "1152x864",
  "3:4": "864x1152",
  "3:2": "1248x832",
  "2:3": "832x1248",
  "16:10": "1280x800",
  "10:16": "800x1280",
  "16:9": "1024x576",
  "9:16": "576x1024",
  "2:1": "1408x704",
  "1:2": "704x1408",
  "3:1": "1728x576",
  "1:3": "576x1728",
};
