/**
 * The Lua scripts behind shared limits. Redis runs a script atomically, and its clock is the only one.
 *
 * - Rate limit: a string `MISSING AT LIMIT`. MISSING is what a full bucket has more, in parts of 1/60,000 of an item, so
 *   all arithmetic is on integers.
 * - Concurrency limit: a sorted set of the slots in use by the end of their lease. At a full limit also a string
 *   `SINCE UNTIL REPLICA`: the replica that has waited longest, until its next look. One free slot is for it: with random
 *   turns, a replica would now and then wait for many times as long as the others.
 * - Budget: a hash of copies: `spent`, and for each open entry `entry:ID`: `NANOS IS_LIKELY VERSION`; with two totals
 *   that only these scripts change, in the call that changes an entry: `open`, the sum of the entries, and `likely`, the
 *   number of those below the upper bound. A sorted set of the ids of the entries by their expiry. And a hash of the
 *   replicas: `EPOCH NUMBER NANOS TIME`, the ended amount of a replica in its latest call, by its data folder. Values
 *   are set if they are newer, and never added to: a call that is lost, late or repeated is corrected by the next one.
 * - Renewal of a data folder: a string `EPOCH NUMBER`, its latest complete one. Ended amounts of an earlier epoch count no
 *   more; and a replica whose renewal is missing knows that Redis has lost data.
 */
import { rateWindowMs } from "../../../contract/limits-and-budgets.ts";
import { redisScript } from "./client.ts";

/**
 * The slots and reservations of a replica that died return after this time. It is shorter than the queue timeout of
 * embeddings, so that a request that waits for these slots is served.
 */
export const leaseMs = 3000;

/** A replica that waits looks again after 50 to 100 ms. One that has not looked for this long does not wait any more. */
const waitingGoneMs = 150;
/** How long a full bucket is kept, for requests that settle after it has refilled. */
const fullBucketMs = rateWindowMs;
/** The parts of an item: a limit of N items per minute refills N parts per millisecond. */
const parts = rateWindowMs;
/** The ended amount of a replica without news is forgotten after this time. */
export const forgetEndedMs = 86_400_000;
/** The time of an unchanged ended amount is written again this often, so that it is not forgotten. */
export const refreshEndedMs = 3_600_000;
/** A budget that is not used is kept this long: ended amounts are forgotten by a call, which reports it. */
const budgetRetentionMs = 2 * forgetEndedMs;
const renewalPrefix = "vexel:renewed:";

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
  bucket.missing = math.max(0, bucket.missing + bucket.count * ${parts})
  redis.call('SET', bucket.key, text(bucket.missing) .. ' ' .. text(now) .. ' ' .. text(bucket.limit),
    'PX', text(math.ceil(bucket.missing / bucket.limit) + ${fullBucketMs}))
end

local folder, epoch, number = nextText(), nextNumber(), nextNumber()

-- Whether this epoch and number are those of an earlier call.
local function isOlder(thisEpoch, thisNumber)
  return thisEpoch < epoch or thisEpoch == epoch and thisNumber < number
end

local function expire(key, ms) redis.call('PEXPIRE', key, text(ms)) end

local function renewalOf(name)
  local thisEpoch, thisNumber = (redis.call('GET', '${renewalPrefix}' .. name) or ''):match('^(%S+) (%S+)$')
  return tonumber(thisEpoch or -1), tonumber(thisNumber or -1)
end

-- The budget, after what this replica knows of it has been set.
local read = {}
local function readBudget()
  local key, leasesKey, endedKey, spent, ended = nextKey(), nextKey(), nextKey(), nextNumber(), nextNumber()
  if read[key] then return read[key] end
  local stored = redis.call('HMGET', key, 'spent', 'open', 'likely')
  local budget = { key = key, leasesKey = leasesKey, endedKey = endedKey, spent = tonumber(stored[1] or -1),
    open = tonumber(stored[2] or 0), likely = tonumber(stored[3] or 0), others = {} }
  if spent > budget.spent then
    budget.spent = spent
    redis.call('HSET', key, 'spent', text(spent))
  end
  local all, own = redis.call('HGETALL', endedKey), ''
  for i = 1, #all, 2 do
    if all[i] == folder then own = all[i + 1] else budget.others[all[i]] = all[i + 1] end
  end
  local ownEpoch, ownNumber, nanos, at = own:match('^(%S+) (%S+) (%S+) (%S+)$')
  ownEpoch, ownNumber, nanos, at = tonumber(ownEpoch or -1), tonumber(ownNumber or -1), tonumber(nanos or -1), tonumber(at or 0)
  if isOlder(ownEpoch, ownNumber) then
    -- The number of an amount that stays the same is not news.
    if nanos ~= ended or ownEpoch < epoch or now - at > ${refreshEndedMs} then
      redis.call('HSET', endedKey, folder, text(epoch) .. ' ' .. text(number) .. ' ' .. text(ended) .. ' ' .. text(now))
      expire(key, ${budgetRetentionMs})
      expire(endedKey, ${budgetRetentionMs})
    end
    nanos = ended
  end
  budget.own = nanos
  read[key] = budget
  return budget
end

local function closeEntry(budget, id)
  local stored = redis.call('HGET', budget.key, 'entry:' .. id)
  redis.call('ZREM', budget.leasesKey, id)
  if not stored then return end
  local nanos, isLikely = stored:match('^(%S+) (%S+)')
  budget.open, budget.likely = budget.open - nanos, budget.likely - isLikely
  redis.call('HDEL', budget.key, 'entry:' .. id)
  budget.isChanged = true
end

-- isNew: no other entry has this id, unless the call is repeated.
local function openEntry(budget, id, nanos, isLikely, version, isNew)
  local function renew() return redis.call('ZADD', budget.leasesKey, text(now + ${leaseMs}), id) end
  local added = isNew and renew() or 0
  local stored = added == 0 and redis.call('HGET', budget.key, 'entry:' .. id)
  if stored then
    local before, wasLikely, earlier = stored:match('^(%S+) (%S+) (%S+)$')
    if tonumber(earlier) > version then return end
    budget.open, budget.likely = budget.open - before, budget.likely - wasLikely
  end
  if not isNew then added = renew() end
  -- Leases that nobody looks at any more end with the budget.
  if added == 1 and budget.open == 0 then expire(budget.leasesKey, ${budgetRetentionMs}) end
  budget.open, budget.likely = budget.open + nanos, budget.likely + isLikely
  redis.call('HSET', budget.key, 'entry:' .. id, text(nanos) .. ' ' .. text(isLikely) .. ' ' .. text(version),
    'open', text(budget.open), 'likely', text(budget.likely))
  budget.isChanged = false
end

local function writeTotals(budget)
  if budget.isChanged then
    redis.call('HSET', budget.key, 'open', text(budget.open), 'likely', text(budget.likely))
  end
  budget.isChanged = false
end

local function closeExpired(budget)
  if budget.open == 0 and budget.likely == 0 then return end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', budget.leasesKey, '-inf', text(now))) do closeEntry(budget, id) end
  if budget.open > 0 and redis.call('EXISTS', budget.leasesKey) == 0 then
    -- Redis has evicted the leases. Entries without one would stay for ever: replicas restore those that are open.
    redis.call('DEL', budget.key)
    redis.call('HSET', budget.key, 'spent', text(budget.spent))
    expire(budget.key, ${budgetRetentionMs})
    budget.open, budget.likely, budget.isChanged = 0, 0, false
  end
end
`;

/** Values: numbers of rates, released and renewed slots, and budgets; whether it is complete; then the values of each. */
const update = `
local changedRates, releasedSlots, renewedSlots, changedBudgets, isComplete =
  nextNumber(), nextNumber(), nextNumber(), nextNumber(), nextNumber()
for _ = 1, changedRates do takeFromBucket(readBucket()) end
for _ = 1, releasedSlots do redis.call('ZREM', nextKey(), nextText()) end
for _ = 1, renewedSlots do
  local slotsKey = nextKey()
  redis.call('ZADD', slotsKey, text(now + ${leaseMs}), nextText())
  expire(slotsKey, ${leaseMs})
end
for _ = 1, changedBudgets do
  local budget = readBudget()
  for _ = 1, nextNumber() do closeEntry(budget, nextText()) end
  for _ = 1, nextNumber() do openEntry(budget, nextText(), nextNumber(), nextNumber(), nextNumber()) end
end
local function writeAllTotals()
  for _, budget in pairs(read) do writeTotals(budget) end
end
local renewed = -1
if isComplete == 1 then
  local thisEpoch, thisNumber = renewalOf(folder)
  if thisEpoch == epoch then renewed = thisNumber end
  if isOlder(thisEpoch, thisNumber) then
    redis.call('SET', '${renewalPrefix}' .. folder, text(epoch) .. ' ' .. text(number), 'PX', ${budgetRetentionMs})
  end
end
`;

/**
 * Values: now, data folder, epoch, number of the call, and the update. Returns the number of the complete renewal before
 * this one.
 */
export const updateScript = redisScript(`${shared}${update}writeAllTotals() return text(renewed)`);

/** Values: those of an update, id, replica, numbers of rates, slots and budgets; then the values of each. */
export const takeScript = redisScript(`${shared}${update}
local taken, rateExceeded, overBudget, noSlot = 0, 1, 2, 3
local id, replica = nextText(), nextText()
local rateCount, slotCount, budgetCount = nextNumber(), nextNumber(), nextNumber()
local outcome = taken

local buckets = {}
for i = 1, rateCount do
  local bucket = readBucket()
  if bucket.count > 0 and bucket.count * ${parts} > bucket.limit * ${parts} - bucket.missing then outcome = rateExceeded end
  buckets[i] = bucket
end

local allSlots = {}
for i = 1, slotCount do
  local slots = { key = nextKey(), firstKey = nextKey(), limit = nextNumber(), since = now - nextNumber() }
  redis.call('ZREMRANGEBYSCORE', slots.key, '-inf', text(now))
  slots.inFlight = redis.call('ZCARD', slots.key)
  slots.available = slots.limit - slots.inFlight
  local since, lasts, first = (redis.call('GET', slots.firstKey) or ''):match('^(%S+) (%S+) (.+)$')
  slots.isFirst = first == replica or not first or tonumber(lasts) <= now or slots.since < tonumber(since)
  slots.wasFirst = first == replica
  if not slots.isFirst then slots.available = slots.available - 1 end
  allSlots[i] = slots
end

-- The ended amounts of all replicas. One of an earlier process on a data folder counts no more when the present one has
-- sent all of its own, and one without news for a day is forgotten.
local epochs, forgotten = {}, {}
local function sumEnded(budget)
  local sum = budget.own
  for name, entry in pairs(budget.others) do
    local thisEpoch, nanos, at = entry:match('^(%S+) %S+ (%S+) (%S+)$')
    local isForgotten = now - at > ${forgetEndedMs}
    if nanos ~= '0' and not epochs[name] then
      epochs[name] = renewalOf(name)
    end
    if isForgotten then
      redis.call('HDEL', budget.endedKey, name)
      if nanos ~= '0' then
        forgotten[#forgotten + 1] = name
        forgotten[#forgotten + 1] = nanos
      end
    elseif nanos ~= '0' and tonumber(thisEpoch) >= epochs[name] then
      sum = sum + nanos
    end
  end
  return sum
end

-- Whether the amount does not fit. An unknown amount fits until the budget is used up.
local function exceeds(budget, nanos)
  local used = budget.spent + budget.ended + budget.open
  if nanos == 0 then return used >= budget.limit end
  return used + nanos > budget.limit
end
local budgets = {}
for i = 1, budgetCount do
  local budget = readBudget()
  budget.limit, budget.nanos, budget.isLikely = nextNumber(), nextNumber(), 0
  local likely = nextNumber()
  closeExpired(budget)
  budget.ended = sumEnded(budget)
  if exceeds(budget, budget.nanos) then
    budget.nanos, budget.isLikely = likely, 1
    if budget.likely > 0 or exceeds(budget, likely) then
      budget.isLikely = 2
      if outcome == taken then outcome = overBudget end
    end
  end
  budgets[i] = budget
end

for _, slots in ipairs(allSlots) do
  if outcome == taken and slots.available < 1 then outcome = noSlot end
end

if id ~= '' and (outcome == taken or outcome == noSlot) then
  for _, bucket in ipairs(buckets) do
    if bucket.count > 0 then takeFromBucket(bucket) end
  end
  for _, slots in ipairs(allSlots) do
    if outcome == noSlot and slots.available < 1 then
      if slots.isFirst then
        local first = text(slots.since) .. ' ' .. text(now + ${waitingGoneMs}) .. ' ' .. replica
        redis.call('SET', slots.firstKey, first, 'PX', ${leaseMs})
      end
    elseif slots.wasFirst then
      -- It has its slot. Or it lacks one of another limit: it must not keep this one from others.
      redis.call('DEL', slots.firstKey)
    end
  end
end
if id ~= '' and outcome == taken then
  for _, slots in ipairs(allSlots) do
    redis.call('ZADD', slots.key, text(now + ${leaseMs}), id)
    expire(slots.key, ${leaseMs})
    slots.inFlight = slots.inFlight + 1
    slots.available = slots.available - 1
  end
  for _, budget in ipairs(budgets) do
    if budget.nanos > 0 then openEntry(budget, id, budget.nanos, budget.isLikely, 0, true) end
  end
end

writeAllTotals()
local reply = { outcome }
local function add(value) reply[#reply + 1] = value end
for _, bucket in ipairs(buckets) do add(text(bucket.missing)) end
for _, slots in ipairs(allSlots) do add(slots.inFlight) add(slots.available) end
for _, budget in ipairs(budgets) do
  add(text(budget.spent)) add(text(budget.ended)) add(text(budget.open)) add(budget.isLikely)
end
for _, value in ipairs(forgotten) do add(value) end
return reply
`);
