/**
 * A worker thread that measures how long the event loop of a server is blocked: the longest latency of `GET /healthz`
 * on one connection. The time that the server's main thread and this thread wait for a core is subtracted, so that
 * other load on the machine does not count. The thread does nothing else, so that sending a body does not delay the
 * measurement.
 */
import { readFileSync } from "node:fs";
import { connect } from "node:net";

declare const self: Worker;

/** Milliseconds for which a thread was ready to run and waited for a core. */
const waitedMs = (path: string): number => Number(readFileSync(path, "latin1").split(" ")[1]) / 1e6;

async function probe(url: string, pid: number): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.setNoDelay(true);
  await new Promise((resolve) => socket.once("connect", resolve));
  let hasEnded = false;
  self.onmessage = () => {
    hasEnded = true;
  };
  const waited = (): number =>
    waitedMs(`/proc/${pid}/task/${pid}/schedstat`) + waitedMs("/proc/thread-self/schedstat");
  const sendRequest = (): Promise<void> =>
    new Promise((resolve) => {
      socket.once("data", () => resolve());
      socket.write("GET /healthz HTTP/1.1\r\nhost: bench\r\n\r\n");
    });
  await sendRequest();
  self.postMessage("ready");
  let longest = 0;
  while (!hasEnded) {
    const waitedBefore = waited();
    const began = performance.now();
    await sendRequest();
    const latency = performance.now() - began;
    longest = Math.max(longest, latency - (waited() - waitedBefore));
    await Bun.sleep(1);
  }
  socket.destroy();
  self.postMessage(longest);
}

self.onmessage = ({ data }: MessageEvent<{ url: string; pid: number }>) => {
  void probe(data.url, data.pid);
};
