/** The thread that parses a changed `vexel.yaml`. */
import { expect, test } from "bun:test";
import { YamlThread } from "../../server/config/yaml/read-yaml-thread.ts";

test("a thread that ends without a response fails the reload, so that the next change is read", async () => {
  const thread = new YamlThread({ text: "models: []\n", env: {} });
  const parsed = thread.parsed();
  thread[Symbol.dispose]();
  await expect(parsed).rejects.toThrow("the thread that reads the file ended");
});

test("and so does one that has ended before the problems of the file are located", async () => {
  const thread = new YamlThread({ text: "models: [1]\n", env: {} });
  await thread.parsed();
  thread[Symbol.dispose]();
  await expect(thread.locate([{ path: ["models", 0] }])).rejects.toThrow(
    "the thread that reads the file ended",
  );
});

test("the problems of an invalid file are located, although the thread ends after them", async () => {
  using thread = new YamlThread({ text: "models: [1]\n", env: {} });
  await thread.parsed();
  expect(await thread.locate([{ path: ["models", 0] }])).toEqual([{ line: 1, column: 10 }]);
});
