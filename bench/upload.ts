/** Large multipart uploads without a length, all at once, on raw sockets so that the pace is theirs. */

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { key, uploads } from "./scenarios.ts";

const boundary = "----bench-0123456789";
const part = (head: string, body = "") =>
  `--${boundary}\r\ncontent-disposition: form-data; ${head}\r\n\r\n${body}`;

const opening = [
  part('name="model"', "gpt-image-2\r\n"),
  part('name="prompt"', "a hat\r\n"),
  part('name="image"; filename="a.png"\r\ncontent-type: image/png'),
].join("");
const closing = `\r\n--${boundary}--\r\n`;

// The beginning of a 1024x1024 PNG; the rest is noise-free filler that nobody should decode.
const pngHead = Buffer.from("iVBORw0KGgoAAAANSUhEUgAABAAAAAQACAIAAADwf7zU", "base64");

async function send(socket: Socket, piece: Uint8Array): Promise<void> {
  socket.write(`${piece.length.toString(16)}\r\n`);
  socket.write(piece);
  if (!socket.write("\r\n")) await once(socket, "drain");
}

/** The status line and headers of the answer. */
async function upload(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let heard = "";
  const answered = new Promise<string>((resolve, reject) => {
    socket.on("data", (bytes) => {
      heard += bytes.toString("latin1");
      if (heard.includes("\r\n\r\n")) resolve(heard);
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the connection closed before the answer")));
  });
  await once(socket, "connect");
  socket.write(
    [
      `POST ${uploads.path} HTTP/1.1`,
      `host: ${hostname}:${port}`,
      `authorization: Bearer ${key}`,
      `content-type: multipart/form-data; boundary=${boundary}`,
      "transfer-encoding: chunked",
      "\r\n",
    ].join("\r\n"),
  );
  const filler = Buffer.alloc(64 * 1024, 7);
  const all = async () => {
    await send(socket, Buffer.concat([Buffer.from(opening), pngHead]));
    let left = uploads.megabytes * 1_000_000 - pngHead.length;
    for (; left > 0; left -= filler.length) await send(socket, filler.subarray(0, left));
    await send(socket, Buffer.from(closing));
    socket.write("0\r\n\r\n");
    return answered;
  };
  try {
    // An early answer is a refusal, and ends the upload.
    return await Promise.race([all(), answered]);
  } finally {
    socket.destroy();
  }
}

export async function uploadAll(url: string): Promise<void> {
  const answers = await Promise.all(Array.from({ length: uploads.count }, () => upload(url)));
  const refused = answers.find((answer) => !answer.startsWith("HTTP/1.1 200"));
  if (refused) throw new Error(`an upload was answered: ${refused.slice(0, 500)}`);
}
