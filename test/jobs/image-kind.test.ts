/** The end of an image job. */
import { expect, test } from "bun:test";
import { createImageKind } from "../../server/jobs/image-kind.ts";
import type { FileStore } from "../../server/storage/ports/file-store.ts";
import type { StoredJob } from "../../server/storage/sql/stored-job.ts";

test("the error of an image job is unchanged if a character of it is in two chunks", async () => {
  const error = { message: "Grüße", type: "api_error", param: null, code: null, status_code: 500 };
  const json = Buffer.from(JSON.stringify(error));
  const middle = json.indexOf(Buffer.from("ü")) + 1;
  const files = { list: async () => [] } as Partial<FileStore> as FileStore;
  const job = { id: "imgjob_1", ending: null, error: null } as Partial<StoredJob> as StoredJob;
  const finished = await createImageKind(files, 1).finish(job, {
    size: async () => 0,
    read: async function* () {
      yield json.subarray(0, middle);
      yield json.subarray(middle);
    },
  });
  expect(finished).toMatchObject({ status: "failed", error });
});
