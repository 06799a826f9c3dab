/** Many large answers at the same time, again and again: what do they weigh, and does anything of them stay behind? */

import { atMost } from "../finding.ts";
import { highest, type Memory, memoryOf, memoryText, watchMemory } from "../memory.ts";
import { largeKinds, largePicture, pictureIn } from "../pictures.ts";
import { namelessFilesOf } from "../proc.ts";
import { rawCall } from "../raw-call.ts";
import { type AnswerWay, answers, answerWays, targets } from "../scenarios.ts";
import type { Part } from "../site.ts";

/** All rounds of links are kept until the end. */
const roomy = { VEXEL_IMAGES_MAX_BYTES: String(8 * 1024 ** 3) };

/** What an answer must be, byte for byte, to each of the questions. */
type Expected = readonly Buffer[];

export const manyAnswers =
  (way: AnswerWay): Part =>
  async (site) => {
    const { count } = answers;
    const name = `${count} answers of 4 MB at once${way.name}`;
    site.say(name);
    const vexel = await site.vexel(roomy);
    const { pid } = vexel.process;
    await Bun.sleep(500);
    const rest = memoryOf(pid);
    const expected = await learn(vexel.url, way);
    const filesBefore = namelessFilesOf(pid);
    const round = async (): Promise<Memory> => {
      const watch = watchMemory(pid, 20);
      await Promise.all(
        Array.from({ length: count }, (_, at) => ask(vexel.url, at, way, expected)),
      );
      return watch.peak();
    };
    const peaks: Memory[] = [];
    for (let at = 1; at <= site.rounds; at++) {
      site.say(`${name}: round ${at} of ${site.rounds}`);
      peaks.push(await round());
    }
    // The last file is closed a moment after the last byte has left.
    await Bun.sleep(500);
    const [after, filesLeft] = [memoryOf(pid), namelessFilesOf(pid) - filesBefore];
    await vexel.process.stop();

    const peak = highest(peaks);
    const each = peaks.map(({ gateway }) => gateway.toFixed(0)).join(", ");
    return {
      text: [
        `${name}, each byte as it should be: ${memoryText(rest)} at rest, ${memoryText(peak)} at most, ${memoryText(after)} afterwards`,
        `at most in each round ${each} MB`,
      ].join("\n"),
      figures: { name, rest, peaks, after, filesLeft },
      verdicts: [
        atMost(
          `growth with ${name}`,
          peak.gateway - rest.gateway,
          targets.answersGrowthMegabytes,
          "MB",
        ),
        atMost(`files still open after ${name}`, filesLeft, 0, "files"),
      ],
    };
  };

async function* question(at: number, { ask }: AnswerWay): AsyncGenerator<Uint8Array> {
  yield Buffer.from(JSON.stringify({ ...ask, prompt: `Fox ${at % largeKinds}` }));
}

const call = (at: number, way: AnswerWay) => ({
  path: answers.path,
  type: "application/json",
  body: question(at, way),
});

/** One by one, with the picture in each held against the upstream's own. */
async function learn(url: string, way: AnswerWay): Promise<Expected> {
  const learned: Buffer[] = [];
  for (let at = 0; at < largeKinds; at++) {
    const pieces: Buffer[] = [];
    const onPiece = (piece: Buffer) => pieces.push(Buffer.from(piece));
    const { status } = await rawCall(url, { ...call(at, way), onPiece });
    const body = Buffer.concat(pieces);
    if (status !== 200) throw new Error(`answered ${status}: ${body.subarray(0, 500)}`);
    if (!(await fetchedFrom(body.toString())).equals(largePicture(at)))
      throw new Error(`answer ${at} holds another picture than the upstream gave`);
    learned.push(body);
  }
  return learned;
}

/** The picture of an answer, or what its link leads to. */
async function fetchedFrom(answer: string): Promise<Buffer> {
  const link = /"url":"([^"]+)"/.exec(answer)?.[1];
  return link ? Buffer.from(await (await fetch(link)).arrayBuffer()) : pictureIn(answer);
}

async function ask(url: string, at: number, way: AnswerWay, all: Expected): Promise<void> {
  const expected = all[at % largeKinds] as Buffer;
  // Each link is another, and as long as any.
  const onPiece = (piece: Buffer, from: number): void => {
    if (way !== answerWays.kept && !piece.equals(expected.subarray(from, from + piece.length)))
      throw new Error(`answer ${at} is wrong within ${piece.length} bytes from byte ${from}`);
  };
  const { status, length } = await rawCall(url, { ...call(at, way), onPiece });
  if (status !== 200 || length !== expected.length)
    throw new Error(`answer ${at} has status ${status} and ${length} of ${expected.length} bytes`);
}
