/** The images that the images playground shows, as a user saves them. */
import sharp from "sharp";
import type { BrowserTest } from "./browser-test.ts";

/** The red, green, blue and alpha of every pixel. */
export const pixelsOf = (image: Buffer) =>
  sharp(image).ensureAlpha().raw().toBuffer({ resolveWithObject: true });

/** Saves a result as a user does. */
export async function downloaded({ page }: BrowserTest): Promise<Buffer> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download", exact: true }).first().click(),
  ]);
  return Buffer.from(await Bun.file(await download.path()).bytes());
}
