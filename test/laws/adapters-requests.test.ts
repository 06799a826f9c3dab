/** Adapter laws for upstream requests, over all queries. */

import { expect } from "bun:test";
import fc from "fast-check";
import type {
  EditQuery,
  EmbeddingsQuery,
  GenerationQuery,
} from "../../server/upstream/contract.ts";
import { editSources } from "../../server/upstream/edit-sources.ts";
import { tries } from "../depth.ts";
import {
  embeddingsQueries,
  formEdits,
  generationQueries,
  jsonEdits,
  jsonOf,
  partsOf,
  type Subject,
  subjects,
  targetModel,
} from "./adapter-cases.ts";
import { type Law, obey } from "./law.ts";

const runs = tries(15);
const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

const forEmbeddings = (
  law: (body: Record<string, unknown>, query: EmbeddingsQuery, subject: Subject) => void,
): Law<Subject> => {
  return ({ adapter, target }) => {
    if (!adapter.embeddings) return;
    const { toUpstream } = adapter.embeddings;
    fc.assert(
      fc.property(embeddingsQueries, (query) => {
        law(jsonOf(toUpstream(query, target)), query, { adapter, target });
      }),
      runs,
    );
  };
};

const forGenerations = (
  law: (body: Record<string, unknown>, query: GenerationQuery) => void,
): Law<Subject> => {
  return ({ adapter, target }) => {
    const { generations, edits } = adapter;
    if (generations) {
      fc.assert(
        fc.property(generationQueries, (query) =>
          law(jsonOf(generations.toUpstream(query, target)), query),
        ),
        runs,
      );
    }
    if (edits) {
      fc.assert(
        fc.property(jsonEdits, (query) => {
          const body = jsonOf(edits.toUpstream(query, target));
          const { images: _, mask: __, markup: ___, ...fields } = body;
          law(fields, query);
        }),
        runs,
      );
    }
  };
};

type Parts = Awaited<ReturnType<typeof partsOf>>;
const forForms = (law: (parts: Parts, query: EditQuery) => void): Law<Subject> => {
  return async ({ adapter, target }) => {
    const { edits } = adapter;
    if (!edits) return;
    await fc.assert(
      fc.asyncProperty(formEdits, async (query) =>
        law(await partsOf(edits.toUpstream(query, target)), query),
      ),
      runs,
    );
  };
};

const both =
  (...laws: readonly Law<Subject>[]): Law<Subject> =>
  async (subject) => {
    for (const law of laws) await law(subject);
  };

const textFields = (parts: Parts): [string, string][] =>
  parts
    .filter(({ filename }) => filename === undefined)
    .map(({ field, bytes }) => [field, decode(bytes)]);

/** The fields of a generation or an edit request that have a value. */
const fieldsOf = ({
  options,
  extraFields,
  prompt,
  stream,
}: GenerationQuery): Record<string, unknown> => ({
  ...extraFields,
  ...options,
  model: targetModel,
  prompt,
  ...(stream && { stream: true }),
});

const laws: Readonly<Record<string, Law<Subject>>> = {
  "an embeddings request has exactly the client's fields, and absent fields stay absent":
    forEmbeddings(
      ({ encoding_format, ...body }, { input, single, dimensions, user, extraFields }, subject) => {
        const { taskTypes } = subject.adapter.embeddings!.capabilities(subject.target);
        if (input.kind === "mixed") throw new Error("this law has no images");
        const entries: readonly unknown[] = input.kind === "text" ? input.texts : input.tokens;
        expect(body).toEqual({
          ...extraFields,
          model: targetModel,
          input: single ? entries[0] : entries,
          ...(dimensions !== undefined && { dimensions }),
          ...(user !== undefined && { user }),
          // Some vendors require a task type.
          ...(typeof taskTypes === "object" &&
            taskTypes.defaultValue && { [taskTypes.field]: taskTypes.defaultValue }),
        });
        expect([undefined, "base64"]).toContain(encoding_format as undefined);
      },
    ),
  "the configuration decides whether base64 is requested": ({ adapter, target }) => {
    for (const base64 of [true, false]) {
      const upstream = { ...target.upstream, options: { ...target.upstream.options, base64 } };
      const [query] = fc.sample(embeddingsQueries, 1) as [EmbeddingsQuery];
      const there = { ...target, upstream };
      expect(adapter.embeddings!.capabilities(there).base64).toBe(base64);
      const body = jsonOf(adapter.embeddings!.toUpstream(query, there));
      expect(body.encoding_format).toBe(base64 ? "base64" : undefined);
    }
  },
  "an image request has exactly the client's fields, and absent fields stay absent": forGenerations(
    (body, query) => expect(body).toEqual(fieldsOf(query)),
  ),
  "a form has exactly the client's fields, and absent fields stay absent": forForms(
    (parts, query) => {
      const expected = Object.entries(fieldsOf(query)).map(([name, value]) => [
        name,
        String(value),
      ]);
      expect(textFields(parts).toSorted(byName)).toEqual(expected.toSorted(byName) as never);
    },
  ),
  "the gateway itself sends no null and no undefined": both(
    forEmbeddings((body) => {
      for (const value of Object.values(body)) expect(value).not.toBeNull();
    }),
    forGenerations((body) => {
      for (const value of Object.values(body)) expect(value).not.toBeNull();
    }),
    forForms((parts, query) => {
      const values = Object.values(fieldsOf(query)).map(String);
      for (const [, value] of textFields(parts)) expect(values).toContain(value);
    }),
  ),
  "the target's model replaces the public model, once": both(
    forEmbeddings(({ model }) => expect(model).toBe(targetModel)),
    forGenerations(({ model }) => expect(model).toBe(targetModel)),
    forForms((parts) => {
      const models = textFields(parts).filter(([name]) => name === "model");
      expect(models).toEqual([["model", targetModel]]);
    }),
  ),
  "files are sent complete, in order, under OpenAI's field names": forForms((parts, query) => {
    const sent = parts.filter(({ filename }) => filename !== undefined);
    const { images, mask, markup, files } = query;
    const uploads = editSources(query).flatMap((source) =>
      source.kind === "file" ? [source.file] : [],
    );
    const expected = [...uploads, ...files];
    expect(sent.map(({ type }) => type!)).toEqual(expected.map(({ type }) => type));
    expect(sent.map(({ bytes }) => bytes.length)).toEqual(expected.map(({ size }) => size));
    const name = images.length === 1 ? "image" : "image[]";
    expect(sent.map(({ field }) => field)).toEqual([
      ...images.map(() => name),
      ...(mask ? ["mask"] : []),
      ...(markup ? ["markup"] : []),
      ...files.map(({ field }) => field),
    ]);
    for (const { filename, type } of sent) {
      const ending = { "image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp" }[type!];
      expect(filename!).toEndWith(ending!);
    }
  }),
  "without an API key no authorization is sent": ({ adapter, target }) => {
    const { apiKey: _, ...upstream } = target.upstream;
    const [query] = fc.sample(embeddingsQueries, 1) as [EmbeddingsQuery];
    const { headers } = adapter.embeddings!.toUpstream(query, { ...target, upstream });
    expect(Object.keys(headers)).toEqual(["content-type"]);
  },
  "a header of the configuration takes precedence, in any letter case": ({ adapter, target }) => {
    const headers = { Authorization: "Other abc", "API-Key": "other", "X-Team": "otters" };
    const [query] = fc.sample(embeddingsQueries, 1) as [EmbeddingsQuery];
    const sent = adapter.embeddings!.toUpstream(query, {
      ...target,
      upstream: { ...target.upstream, headers },
    }).headers;
    expect(sent).toEqual({
      authorization: "Other abc",
      "api-key": "other",
      "x-team": "otters",
      "content-type": "application/json",
    });
  },
};

function byName([a]: readonly string[], [b]: readonly string[]): number {
  return a! < b! ? -1 : a! > b! ? 1 : 0;
}

obey(subjects, laws);
