/**
 * An embedding server that misbehaves when told to, a process of its own: `bun bench/faulty-upstream.ts [PORT]` prints its
 * port. A line on its input is a mode; `count` is answered with the number of calls so far.
 */

export const modes = ["well", "fail100", "fail30", "hang", "reset", "trickle", "lie"] as const;
export type Mode = (typeof modes)[number];

/** How long a good answer takes. */
const answersMs = 4;
const dimensions = 256;

type Client = Bun.Socket<{ heard: string }>;

let mode: Mode = "well";
let calls = 0;

const vector = (value: number): string =>
  Buffer.from(new Float32Array(dimensions).fill(value).buffer).toString("base64");
const [truth, lie] = [vector(0.0625), vector(0)];

function bodyOf(inputs: number, model: string): string {
  const embedding = mode === "lie" ? lie : truth;
  const data = Array.from({ length: inputs }, (_, index) => ({
    object: "embedding",
    index,
    embedding,
  }));
  const usage = { prompt_tokens: inputs, total_tokens: inputs };
  return JSON.stringify({ object: "list", model, data, usage });
}

const written = (status: string, body: string): string =>
  `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

const broken = written(
  "500 Internal Server Error",
  '{"error":{"message":"no","type":"server_error"}}',
);

function answer(socket: Client, question: string): void {
  calls++;
  const { input, model } = JSON.parse(question) as { input: string | string[]; model: string };
  const inputs = Array.isArray(input) ? input.length : 1;
  if (mode === "hang") return;
  if (mode === "reset") {
    socket.terminate();
    return;
  }
  if (mode === "fail100" || (mode === "fail30" && Math.random() < 0.3)) {
    socket.write(broken);
    return;
  }
  const good = written("200 OK", bodyOf(inputs, model));
  if (mode === "trickle") trickle(socket, good);
  else setTimeout(() => socket.write(good), answersMs);
}

/** A byte now and then: never silent for long, and never done in time. */
function trickle(socket: Client, text: string): void {
  let at = 0;
  const timer = setInterval(() => {
    if (at >= text.length || socket.write(text[at++] as string) < 0) clearInterval(timer);
  }, 50);
}

/** The next whole question, taken out of what was heard. */
function nextQuestion(client: { heard: string }): string | undefined {
  const end = client.heard.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const length = Number(/content-length: (\d+)/i.exec(client.heard.slice(0, end))?.[1] ?? 0);
  if (client.heard.length < end + 4 + length) return undefined;
  const question = client.heard.slice(end + 4, end + 4 + length);
  client.heard = client.heard.slice(end + 4 + length);
  return question;
}

function serve(port: number): void {
  const server = Bun.listen<{ heard: string }>({
    hostname: "127.0.0.1",
    port,
    socket: {
      open: (socket) => {
        socket.data = { heard: "" };
      },
      data: (socket, piece) => {
        // Questions of the bench hold nothing but ASCII.
        socket.data.heard += piece.toString("latin1");
        for (let next = nextQuestion(socket.data); next; next = nextQuestion(socket.data)) {
          answer(socket, next);
        }
      },
    },
  });
  console.log(server.port);
}

async function listenToOrders(): Promise<void> {
  for await (const line of console) {
    if (line === "count") console.log(calls);
    else mode = line as Mode;
  }
}

if (import.meta.main) {
  serve(Number(process.argv[2] ?? 0));
  await listenToOrders();
}
