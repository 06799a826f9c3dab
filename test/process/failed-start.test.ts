/** A gateway that cannot start releases what it has opened. */
import { afterAll, expect, test } from "bun:test";
import { readdirSync, readlinkSync } from "node:fs";
import { startGateway } from "../harness.ts";
import { until } from "../until.ts";

/** The open ledgers and event files of this process. */
const openFiles = (): string[] =>
  readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return /\/(ledger|events)\.db$/.test(path) ? [path] : [];
    } catch {
      return [];
    }
  });

const portOwner = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
afterAll(() => portOwner.stop(true));

test.each<[string, Record<string, string>, string]>([
  ["whose port is in use", { PORT: String(portOwner.port) }, "Failed to listen"],
  [
    "whose client secret cannot be read",
    {
      VEXEL_CONSOLE: "on",
      VEXEL_OIDC_ISSUER: "https://issuer.example",
      VEXEL_OIDC_CLIENT_ID: "vexel",
      VEXEL_OIDC_DOMAINS: "example.com",
      VEXEL_OIDC_CLIENT_SECRET_FILE: "/nowhere/secret",
    },
    "/nowhere/secret",
  ],
])("a gateway %s closes its ledger and its events", async (_, settings, message) => {
  const before = openFiles();
  expect(() => startGateway({ yaml: "keys: []\n", settings })).toThrow(message);
  await until(() => openFiles().join() === before.join());
});
