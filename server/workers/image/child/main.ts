/** The main file of the darkroom's child process: one picture at a time. Whoever does not want to wait ends the process. */
import { writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { codeOf } from "../../../lib/error-code.ts";
import { serveParent } from "../../process/serve-parent.ts";
import type { DarkroomAsk, DarkroomPart, DarkroomSpec, Sent } from "../protocol.ts";
import { convert, mask } from "./convert.ts";
import { holdPicture } from "./image-input.ts";
import { inspect } from "./inspect.ts";
import { loadSharp } from "./load-sharp.ts";
import { lockDown, openPicture, undecodable } from "./open-image.ts";
import { ObstacleError } from "./unprocessable-image.ts";

const pieceBytes = 256 * 1024;
/** Up to so many bytes are not worth a file. */
const shortBytes = 128 * 1024;

const largeBytes = 4 * 1024 * 1024;
const sizeOf = (picture: Sent): number =>
  picture.kind === "bytes" ? picture.bytes.length : picture.place.length;

/** When memory runs out, the system shall end this process and not the gateway. */
function goFirst(): void {
  if (process.platform !== "linux") return;
  try {
    writeFileSync("/proc/self/oom_score_adj", "1000");
  } catch {
    // Some sandboxes forbid it. Then the system chooses by size, which is this process as a rule.
  }
}

serveParent<DarkroomSpec, DarkroomAsk, DarkroomPart>(async (spec, voice) => {
  goFirst();
  const sharp = lockDown(await loadSharp());

  const deliver = async (id: number, result: Buffer, into: string | undefined): Promise<void> => {
    if (into !== undefined && result.length > shortBytes) {
      await writeFile(into, result, { flag: "r+" }).catch((cause: unknown) => {
        const isAway = ["EACCES", "EPERM", "ENOENT"].includes(codeOf(cause) ?? "");
        const why = isAway ? "unreachable" : "unwritable";
        throw new ObstacleError(why, "could not be written to disk", cause);
      });
      voice.part(id, { kind: "written" }, true);
      return;
    }
    for (let from = 0; from < result.length; from += pieceBytes) {
      // Copied: a view would carry all of the buffer it looks into.
      const bytes = new Uint8Array(result.subarray(from, from + pieceBytes));
      voice.part(id, { kind: "bytes", bytes }, from + pieceBytes >= result.length);
    }
  };

  const work = (id: number, { picture, task, into }: DarkroomAsk): Promise<void> =>
    holdPicture(picture, async (held) => {
      const opened = await openPicture(sharp, held, spec);
      const pixels = opened.width * opened.height * opened.pages;
      voice.part(id, { kind: "opened", pixels }, false);
      if (task.kind === "inspect") {
        voice.part(id, { kind: "seen", seen: await inspect(sharp, opened) }, true);
        return;
      }
      const result =
        task.kind === "convert"
          ? await convert(opened, task.to)
          : await mask(sharp, opened, task.to);
      await deliver(id, result, into);
    });

  return {
    facts: { library: `libvips ${sharp.versions.vips}` },
    ask: (id, ask) => {
      work(id, ask)
        .catch((error: unknown) => {
          const { why, message } = undecodable(error, spec.maxPixels);
          voice.part(id, { kind: "failed", why, words: message }, true);
        })
        .finally(() => {
          // Left to itself, the collector lets the bytes of several pictures lie about.
          if (sizeOf(ask.picture) > largeBytes) Bun.gc(true);
        });
    },
    cancel: () => undefined,
  };
});
