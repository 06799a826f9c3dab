/** How the bench's upstream answers calls for pictures: at once, with links, many together, and edits that it takes slowly. */

import { crc32 } from "node:zlib";
import { headers as embeddingHeaders } from "./embeddings.ts";
import {
  answerWith,
  eventWith,
  largeKinds,
  largePicture,
  photoPicture,
  usualPicture,
} from "./pictures.ts";
import { answers, edits } from "./scenarios.ts";

type Answer = (request: Request) => Promise<Response>;

const headers = { ...embeddingHeaders, "openai-model": "gpt-image-2" };

/** Written once, when first asked for: the upstream shares its core with the load, and must not be what limits. */
function always(write: (request: Request) => string, told = headers): Answer {
  let body: Uint8Array | undefined;
  return async (request) => {
    body ??= Buffer.from(write(request));
    await request.arrayBuffer();
    return new Response(body, { headers: told });
  };
}

const inBase64 = (picture: Buffer) => ({ b64_json: picture.toString("base64") });

export const givePicture = always(() => answerWith(inBase64(usualPicture()), "usual"));

export const givePhoto = always(() => answerWith(inBase64(photoPicture()), "photo"));

/** To `servePicture` of this same upstream. */
export const giveLink = always(({ url }) =>
  answerWith({ url: new URL("/picture.png", url).href }, "usual"),
);

export const servePicture: Answer = async () =>
  new Response(usualPicture(), { headers: { "content-type": "image/png" } });

const eventHeaders = { ...headers, "content-type": "text/event-stream; charset=utf-8" };

const streamed = Array.from({ length: largeKinds }, (_, kind) =>
  always(() => eventWith(inBase64(largePicture(kind)), "large"), eventHeaders),
);

const large = Array.from({ length: largeKinds }, (_, kind) =>
  always(() => answerWith(inBase64(largePicture(kind)), "large")),
);

/** The number in the prompt says which picture. It takes a while, so that all who call are there when answers go out. */
export const giveLarge: Answer = async (request) => {
  const { prompt, stream } = (await request.clone().json()) as { prompt: string; stream?: boolean };
  const give = (stream ? streamed : large)[Number(/\d+/.exec(prompt)) % largeKinds];
  if (!give) return new Response("no such picture", { status: 400 });
  await Bun.sleep(answers.drawsMs);
  return give(request);
};

/** Bytes per millisecond and upload: slow enough that a proxy which does not wait must hoard. */
const appetite = 16_000;

const pngStart = Buffer.from("\x89PNG", "latin1");
const formEnd = Buffer.from("\r\n--");

/** Tells in its answer what sum the picture had that came. */
export const takeEdit: Answer = async (request) => {
  const started = performance.now();
  const sum = createSum();
  let eaten = 0;
  for await (const piece of request.body ?? []) {
    eaten += piece.length;
    sum.add(piece);
    const early = eaten / appetite - (performance.now() - started);
    if (early > 2) await Bun.sleep(early);
  }
  const whole = eaten > edits.megabytes * 1_000_000;
  const entry = inBase64(usualPicture());
  return new Response(
    whole ? answerWith(entry, "usual", { picture_sum: sum.read() }) : `only ${eaten} bytes came`,
    { status: whole ? 200 : 400, headers },
  );
};

/** Of all from the first byte of the picture to the end of the form, whose last line it leaves out. */
function createSum(): { add(piece: Uint8Array): void; read(): number } {
  let [sum, begun] = [0, false];
  // As much as may be the form's last line is held back.
  let held: Buffer = Buffer.alloc(0);
  const lineBytes = 256;
  return {
    add: (piece) => {
      const joined = Buffer.concat([held, piece]);
      const start = begun ? 0 : joined.indexOf(pngStart);
      begun ||= start >= 0;
      const until = Math.max(0, joined.length - lineBytes);
      if (begun) sum = crc32(joined.subarray(start, Math.max(start, until)), sum);
      held = joined.subarray(begun ? Math.max(start, until) : until);
    },
    read: () => crc32(held.subarray(0, held.lastIndexOf(formEnd)), sum),
  };
}
