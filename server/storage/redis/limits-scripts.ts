/**
 * The Lua scripts behind shared limits. Redis runs a script atomically, and its clock is the only one.
 *
 * - Rate limit: a string `MISSING AT LIMIT`. MISSING is what a full bucket has more, in parts of 1/60,000 of an item, so
 *   all arithmetic is on integers.
 * - Concurrency limit: a sorted set of the slots in use by their expiry, and a hash of the replicas that wait for a slot:
 *   `SINCE SEEN`.
 * - Budget: a string `SPENT RESERVED LIKELY`, where LIKELY is the number of reservations below the upper bound, and a
 *   sorted set of the reservations `HOLD DOLLARS IS_LIKELY` by their expiry.
 */
import { redisScript } from "./client.ts";

export const slotNoticeChannel = "vexel:slots-released:";

/** A replica that waits asks again every 50 to 100 ms. One that did not ask for this long does not wait any more. */
const waitingGoneMs = 250;
/** A bucket that is full is kept this long: a request that ends later than it must not find it lost. */
const keepBucketMs = 60_000;
/** A budget that is not used for this long is loaded from the ledger again. */
const keepBudgetMs = 86_400_000;

/** Ends each value. The values are one argument: a client takes longer for many arguments than for a long one. */
export const separator = "\x1f";

const shared = `
local key, nextText = 0, ARGV[1]:gmatch('([^\\31]*)\\31')
local function nextKey() key = key + 1 return KEYS[key] end
local function nextNumber() return tonumber(nextText()) end
local now = nextNumber()
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local function text(number) return string.format('%.0f', number) end

local function readBucket()
  local bucket = { key = nextKey(), limit = nextNumber(), count = nextNumber(), missing = nextNumber() }
  local stored = redis.call('GET', bucket.key)
  if stored then
    local missing, at, limit = stored:match('^(%S+) (%S+) (%S+)$')
    missing = math.max(0, missing - math.max(0, now - at) * limit)
    limit = tonumber(limit)
    -- A changed limit keeps the used share.
    if limit ~= bucket.limit then missing = math.floor(missing * bucket.limit / limit) end
    bucket.missing = missing
  end
  return bucket
end

local function takeFromBucket(bucket)
  bucket.missing = math.max(0, bucket.missing + bucket.count * 60000)
  redis.call('SET', bucket.key, text(bucket.missing) .. ' ' .. text(now) .. ' ' .. text(bucket.limit),
    'PX', text(math.ceil(bucket.missing / bucket.limit) + ${keepBucketMs}))
end

-- The replicas that wait for a slot, the longest wait first.
local function readWaiting(key)
  local stored, waiting = redis.call('HGETALL', key), {}
  for i = 1, #stored, 2 do
    local since, seen = stored[i + 1]:match('^(%S+) (%S+)$')
    if tonumber(seen) > now - ${waitingGoneMs} then
      waiting[#waiting + 1] = { replica = stored[i], since = tonumber(since) }
    else
      redis.call('HDEL', key, stored[i])
    end
  end
  table.sort(waiting, function(a, b)
    return a.since < b.since or a.since == b.since and a.replica < b.replica
  end)
  return waiting
end

-- Tells the first replicas that wait, as many as there are free slots.
local function notify(waiting, free, slotsKey, except)
  for i = 1, #waiting do
    if free < 1 then return end
    if waiting[i].replica ~= except then
      redis.call('PUBLISH', '${slotNoticeChannel}' .. waiting[i].replica, slotsKey)
      free = free - 1
    end
  end
end

local function readBudget(key, holdsKey)
  local stored = redis.call('GET', key)
  if not stored then return { key = key, holdsKey = holdsKey, spent = 0, reserved = 0, likely = 0 } end
  local spent, reserved, likely = stored:match('^(%S+) (%S+) (%S+)$')
  return { key = key, holdsKey = holdsKey, isStored = true,
    spent = tonumber(spent), reserved = tonumber(reserved), likely = tonumber(likely) }
end

local function writeBudget(budget)
  redis.call('SET', budget.key, string.format('%.17g %.17g %d', budget.spent, budget.reserved, budget.likely),
    'PX', ${keepBudgetMs})
end

local function addReservation(budget, member, sign)
  local dollars, isLikely = member:match(' (%S+) (%d)$')
  budget.reserved = math.max(0, budget.reserved + sign * dollars)
  budget.likely = math.max(0, budget.likely + sign * isLikely)
end

local function removeReservations(budget, members)
  for _, member in ipairs(members) do addReservation(budget, member, -1) end
  -- Without reservations the sum is exactly 0, free of rounding errors.
  if redis.call('EXISTS', budget.holdsKey) == 0 then budget.reserved, budget.likely = 0, 0 end
end
`;

/** Values: numbers of rates, slots and budgets; then the values of each. */
const settle = `
local settledRates, settledSlots, settledBudgets = nextNumber(), nextNumber(), nextNumber()
for _ = 1, settledRates do takeFromBucket(readBucket()) end
for _ = 1, settledSlots do
  local slotsKey, waitingKey = nextKey(), nextKey()
  redis.call('ZREM', slotsKey, nextText())
  notify(readWaiting(waitingKey), 1, slotsKey)
end
for _ = 1, settledBudgets do
  local budget, member, dollars = readBudget(nextKey(), nextKey()), nextText(), nextNumber()
  if member ~= '' and redis.call('ZREM', budget.holdsKey, member) == 1 then removeReservations(budget, { member }) end
  budget.spent = budget.spent + dollars
  -- A budget that was lost is loaded from the ledger with the next request.
  if budget.isStored then writeBudget(budget) end
end
`;

/** Values: now, and the settlement. */
export const settleScript = redisScript(shared + settle);

/** Values: now, the settlement, hold, replica, lease, numbers of rates, slots and budgets; then the values of each. */
export const takeScript = redisScript(`${shared}${settle}
local taken, rateExceeded, overBudget, noSlot = 0, 1, 2, 3
local hold, replica, expiry = nextText(), nextText(), now + nextNumber()
local rateCount, slotCount, budgetCount = nextNumber(), nextNumber(), nextNumber()
local outcome = taken

local buckets = {}
for i = 1, rateCount do
  local bucket = readBucket()
  if bucket.count > 0 and bucket.count * 60000 > bucket.limit * 60000 - bucket.missing then outcome = rateExceeded end
  buckets[i] = bucket
end

local allSlots = {}
for i = 1, slotCount do
  local slots = { key = nextKey(), waitingKey = nextKey(), limit = nextNumber() }
  redis.call('ZREMRANGEBYSCORE', slots.key, '-inf', text(now))
  slots.inFlight = redis.call('ZCARD', slots.key)
  slots.waiting = readWaiting(slots.waitingKey)
  local before = #slots.waiting
  for at, waits in ipairs(slots.waiting) do
    if waits.replica == replica then
      before = at - 1
      slots.since = waits.since
    end
  end
  slots.available = slots.limit - slots.inFlight - before
  allSlots[i] = slots
end

-- Whether the amount does not fit. An unknown amount fits until the budget is used up.
local function exceeds(budget, dollars)
  local used = budget.spent + budget.reserved
  if dollars == 0 then return used >= budget.limit end
  return used + dollars > budget.limit * (1 + 1e-9)
end
local budgets = {}
for i = 1, budgetCount do
  local budget = readBudget(nextKey(), nextKey())
  budget.limit, budget.text, budget.isLikely = nextNumber(), nextText(), 0
  local likely = nextText()
  budget.spent = math.max(budget.spent, nextNumber())
  local expired = budget.reserved > 0 and redis.call('ZRANGEBYSCORE', budget.holdsKey, '-inf', text(now)) or {}
  if #expired > 0 then
    redis.call('ZREMRANGEBYSCORE', budget.holdsKey, '-inf', text(now))
    removeReservations(budget, expired)
    writeBudget(budget)
  end
  if exceeds(budget, tonumber(budget.text)) then
    budget.text, budget.isLikely = likely, 1
    if budget.likely > 0 or exceeds(budget, tonumber(likely)) then
      budget.isLikely = 2
      if outcome == taken then outcome = overBudget end
    end
  end
  budgets[i] = budget
end

for _, slots in ipairs(allSlots) do
  if outcome == taken and slots.available < 1 then outcome = noSlot end
end

if hold ~= '' and (outcome == taken or outcome == noSlot) then
  for _, bucket in ipairs(buckets) do
    if bucket.count > 0 then takeFromBucket(bucket) end
  end
end
if hold ~= '' and outcome == taken then
  for _, slots in ipairs(allSlots) do
    redis.call('ZADD', slots.key, text(expiry), hold)
    redis.call('PEXPIRE', slots.key, text(expiry - now))
    if slots.since then redis.call('HDEL', slots.waitingKey, replica) end
    slots.inFlight = slots.inFlight + 1
    slots.available = slots.available - 1
    notify(slots.waiting, slots.limit - slots.inFlight, slots.key, replica)
  end
  for _, budget in ipairs(budgets) do
    if tonumber(budget.text) > 0 then
      local member = hold .. ' ' .. budget.text .. ' ' .. budget.isLikely
      redis.call('ZADD', budget.holdsKey, text(expiry), member)
      redis.call('PEXPIRE', budget.holdsKey, ${keepBudgetMs})
      addReservation(budget, member, 1)
    end
    writeBudget(budget)
  end
elseif hold ~= '' and outcome == noSlot then
  for _, slots in ipairs(allSlots) do
    if slots.available < 1 then
      redis.call('HSET', slots.waitingKey, replica, text(slots.since or now) .. ' ' .. text(now))
      redis.call('PEXPIRE', slots.waitingKey, 1000)
    elseif slots.since then
      -- The request lacks a slot of another limit: it must not keep this one from others.
      redis.call('HDEL', slots.waitingKey, replica)
      notify(slots.waiting, slots.limit - slots.inFlight, slots.key, replica)
    end
  end
end

local reply = { outcome }
local function add(value) reply[#reply + 1] = value end
for _, bucket in ipairs(buckets) do add(text(bucket.missing)) end
for _, slots in ipairs(allSlots) do add(slots.inFlight) add(slots.available) end
for _, budget in ipairs(budgets) do
  add(string.format('%.17g', budget.spent)) add(string.format('%.17g', budget.reserved)) add(budget.isLikely)
end
return reply
`);

/** Values: now, lease, numbers of slots and reservations; then the member of each. */
export const renewScript = redisScript(`${shared}
local expiry = now + nextNumber()
local slotCount, reservationCount = nextNumber(), nextNumber()
for _ = 1, slotCount do
  local slotsKey = nextKey()
  redis.call('ZADD', slotsKey, text(expiry), nextText())
  redis.call('PEXPIRE', slotsKey, text(expiry - now))
end
for _ = 1, reservationCount do
  local budget, member = readBudget(nextKey(), nextKey()), nextText()
  local isLost = redis.call('ZADD', budget.holdsKey, text(expiry), member) == 1
  redis.call('PEXPIRE', budget.holdsKey, ${keepBudgetMs})
  if isLost then
    addReservation(budget, member, 1)
    writeBudget(budget)
  end
end
`);
