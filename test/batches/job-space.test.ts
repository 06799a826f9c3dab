/** What a batch counts toward the space of jobs: its results while it runs, and nothing when they are files. */
import { afterAll, expect, test } from "bun:test";
import { startFake } from "../fake-upstream.ts";
import { startTwoProjects } from "../files/two-projects.ts";
import { until } from "../until.ts";
import { embeddingLine, uploadLines } from "./lines.ts";

const fake = startFake();
const { gateway, first } = startTwoProjects(
  { settings: { VEXEL_JOBS_MAX_BYTES: "4000" } },
  fake.url,
);
afterAll(async () => {
  await gateway.close();
  fake.close();
});

test("a project may create batches after batches whose results are larger than the space of jobs", async () => {
  const file = await uploadLines(
    first,
    Array.from({ length: 20 }, (_, at) => embeddingLine(`${at}`)).join(""),
  );
  for (let at = 0; at < 3; at++) {
    const { id } = await first.batches.create({
      input_file_id: file,
      endpoint: "/v1/embeddings",
      completion_window: "24h",
    });
    let bytes = 0;
    await until(async () => {
      const batch = await first.batches.retrieve(id);
      if (batch.status !== "completed") return false;
      bytes = (await first.files.retrieve(batch.output_file_id as string)).bytes;
      return true;
    });
    expect(bytes).toBeGreaterThan(4000 / 2);
  }
});
