/** Many large responses at the same time, repeatedly: how much memory they take, and whether files stay open. */

import type { RunScenario } from "../context.ts";
import { highest, type Memory, memoryOf, memoryText, watchMemory } from "../memory.ts";
import { unlinkedFilesOf } from "../proc.ts";
import { sendRaw } from "../raw-request.ts";
import { atMost } from "../result.ts";
import { imageIn, largeImage, largeKinds } from "../sample-images.ts";
import { largeResponses, type ResponseFormat, responseFormats, targets } from "../scenarios.ts";

/** The image files of all rounds are stored until the end. */
const largeImageStore = { VEXEL_IMAGES_MAX_BYTES: String(8 * 1024 ** 3) };

/** The expected body of each response, byte for byte. */
type Expected = readonly Buffer[];

export const concurrentResponses =
  (format: ResponseFormat): RunScenario =>
  async (context) => {
    const { count } = largeResponses;
    const name = `${count} concurrent responses of 4 MB${format.name}`;
    context.log(name);
    const vexel = await context.vexel(largeImageStore);
    const { pid } = vexel.process;
    await Bun.sleep(500);
    const rest = memoryOf(pid);
    const expected = await fetchExpected(vexel.url, format);
    const filesBefore = unlinkedFilesOf(pid);
    const round = async (): Promise<Memory> => {
      const watch = watchMemory(pid, 20);
      await Promise.all(
        Array.from({ length: count }, (_, at) => verifyResponse(vexel.url, at, format, expected)),
      );
      return watch.peak();
    };
    const peaks: Memory[] = [];
    for (let at = 1; at <= context.rounds; at++) {
      context.log(`${name}: round ${at} of ${context.rounds}`);
      peaks.push(await round());
    }
    // The last file is closed shortly after the last byte is sent.
    await Bun.sleep(500);
    const [after, filesLeft] = [memoryOf(pid), unlinkedFilesOf(pid) - filesBefore];
    await vexel.process.stop();

    const peak = highest(peaks);
    const each = peaks.map(({ gateway }) => gateway.toFixed(0)).join(", ");
    return {
      text: [
        `${name}, each byte verified: ${memoryText(rest)} at rest, ${memoryText(peak)} at most, ${memoryText(after)} afterwards`,
        `at most in each round ${each} MB`,
      ].join("\n"),
      figures: { name, rest, peaks, after, filesLeft },
      verdicts: [
        atMost(
          `growth with ${name}`,
          peak.gateway - rest.gateway,
          targets.responsesGrowthMegabytes,
          "MB",
        ),
        atMost(`files still open after ${name}`, filesLeft, 0, "files"),
      ],
    };
  };

async function* bodyOf(at: number, { body }: ResponseFormat): AsyncGenerator<Uint8Array> {
  yield Buffer.from(JSON.stringify({ ...body, prompt: `Fox ${at % largeKinds}` }));
}

const requestOf = (at: number, format: ResponseFormat) => ({
  path: largeResponses.path,
  type: "application/json",
  body: bodyOf(at, format),
});

/** One request at a time, and the image in each response is compared with the upstream's. */
async function fetchExpected(url: string, format: ResponseFormat): Promise<Expected> {
  const bodies: Buffer[] = [];
  for (let at = 0; at < largeKinds; at++) {
    const parts: Buffer[] = [];
    const onBytes = (bytes: Buffer) => parts.push(Buffer.from(bytes));
    const { status } = await sendRaw(url, { ...requestOf(at, format), onBytes });
    const body = Buffer.concat(parts);
    if (status !== 200) throw new Error(`got status ${status}: ${body.subarray(0, 500)}`);
    if (!(await fetchImage(body.toString())).equals(largeImage(at)))
      throw new Error(`response ${at} has another image than the upstream returned`);
    bodies.push(body);
  }
  return bodies;
}

/** The image of a response, or the file at its link. */
async function fetchImage(body: string): Promise<Buffer> {
  const link = /"url":"([^"]+)"/.exec(body)?.[1];
  return link ? Buffer.from(await (await fetch(link)).arrayBuffer()) : imageIn(body);
}

async function verifyResponse(
  url: string,
  at: number,
  format: ResponseFormat,
  all: Expected,
): Promise<void> {
  const expected = all[at % largeKinds] as Buffer;
  // Each link differs, with the same length.
  const onBytes = (bytes: Buffer, from: number): void => {
    if (
      format !== responseFormats.asLinks &&
      !bytes.equals(expected.subarray(from, from + bytes.length))
    )
      throw new Error(`response ${at} is wrong within ${bytes.length} bytes from byte ${from}`);
  };
  const { status, length } = await sendRaw(url, { ...requestOf(at, format), onBytes });
  if (status !== 200 || length !== expected.length)
    throw new Error(
      `response ${at} has status ${status} and ${length} of ${expected.length} bytes`,
    );
}
