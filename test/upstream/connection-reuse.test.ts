/** Consecutive image requests share a connection; no bytes of one response reach the next request. */
import { expect, test } from "bun:test";
import {
  type ReceivedRequest,
  rawServer,
  type TestSender,
  testSender,
} from "./http-client-fixture.ts";

/** Echoes the request body. `headers` are added to the response, and `more` runs after it. */
const echo =
  (headers = "", more: (request: ReceivedRequest) => void = () => {}) =>
  (request: ReceivedRequest): void => {
    const { socket, body } = request;
    socket.write(`HTTP/1.1 200 OK\r\n${headers}content-length: ${body.length}\r\n\r\n`);
    socket.write(body);
    more(request);
  };

const sendAndRead = ({ textOf }: TestSender, url: string, body: string): Promise<string> =>
  textOf(url, body, { streams: true });

test("sequential streaming requests reuse one connection", async () => {
  using upstream = rawServer(echo());
  using sender = testSender();
  for (const body of ["a", "bb", "ccc"])
    expect(await sendAndRead(sender, upstream.url, body)).toBe(body);
  expect(upstream.opened).toBe(1);
});

test("concurrent streaming requests have a connection each", async () => {
  using upstream = rawServer(echo());
  using sender = testSender();
  const bodies = ["a", "bb", "ccc"];
  const responses = () =>
    Promise.all(bodies.map((body) => sendAndRead(sender, upstream.url, body)));
  expect(await responses()).toEqual(bodies);
  expect(await responses()).toEqual(bodies);
  expect(upstream.opened).toBe(3);
});

test("after an idle pause a new connection is opened, because the server may be about to close the old one", async () => {
  using upstream = rawServer(echo());
  using sender = testSender();
  await sendAndRead(sender, upstream.url, "a");
  await Bun.sleep(1100);
  expect(await sendAndRead(sender, upstream.url, "b")).toBe("b");
  expect(upstream.opened).toBe(2);
});

test.each([
  ["announces that it closes", echo("connection: close\r\n")],
  ["closes", echo("", ({ socket }) => void socket.end())],
  [
    "sends more than it declared",
    echo("", ({ socket }) => void socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nX")),
  ],
])("a connection whose server %s is not used again", async (_, response) => {
  using upstream = rawServer(response);
  using sender = testSender();
  for (const body of ["a", "b", "c"]) {
    expect(await sendAndRead(sender, upstream.url, body)).toBe(body);
    await Bun.sleep(20);
  }
  expect(upstream.opened).toBe(3);
});

test("a connection whose response was not read to its end is not reused", async () => {
  using upstream = rawServer(echo());
  using sender = testSender();
  const half = await sender.post(upstream.url, "x".repeat(500_000), { streams: true });
  for await (const chunk of half.chunks()) if (chunk.length > 0) break;
  expect(await sendAndRead(sender, upstream.url, "b")).toBe("b");
  expect(upstream.opened).toBe(2);
});
