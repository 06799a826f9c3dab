/** Creates a batch of embeddings as a client does. Resolves with its id. */
export async function createBatch(
  baseURL: string,
  key: string,
  texts: readonly unknown[],
  model = "embed",
): Promise<string> {
  const authorization = `Bearer ${key}`;
  const url = "/v1/embeddings";
  const lines = texts.map((input, at) =>
    JSON.stringify({ custom_id: `${at}`, method: "POST", url, body: { model, input } }),
  );
  const form = new FormData();
  form.set("purpose", "batch");
  form.set("file", new File([lines.join("\n")], "lines.jsonl"));
  const idOf = async (response: Response): Promise<string> => {
    if (!response.ok) throw new Error(await response.text());
    return ((await response.json()) as { id: string }).id;
  };
  const file = await idOf(
    await fetch(`${baseURL}/files`, { method: "POST", headers: { authorization }, body: form }),
  );
  return idOf(
    await fetch(`${baseURL}/batches`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ input_file_id: file, endpoint: url, completion_window: "24h" }),
    }),
  );
}
