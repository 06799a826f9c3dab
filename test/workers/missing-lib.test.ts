/** An executable without its folder `lib`: what is missing is named, and clients do not retry. */
import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { firstMissing } from "../../server/lib/executable.ts";
import type { GatewayError } from "../../server/lib/gateway-error.ts";
import { toErrorResponse } from "../../server/request/error-response.ts";
import { createImageWorker } from "../../server/workers/image/image-worker.ts";
import { missingLibError } from "../../server/workers/process/worker-process.ts";
import { temporaryFolder } from "../harness.ts";
import { never, speckledPng, upload } from "./image-worker-fixture.ts";

test("the folder that is missing is named, not one that exists", () => {
  using folder = temporaryFolder();
  const [lib, modules] = [join(folder.path, "lib"), join(folder.path, "lib", "node_modules")];
  const needed = join(modules, "vexel");
  expect(firstMissing(needed)).toBe(lib);
  mkdirSync(lib);
  expect(firstMissing(needed)).toBe(modules);
  mkdirSync(needed, { recursive: true });
  expect(firstMissing(needed)).toBeUndefined();
});

test("an image request without lib says what is missing, and that a retry does not help", async () => {
  const worker = createImageWorker({
    spawn: () => {
      throw missingLibError("/opt/vexel/lib");
    },
  });
  const inspected = worker.inspect(upload(await speckledPng(8, 8)), never);
  const error = await inspected.then(
    () => undefined,
    (thrown: GatewayError) => thrown,
  );
  await worker.close();
  const { status, headers, body } = toErrorResponse(error!);
  expect(status).toBe(500);
  expect(headers).toMatchObject({ "x-should-retry": "false" });
  expect(headers).not.toHaveProperty("retry-after");
  expect(body).toContain("the folder lib beside its executable is not complete");
  expect(body).not.toContain("/opt/vexel");
  expect(error?.details.logDetail).toContain("/opt/vexel/lib");
});
