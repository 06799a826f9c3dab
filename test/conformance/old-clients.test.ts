/** Requests of old clients, byte for byte as they were captured: they send no model, and chunks of their own sizes. */

import { beforeEach, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { closeAfterAll } from "../clean-up.ts";
import { fakeImage, startFake } from "../fake-upstream.ts";
import { configFor, startGateway, testKey } from "../harness.ts";

const fake = startFake();
const defaults = "defaults: { embedding: embedding-model, image: image-model }\n";
const gateway = startGateway({ yaml: `${configFor(fake.url)}${defaults}` });
beforeEach(() => fake.clear());
closeAfterAll(gateway, fake);

const png = Buffer.from(fakeImage("a boat", 0, { format: "png", width: 64, height: 64 }));
const { host } = new URL(gateway.url);

/** The status of the first response to these bytes. */
function send(bytes: Buffer): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const socket = connect(Number(host.split(":")[1]), "127.0.0.1", () => socket.write(bytes));
  let text = "";
  socket.on("data", (data) => {
    text += data.toString("latin1");
    const status = /^HTTP\/1\.1 (\d+)/.exec(text)?.[1];
    if (status === undefined || !text.includes('"data"')) return;
    socket.destroy();
    resolve(Number(status));
  });
  socket.on("close", () => reject(new Error(`no image in ${text.slice(0, 500)}`)));
  socket.on("error", reject);
  return promise;
}

const chunk = (content: string | Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`${Buffer.byteLength(content).toString(16)}\r\n`),
    Buffer.from(content as Buffer),
    Buffer.from("\r\n"),
  ]);

describe("openai-node 3.3.0", () => {
  const common = (type: string) =>
    `Accept: application/json, text/plain, */*\r\nContent-Type: ${type}\r\nUser-Agent: OpenAI/NodeJS/3.3.0\r\nAuthorization: Bearer ${testKey}\r\n`;

  test("createImageEdit(image, prompt) is for the default image model", async () => {
    const boundary = "--------------------------b795ca036f9c4c89c78bc25e";
    const head = `POST /v1/images/edits HTTP/1.1\r\n${common(`multipart/form-data; boundary=${boundary}`)}Host: ${host}\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const status = await send(
      Buffer.concat([
        Buffer.from(head),
        chunk(
          `--${boundary}\r\nContent-Disposition: form-data; name="image"; filename="s.png"\r\nContent-Type: image/png\r\n\r\n`,
        ),
        chunk(png),
        chunk("\r\n"),
        chunk(`--${boundary}\r\nContent-Disposition: form-data; name="prompt"\r\n\r\n`),
        chunk("a hat"),
        chunk(`\r\n--${boundary}--\r\n`),
        Buffer.from("0\r\n\r\n"),
      ]),
    );
    expect(status).toBe(200);
    expect(gateway.rows().at(-1)).toMatchObject({ endpoint: "edits", model: "image-model" });
  });

  test("createImage({ prompt, n, size }) is for the default image model", async () => {
    const body = '{"prompt":"a boat","n":1,"size":"1024x1024"}';
    const head = `POST /v1/images/generations HTTP/1.1\r\n${common("application/json")}Content-Length: ${body.length}\r\nHost: ${host}\r\nConnection: keep-alive\r\n\r\n`;
    expect(await send(Buffer.from(head + body))).toBe(200);
    expect(gateway.rows().at(-1)).toMatchObject({
      endpoint: "generations",
      model: "image-model",
    });
  });
});

describe("openai-python 0.28.1", () => {
  const agent = `{"bindings_version": "0.28.1", "httplib": "requests", "lang": "python", "lang_version": "3.11.7", "platform": "Linux", "publisher": "openai", "uname": "Linux #1 SMP @0 x86_64 "}`;
  const common = `Host: ${host}\r\nUser-Agent: OpenAI/v1 PythonBindings/0.28.1\r\nAccept-Encoding: gzip, deflate\r\nAccept: */*\r\nConnection: keep-alive\r\nX-OpenAI-Client-User-Agent: ${agent}\r\nAuthorization: Bearer ${testKey}\r\n`;

  test("Image.create(prompt, n, size) is for the default image model", async () => {
    const body = '{"prompt": "a boat", "n": 1, "size": "1024x1024"}';
    const head = `POST /v1/images/generations HTTP/1.1\r\n${common}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    expect(await send(Buffer.from(head + body))).toBe(200);
    expect(gateway.rows().at(-1)).toMatchObject({
      endpoint: "generations",
      model: "image-model",
    });
  });

  test("Image.create_edit(image, prompt) is for the default image model", async () => {
    const boundary = "2e75a285d180beb5332e1163cf82e65b";
    const body = Buffer.concat([
      Buffer.from(
        `--${boundary}\r\nContent-Disposition: form-data; name="prompt"\r\n\r\na hat\r\n--${boundary}\r\nContent-Disposition: form-data; name="image"; filename="image"\r\nContent-Type: application/octet-stream\r\n\r\n`,
      ),
      png,
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ]);
    const head = `POST /v1/images/edits HTTP/1.1\r\n${common}Content-Length: ${body.length}\r\nContent-Type: multipart/form-data; boundary=${boundary}\r\n\r\n`;
    expect(await send(Buffer.concat([Buffer.from(head), body]))).toBe(200);
    expect(gateway.rows().at(-1)).toMatchObject({ endpoint: "edits", model: "image-model" });
  });
});
