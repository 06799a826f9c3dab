/**
 * Runs the `credential_process` of a profile for AWS's SDK, which would wait for it for ever. The program ends with the
 * request for keys, together with all programs that it started.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { spawn } from "node:child_process";
import { externalDataInterceptor } from "@smithy/core/config";

type Done = (error: Error | null, output?: { readonly stdout: string }) => void;

/** The SDK passes on no signal. */
const signals = new AsyncLocalStorage<AbortSignal>();

/** The programs that `work` starts through the SDK end when the signal aborts. */
export const endProcessesWith = <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> =>
  signals.run(signal, work);

const maxBytes = 64 * 1024;

/** What the program prints may have secrets, and is never part of an error. */
const failed = (): Error => new Error("Command failed");

function run(command: string, done: Done): void {
  const signal = signals.getStore();
  // Its own process group: a shell's own end would leave its programs running.
  const child = spawn(command, {
    shell: true,
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const end = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  };
  const chunks: Buffer[] = [];
  let bytes = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) end();
    else chunks.push(chunk);
  });
  child.on("error", () => settle(failed()));
  child.on("close", (code) =>
    code === 0 && bytes <= maxBytes
      ? settle(null, { stdout: Buffer.concat(chunks).toString() })
      : settle(failed()),
  );
  const settle: Done = (error, output) => {
    signal?.removeEventListener("abort", end);
    done(error, output);
  };
  signal?.addEventListener("abort", end);
  if (signal?.aborted) end();
}

// By this name, the SDK looks for a replacement of `exec`.
externalDataInterceptor.interceptToken("exec", run);
