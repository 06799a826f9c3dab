/** Which server the sentinels of `REDIS_URL` lead to. */
import { expect, test } from "bun:test";
import { findPrimary, parseSentinelUrl } from "../../server/storage/redis/sentinel.ts";

function groupOf(url: string) {
  const group = parseSentinelUrl(url);
  if (!group) throw new Error(`${url} is not a URL of sentinels`);
  return group;
}

test("the primary and the sentinels get their own credentials, and the same TLS", () => {
  const group = groupOf(
    "rediss+sentinel://vexel:a%2Fb@s1,[::1]:26380/mymaster/3?sentinel_username=u&sentinel_password=c%2Fd",
  );
  expect(group.sentinels).toEqual(["rediss://u:c%2Fd@s1:26379", "rediss://u:c%2Fd@[::1]:26380"]);
  expect(group.primaryUrl("10.0.0.1:6379")).toBe("rediss://vexel:a%2Fb@10.0.0.1:6379/3");
  expect(groupOf("redis+sentinel://:a@[::1]/mymaster").sentinels).toEqual(["redis://[::1]:26379"]);
});

test("each attempt begins with another sentinel, and the next one responds for one that does not", async () => {
  const group = groupOf("redis+sentinel://s1,s2,s3/mymaster");
  const asked: string[] = [];
  const ask = async (url: string): Promise<unknown> => {
    asked.push(new URL(url).hostname);
    if (url.includes("s1")) throw new Error("no response");
    return url.includes("s2") ? null : ["2001:db8::1", "6379"];
  };
  expect(await findPrimary(group, 0, ask)).toBe("redis://[2001:db8::1]:6379/0");
  expect(await findPrimary(group, 2, ask)).toBe("redis://[2001:db8::1]:6379/0");
  expect(asked).toEqual(["s1", "s2", "s3", "s3"]);
  const two = groupOf("redis+sentinel://s1,s2/mymaster");
  await expect(findPrimary(two, 0, ask)).rejects.toThrow("it monitors no primary named mymaster");
  await expect(findPrimary(two, 1, ask)).rejects.toThrow("no response");
});
