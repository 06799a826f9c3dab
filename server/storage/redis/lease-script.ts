/**
 * The Lua script behind shared limits: a pool of items in Redis from which replicas lease slices. Items are counted in
 * parts, `unit` parts for each item, so that a pool refills without rounding. The hash of a pool has the available
 * parts `a`, the time of the last refill `t`, the limit `l`, an epoch `e` that changes when the pool is created anew,
 * sums over the replicas (`o` outstanding items, `n` replicas, `w` waiting replicas, `c` when they were checked), and a
 * field `@replica` for each replica that holds a slice: granted, spent, expiry, sequence number, and whether it waits
 * for more. Granted and spent are running totals, so a repeated or lost message changes nothing.
 */
import type { SharedLeases } from "../ports/shared-leases.ts";
import { type RedisConnection, redisScript } from "./client.ts";

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
  local g, s, expiry, number, waits = string.match(value, '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
  return { granted = tonumber(g), spent = tonumber(s), expiry = tonumber(expiry),
    sequence = tonumber(number), waits = tonumber(waits) }
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
if now - checked >= 500 or now < checked then
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
-- The pool is new to this replica: after a loss of data it must not start full.
if request.epoch ~= epoch then available = math.min(available, request.unspent) end

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
local grant, waits = 0, 0
if free >= needed then
  grant = math.max(needed, math.min(request.wanted, math.floor(free / (2 * (holders + 1)))))
else
  waits = 1
  if free >= request.least then grant = free end
end
granted = granted + grant
available = available - grant * unit

local isHolder = granted ~= (isSemaphore and 0 or spent) or waits == 1
if isHolder then
  redis.call('HSET', KEYS[1], holder, table.concat(
    { text(granted), text(spent), text(now + request.leaseMs), text(request.sequence), waits }, ' '))
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
return { text(granted), text(available), text(unspent), epoch, math.max(1, holders), othersWait }
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
    const [granted, available, unspent, epoch, holders, othersWait] = reply as unknown[];
    return {
      granted: Number(granted),
      available: Number(available),
      unspent: Number(unspent),
      epoch: String(epoch),
      holders: Number(holders),
      othersWait: othersWait === 1,
    };
  },
});
