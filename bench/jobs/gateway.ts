/** A gateway of the bench of jobs, which can be killed and started again with the same data. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cores, freePort, type Running, ready, start } from "../processes.ts";
import { serveCommand, workingTree } from "../vexel.ts";
import { configuration, settings } from "./figures.ts";

/** Prints a line. `missed`: which target was missed. */
export type Report = (line: string, missed: string | undefined) => void;

export const verdict = (isMet: boolean, missed: string): string | undefined =>
  isMet ? undefined : missed;

export interface JobsGateway {
  url(): string;
  pid(): number;
  /** Kill -9, and a new process with the same data folder. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startJobsGateway(
  folder: string,
  upstream: string,
  env: Readonly<Record<string, string>> = {},
): Promise<JobsGateway> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "vexel.yaml"), configuration(upstream));
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const open = async (): Promise<Running> => {
    const child = start(serveCommand(workingTree), cores.proxy, {
      env: {
        HOST: "127.0.0.1",
        PORT: String(port),
        VEXEL_CONFIG: join(folder, "vexel.yaml"),
        VEXEL_DATA: join(folder, "data"),
        ...settings,
        ...env,
      },
      logFile: join(folder, "log.jsonl"),
    });
    await ready(`${url}/readyz`, child, 60_000);
    return child;
  };
  let child = await open();
  return {
    url: () => url,
    pid: () => child.pid,
    restart: async () => {
      process.kill(child.pid, "SIGKILL");
      await child.exited;
      child = await open();
    },
    stop: () => child.stop(),
  };
}
