/**
 * The Lua script behind shared limits: a pool of items in Redis from which replicas lease slices. Items are counted in
 * parts, `unit` parts for each item, so that a pool refills without rounding. The hash of a pool has the available
 * parts `a`, the time of the last refill `t`, the limit `l`, an epoch `e` that changes when the pool is created anew,
 * sums over the replicas (`o` outstanding items, `n` replicas, `w` waiting replicas, `c` when they were checked), and a
 * field `@replica:number` for each replica that holds a slice: granted, spent, expiry, sequence number, and since when
 * it waits for more (0: it does not). Granted and spent are running totals, so a repeated or lost message changes
 * nothing.
 *
 * Free slots of a semaphore go to the waiting replica with the fewest slots, and among equals to the one that waits
 * longest. A notice (pub/sub) tells that replica about the free slots, and tells the holders when a replica starts to
 * wait, so that they give back slots which they do not use. A lost notice costs time only: waiting replicas poll, and
 * holders renew their leases.
 */
import type { SharedLeases } from "../ports/shared-leases.ts";
import { type RedisConnection, redisScript } from "./client.ts";

const noticeChannel = "vexel:slots:";

const script = redisScript(`
local request = cjson.decode(ARGV[1])
local time = redis.call('TIME')
local now = request.now or time[1] * 1000 + math.floor(time[2] / 1000)
local holder = '@' .. request.holder
local limit, unit, needed = request.limit, request.unit, request.needed
local refills, isSemaphore = request.refills, request.isSemaphore
local granted, spent = request.granted, request.spent

local function text(number) return string.format('%.0f', number) end
local function parse(value)
  local g, s, expiry, number, since = string.match(value, '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
  return { granted = tonumber(g), spent = tonumber(s), expiry = tonumber(expiry),
    sequence = tonumber(number), since = tonumber(since), waits = since == '0' and 0 or 1 }
end
local function notify(name)
  -- A user without the right to publish gets an error, which must not end the script half-way.
  redis.pcall('PUBLISH', '${noticeChannel}' .. string.match(name, '^@([^:]*)'), request.pool)
end
-- The other replicas for which the condition holds. Those with fewer slots come first, then those that wait longer.
local function isBefore(a, b)
  if a.granted ~= b.granted then return a.granted < b.granted end
  if a.since ~= b.since then return a.since < b.since end
  return a.name < b.name
end
local function others(condition)
  local found = {}
  local fields = redis.call('HGETALL', KEYS[1])
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 1) == '@' and fields[i] ~= holder then
      local lease = parse(fields[i + 1])
      lease.name = fields[i]
      if lease.expiry > now and condition(lease) then found[#found + 1] = lease end
    end
  end
  table.sort(found, isBefore)
  return found
end

local pool = {}
local names = { 'a', 't', 'l', 'e', 'o', 'n', 'w', 'c' }
local values = redis.call('HMGET', KEYS[1], 'a', 't', 'l', 'e', 'o', 'n', 'w', 'c', holder)
for i, name in ipairs(names) do pool[name] = values[i] or nil end
local own = values[9] and parse(values[9]) or nil
if own and request.sequence <= own.sequence then return false end

local full = limit * unit
local available, epoch = full, pool.e
if pool.a then
  local size = tonumber(pool.l)
  available = tonumber(pool.a)
  if refills then
    available = math.min(size * unit, available + math.max(0, now - tonumber(pool.t)) * size)
  end
  if size ~= limit and refills then
    if available > 0 then available = math.floor(available * limit / size) end
  elseif size ~= limit then
    available = available + (limit - size) * unit
  end
else
  epoch = time[1] .. '.' .. time[2]
end

-- Sums over all replicas, this one excluded. Expired leases are searched twice per second.
local outstanding, holders, waiting = tonumber(pool.o or 0), tonumber(pool.n or 0), tonumber(pool.w or 0)
local checked = tonumber(pool.c or now)
local isChecked = now - checked >= 500 or now < checked
if isChecked then
  outstanding, holders, waiting, checked = 0, 0, 0, now
  local fields = redis.call('HGETALL', KEYS[1])
  for i = 1, #fields, 2 do
    local name = fields[i]
    if string.sub(name, 1, 1) == '@' and name ~= holder then
      local lease = parse(fields[i + 1])
      if lease.expiry <= now then
        -- The requests of a dead replica are over, so its slots are free. Items that it spent stay spent.
        local returned = isSemaphore and lease.granted or lease.granted - lease.spent
        available = available + returned * unit
        redis.call('HDEL', KEYS[1], name)
      else
        outstanding = outstanding + lease.granted - lease.spent
        holders = holders + 1
        waiting = waiting + lease.waits
      end
    end
  end
elseif own then
  outstanding = outstanding - (own.granted - own.spent)
  holders = holders - 1
  waiting = waiting - own.waits
end
-- The pool is new to this replica: after a loss of data it must not start full. Slots in flight are subtracted below.
if request.epoch ~= epoch and not isSemaphore then available = math.min(available, request.unspent) end

if own then
  available = available + (own.granted - granted) * unit
else
  available = available - (spent - request.acknowledged) * unit
  granted = spent
end
if spent > granted then
  available = available - (spent - granted) * unit
  granted = spent
end
available = math.min(full, available)

local free = math.max(0, math.floor(available / unit))
local usable, queue = free, {}
local since = own and own.since > 0 and own.since or now
if isSemaphore and free > 0 and waiting > 0 then
  -- A replica that waits asks again at least every 50 ms. One that does not, needs no slot any more.
  queue = others(function(lease)
    return lease.since > 0 and lease.expiry - request.leaseMs > now - 250
  end)
  for _, lease in ipairs(queue) do
    if isBefore(lease, { granted = granted, since = since, name = holder }) then usable = usable - 1 end
  end
end
local grant, waits = 0, 0
if usable >= needed then
  grant = math.max(needed, math.min(request.wanted, math.floor(free / (2 * (holders + 1)))))
  since = 0
else
  waits = 1
  if usable >= request.least then
    grant = usable
    since = now
  end
end
granted = granted + grant
available = available - grant * unit

for i = 1, math.min(free - grant, #queue) do notify(queue[i].name) end
-- The holders are told again with each check, in case they missed the notice.
if isSemaphore and waits == 1 and (isChecked or waiting == 0 and not (own and own.waits == 1)) then
  for _, lease in ipairs(others(function(lease) return lease.granted > 0 end)) do notify(lease.name) end
end

local isHolder = granted ~= (isSemaphore and 0 or spent) or waits == 1
if isHolder then
  redis.call('HSET', KEYS[1], holder, table.concat(
    { text(granted), text(spent), text(now + request.leaseMs), text(request.sequence), text(since) }, ' '))
elseif own then
  redis.call('HDEL', KEYS[1], holder)
end
local unspent = available + (outstanding + granted - spent) * unit
local othersWait = waiting > 0 and 1 or 0
if isHolder then
  outstanding = outstanding + granted - spent
  holders = holders + 1
  waiting = waiting + waits
end
redis.call('HSET', KEYS[1], 'a', text(available), 't', text(now), 'l', text(limit), 'e', epoch,
  'o', text(outstanding), 'n', holders, 'w', waiting, 'c', text(checked))
local untilFull = refills and (full - available) / limit or 0
redis.call('PEXPIRE', KEYS[1], text(request.retentionMs + untilFull))
return { text(granted), text(available), text(unspent), epoch, othersWait }
`);

/** `now`: Unix milliseconds of the pools; the default is the clock of Redis. */
export const redisLeases = (redis: RedisConnection, now?: () => number): SharedLeases => ({
  lease: async (request) => {
    const reply = await redis.evaluate(
      script,
      [`vexel:lease:${request.pool}`],
      [JSON.stringify({ ...request, now: now?.() })],
    );
    if (!Array.isArray(reply)) throw new Error("a lease request arrived after a later one");
    const [granted, available, unspent, epoch, othersWait] = reply as unknown[];
    return {
      granted: Number(granted),
      available: Number(available),
      unspent: Number(unspent),
      epoch: String(epoch),
      othersWait: othersWait === 1,
    };
  },
});

/**
 * `onNotice`: another replica waits for slots of this semaphore, or slots of it are free. Returns a function that ends
 * the subscription.
 */
export function watchSlotNotices(
  redis: RedisConnection,
  replica: string,
  onNotice: (pool: string) => void,
): () => void {
  const subscription = redis.another((client) =>
    client.subscribe(`${noticeChannel}${replica}`, onNotice),
  );
  return () => subscription.close();
}
