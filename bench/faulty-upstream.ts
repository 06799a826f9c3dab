/**
 * An embeddings upstream that misbehaves on command, in a process of its own: `bun bench/faulty-upstream.ts [PORT]`
 * prints its port. A line on its input sets the mode; for `count` it prints the number of requests so far.
 */

export const modes = [
  "healthy",
  "fail100",
  "fail30",
  "hang",
  "reset",
  "slow",
  "trickle",
  "zeros",
] as const;
export type Mode = (typeof modes)[number];

/** Latency of a correct response. */
const latencyMs = 4;
/** In the mode `slow`, this share of the responses takes this long. */
const [slowShare, slowMs] = [0.03, 2000];
const dimensions = 256;

type Client = Bun.Socket<{ received: string }>;

let mode: Mode = "healthy";
let requests = 0;

const vector = (value: number): string =>
  Buffer.from(new Float32Array(dimensions).fill(value).buffer).toString("base64");
const [correctVector, zeroVector] = [vector(0.0625), vector(0)];

function bodyOf(inputs: number, model: string): string {
  const embedding = mode === "zeros" ? zeroVector : correctVector;
  const data = Array.from({ length: inputs }, (_, index) => ({
    object: "embedding",
    index,
    embedding,
  }));
  const usage = { prompt_tokens: inputs, total_tokens: inputs };
  return JSON.stringify({ object: "list", model, data, usage });
}

const responseText = (status: string, body: string): string =>
  `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

const serverError = responseText(
  "500 Internal Server Error",
  '{"error":{"message":"no","type":"server_error"}}',
);

function respond(socket: Client, body: string): void {
  requests++;
  const { input, model } = JSON.parse(body) as { input: string | string[]; model: string };
  const inputs = Array.isArray(input) ? input.length : 1;
  if (mode === "hang") return;
  if (mode === "reset") {
    socket.terminate();
    return;
  }
  if (mode === "fail100" || (mode === "fail30" && Math.random() < 0.3)) {
    socket.write(serverError);
    return;
  }
  const correct = responseText("200 OK", bodyOf(inputs, model));
  if (mode === "trickle") trickle(socket, correct);
  else {
    const isSlow = mode === "slow" && Math.random() < slowShare;
    setTimeout(() => socket.write(correct), isSlow ? slowMs : latencyMs);
  }
}

/** One byte every 50 ms: never silent for long, and never done in time. */
function trickle(socket: Client, text: string): void {
  let at = 0;
  const timer = setInterval(() => {
    if (at >= text.length || socket.write(text[at++] as string) < 0) clearInterval(timer);
  }, 50);
}

/** Removes the next complete request body from the received text. */
function takeRequest(client: { received: string }): string | undefined {
  const end = client.received.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const length = Number(/content-length: (\d+)/i.exec(client.received.slice(0, end))?.[1] ?? 0);
  if (client.received.length < end + 4 + length) return undefined;
  const body = client.received.slice(end + 4, end + 4 + length);
  client.received = client.received.slice(end + 4 + length);
  return body;
}

function serve(port: number): void {
  const server = Bun.listen<{ received: string }>({
    hostname: "127.0.0.1",
    port,
    socket: {
      open: (socket) => {
        socket.data = { received: "" };
      },
      data: (socket, bytes) => {
        // Requests of the bench are ASCII only.
        socket.data.received += bytes.toString("latin1");
        for (let next = takeRequest(socket.data); next; next = takeRequest(socket.data)) {
          respond(socket, next);
        }
      },
    },
  });
  console.log(server.port);
}

async function readCommands(): Promise<void> {
  for await (const line of console) {
    if (line === "count") console.log(requests);
    else mode = line as Mode;
  }
}

if (import.meta.main) {
  serve(Number(process.argv[2] ?? 0));
  await readCommands();
}
