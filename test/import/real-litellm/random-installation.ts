/** A random LiteLLM: models, teams, users, members, keys, customers, tags and access groups, through LiteLLM's API. */
import type { Litellm } from "./start-litellm.ts";

type Fields = Record<string, unknown>;

export interface Installation {
  /** The text of each key by its name. */
  readonly keys: ReadonlyMap<string, string>;
  /** Names that clients ask for: models, aliases, and names that nobody has. */
  readonly names: readonly string[];
}

/** mulberry32 */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const embeddingModels = [
  ["text-embedding-3-small", "text-embedding-3-small"],
  ["text-embedding-3-large", "text-embedding-3-large"],
  ["ada", "text-embedding-ada-002"],
  ["search", "text-embedding-3-small"],
  ["own", "our-own-embedding"],
] as const;
const imageModels = [["art", "gpt-image-1"]] as const;

/** Aliases of LiteLLM's file. */
export const fileOf = (vendor: string): string => `
model_list:
  - model_name: from-file
    litellm_params: { model: openai/text-embedding-3-large, api_base: "${vendor}", api_key: sk-fake }
    model_info: { mode: embedding }
router_settings:
  model_group_alias: { embed: text-embedding-3-small, ada: search }
general_settings: { store_model_in_db: true }
`;

export async function makeInstallation(
  litellm: Litellm,
  vendor: string,
  seed: number,
  keyCount: number,
): Promise<Installation> {
  const random = randomOf(seed);
  const chance = (share: number): boolean => random() < share;
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const some = <T>(list: readonly T[], most = 3): T[] =>
    Array.from({ length: Math.floor(random() * (most + 1)) }, () => pick(list));
  const id = (name: string, at: number): string => `${name}-${seed}-${at}`;
  await makeModels();
  const names = [
    ...embeddingModels.map(([name]) => name),
    ...imageModels.map(([name]) => name),
    ...["from-file", "embed", "tagged", "nobody"],
  ];
  const lists = [...names, "openai/*", "text-*", "group-a", "all-proxy-models"];
  const group = await litellm.call("/v1/access_group", {
    access_group_name: id("group", 0),
    access_model_names: ["ada", "own"],
  });
  await litellm.call("/customer/new", { user_id: id("customer", 0) });
  await litellm.call("/customer/new", { user_id: id("customer", 1), blocked: true });
  await litellm.call("/tag/new", { name: id("tag", 0), description: "a tag" });
  const users = await makeUsers();
  const teams = await makeTeams();
  return { keys: await makeKeys(), names };

  async function makeModels(): Promise<void> {
    const make = (name: string, model: string, info: Fields, params: Fields = {}) =>
      litellm.call("/model/new", {
        model_name: name,
        litellm_params: {
          model: `openai/${model}`,
          api_base: vendor,
          api_key: "sk-fake",
          ...params,
        },
        model_info: info,
      });
    for (const [name, model] of embeddingModels)
      await make(name, model, {
        mode: "embedding",
        ...(chance(0.4) && { access_groups: ["group-a"] }),
      });
    for (const [name, model] of imageModels) await make(name, model, { mode: "image_generation" });
    await make("tagged", "text-embedding-3-small", { mode: "embedding" }, { tags: ["free"] });
    await make("chat", "gpt-5", { mode: "chat" });
  }

  async function makeUsers(): Promise<string[]> {
    const made: string[] = [];
    for (let at = 0; at < 4; at++) {
      const user_id = id("user", at);
      await litellm.call("/user/new", {
        user_id,
        auto_create_key: false,
        user_role: "internal_user",
        models: chance(0.5) ? some(lists) : [],
        ...(chance(0.3) && { max_budget: 5 }),
        ...(chance(0.4) && { metadata: { scim_active: chance(0.5) } }),
      });
      made.push(user_id);
    }
    return made;
  }

  async function makeTeams(): Promise<string[]> {
    const made: string[] = [];
    for (let at = 0; at < 4; at++) {
      const team_id = id("team", at);
      await litellm.call("/team/new", {
        team_id,
        team_alias: team_id,
        models: chance(0.7) ? [...some(lists), pick(lists)] : [],
        ...(chance(0.3) && { max_budget: 20 }),
        ...(chance(0.3) && { model_aliases: { search: "text-embedding-3-large" } }),
      });
      for (const user_id of users) {
        await litellm.call("/team/member_add", { team_id, member: { role: "user", user_id } });
        if (chance(0.4))
          await litellm.call("/team/member_update", {
            team_id,
            user_id,
            max_budget_in_team: 3,
            ...(chance(0.6) && { allowed_models: some(names, 2) }),
          });
      }
      if (chance(0.2)) await litellm.call("/team/block", { team_id });
      made.push(team_id);
    }
    return made;
  }

  async function makeKeys(): Promise<Map<string, string>> {
    const keys = new Map<string, string>();
    for (let at = 0; at < keyCount; at++) {
      const key = `sk-random-${seed}-${at}-${"0".repeat(12)}`;
      const isOfTeam = chance(0.5);
      await litellm.call("/key/generate", {
        key,
        key_alias: id("key", at),
        models: modelsOfKey(isOfTeam),
        ...(isOfTeam && { team_id: pick(teams) }),
        ...(chance(0.5) && { user_id: pick(users) }),
        ...(chance(0.15) && { aliases: { search: "text-embedding-3-large" } }),
        ...(chance(0.15) && { aliases: { "text-embedding-3-small": "own" } }),
        ...(chance(0.2) && { access_group_ids: [group.access_group_id] }),
        ...(chance(0.2) && { max_budget: 7, budget_duration: pick(["1d", "30d", "7d"]) }),
        ...(chance(0.2) && { rpm_limit: 1000 }),
        ...(chance(0.1) && {
          allowed_routes: pick([
            ["/v1/embeddings"],
            ["/images/*"],
            ["llm_api_routes"],
            ["info_routes"],
          ]),
        }),
        ...(chance(0.1) && { metadata: { tags: ["free"] } }),
        ...(chance(0.1) && { blocked: true }),
        ...(chance(0.2) && { duration: "10d" }),
      });
      keys.set(id("key", at), key);
    }
    return keys;
  }

  function modelsOfKey(isOfTeam: boolean): string[] {
    if (chance(0.3)) return [];
    if (isOfTeam && chance(0.3)) return ["all-team-models"];
    return chance(0.1) ? ["no-default-models"] : [...some(lists), pick(lists)];
  }
}
