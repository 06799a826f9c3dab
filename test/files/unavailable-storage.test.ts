/** Replicas that share a database and no object store have no storage for files and jobs of clients. */
import { expect, test } from "bun:test";
import { storedRoutes } from "../../server/http/stored-routes.ts";
import { refuseJob, refusingHandlers } from "../../server/wiring/unavailable-storage.ts";

test("without storage, files and jobs are refused, and the error names the setting", async () => {
  const kinds = new Map<string, string>();
  for (const { name, path } of storedRoutes) {
    const error = await refusingHandlers[name]().catch((thrown) => thrown);
    expect(error.message).toContain("set BLOB_URL");
    kinds.set(path, error.kind);
  }
  expect(kinds.get("/v1/files/{id}/content")).toBe("files_unavailable");
  expect(kinds.get("/v1/uploads")).toBe("files_unavailable");
  expect(kinds.get("/v1/batches")).toBe("jobs_unavailable");
  expect(kinds.get("/v1/images/generations/async")).toBe("jobs_unavailable");
  await expect(refuseJob()).rejects.toMatchObject({ kind: "jobs_unavailable" });
});
