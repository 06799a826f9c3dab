/**
 * The script behind shared limits: a pool of items in Redis from which replicas lease slices. The hash of a pool has the
 * available parts `a`, the time of the last refill `t`, the limit `l`, an epoch `e` that changes when the pool is
 * created anew, and a field `@replica` for each replica that holds a slice: granted, spent, expiry, sequence number, and
 * whether it waits for more. Granted and spent are running totals, so a repeated or lost message changes nothing.
 */
import type { LeaseReply, LeaseRequest, SendLease } from "../../lib/leased-pool.ts";
import { type RedisConnection, redisScript } from "./client.ts";

const script = redisScript(`
local time = redis.call('TIME')
local now = tonumber(ARGV[1]) or time[1] * 1000 + math.floor(time[2] / 1000)
local holder = '@' .. ARGV[2]
local limit, unit = tonumber(ARGV[3]), tonumber(ARGV[4])
local refills, isSemaphore = ARGV[5] == '1', ARGV[6] == '1'
local sequence, granted = tonumber(ARGV[7]), tonumber(ARGV[8])
local spent, acknowledged = tonumber(ARGV[9]), tonumber(ARGV[10])
local least, needed, wanted = tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13])
local leaseMs, retentionMs = tonumber(ARGV[14]), tonumber(ARGV[15])
local knownEpoch, unspentBefore = ARGV[16], tonumber(ARGV[17])

local function text(number) return string.format('%.0f', number) end

local pool, own, others = {}, nil, {}
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  local name, value = fields[i], fields[i + 1]
  if string.sub(name, 1, 1) ~= '@' then
    pool[name] = value
  else
    local g, s, expiry, number, waits = string.match(value, '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
    local lease = { name = name, granted = tonumber(g), spent = tonumber(s),
      expiry = tonumber(expiry), sequence = tonumber(number), waits = waits == '1' }
    if name == holder then own = lease else others[#others + 1] = lease end
  end
end
if own and sequence <= own.sequence then return false end

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

local holders, othersWait, outstanding = 1, 0, 0
for _, lease in ipairs(others) do
  local unspent = lease.granted - lease.spent
  if lease.expiry <= now then
    -- The requests of a dead replica are over, so its slots are free. Items that it spent stay spent.
    available = available + (isSemaphore and lease.granted or unspent) * unit
    redis.call('HDEL', KEYS[1], lease.name)
  else
    holders = holders + 1
    outstanding = outstanding + unspent
    if lease.waits then othersWait = 1 end
  end
end
-- The pool is new to this replica: after a loss of data it must not start full.
if knownEpoch ~= epoch then available = math.min(available, unspentBefore) end

if own then
  available = available + (own.granted - granted) * unit
else
  available = available - (spent - acknowledged) * unit
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
  grant = math.max(needed, math.min(wanted, math.floor(free / (2 * holders))))
else
  waits = 1
  if free >= least then grant = free end
end
granted = granted + grant
available = available - grant * unit

redis.call('HSET', KEYS[1], 'a', text(available), 't', text(now), 'l', text(limit), 'e', epoch)
if granted == (isSemaphore and 0 or spent) and waits == 0 then
  redis.call('HDEL', KEYS[1], holder)
else
  redis.call('HSET', KEYS[1], holder, table.concat(
    { text(granted), text(spent), text(now + leaseMs), text(sequence), waits }, ' '))
end
local untilFull = refills and (full - available) / limit or 0
redis.call('PEXPIRE', KEYS[1], text(retentionMs + untilFull))
local unspent = available + (outstanding + granted - spent) * unit
return { text(granted), text(available), text(unspent), epoch, holders, othersWait }
`);

/** `now`: Unix milliseconds of the pools; the default is the clock of Redis. */
export const leaseFromRedis =
  (redis: RedisConnection, now?: () => number): SendLease =>
  async (request: LeaseRequest): Promise<LeaseReply> => {
    const { pool, holder, limit, unit, refills, isSemaphore } = request;
    const reply = await redis.evaluate(
      script,
      [`vexel:lease:${pool}`],
      [
        ...[now?.() ?? "", holder, limit, unit, Number(refills), Number(isSemaphore)],
        ...[request.sequence, request.granted, request.spent, request.acknowledged],
        ...[request.least, request.needed, request.wanted, request.leaseMs, request.retentionMs],
        ...[request.epoch, request.unspent],
      ],
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
  };
