/**
 * The arithmetic of limits in Lua, as Redis runs it: the same as in `memory.ts` and `window.ts`, each script one step that nothing comes between.
 * All keys are declared and have one hash tag, so they live on one node of a cluster. The time is that of Redis, so gateways need not agree about theirs.
 *
 * Keys of a value: requests (hash, list), tokens (hash, list), held tokens, running; and for each budget: spent, held. Of a window the list has its
 * tenths of a second in order; the hash has the amount of each, its latest time, and the sum. What is held is a hash by gateway: a gateway that
 * has not been heard of for the time of its lease holds nothing any more.
 *
 * A reply may be lost on its way. Therefore a gateway numbers what it says under its name, and Redis keeps the last number that it has heard: the gateway
 * asks for it afterwards, and says again only what was not heard.
 */
const hearing = `
-- False: Redis does not know the gateway, or has closed its name. KEYS: alive, heard.
local function hear(gateway, number)
  if not redis.call('ZSCORE', KEYS[1], gateway) then return false end
  local last = redis.call('HMGET', KEYS[2], 'last', 'closed')
  if last[2] or tonumber(last[1] or 0) >= tonumber(number) then return false end
  redis.call('HSET', KEYS[2], 'last', number)
  redis.call('EXPIRE', KEYS[2], 86400)
  return true
end
`;

const common = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)

local function text(number) return string.format('%.0f', number) end

local function forget(hash, list)
  while true do
    local slot = redis.call('LINDEX', list, 0)
    if not slot then return end
    local last = tonumber(redis.call('HGET', hash, slot .. 't') or 0)
    if last > now - 60000 then return end
    local amount = tonumber(redis.call('HGET', hash, slot) or 0)
    redis.call('LPOP', list)
    redis.call('HDEL', hash, slot, slot .. 't')
    redis.call('HINCRBY', hash, 'n', text(-amount))
  end
end

local function add(hash, list, at, amount)
  local slot = text(math.floor(at / 100))
  if redis.call('HEXISTS', hash, slot) == 0 then redis.call('RPUSH', list, slot) end
  redis.call('HINCRBY', hash, slot, text(amount))
  redis.call('HSET', hash, slot .. 't', text(at))
  redis.call('HINCRBY', hash, 'n', text(amount))
  redis.call('PEXPIRE', hash, 120000)
  redis.call('PEXPIRE', list, 120000)
end
`;

/** How many keys a value has before those of its budgets. */
export const keysOfValue = 6;

/**
 * Looks whether all limits have room, and takes it.
 * KEYS: alive, heard, then those of each value. ARGV: gateway, number (0: it only looks), light, tokens, pico; then of each value: its limits (-1: none) of
 * requests, tokens, what runs, the number of its budgets, and of each budget its limit and the time at which its keys expire.
 * Returns -1 where Redis does not know the gateway; else whether there was room, and the levels of each value.
 */
export const reserveScript = `${common}${hearing}
local gateway, isTake, isLight, tokens, pico = ARGV[1], ARGV[2] ~= '0', ARGV[3] == '1', tonumber(ARGV[4]), tonumber(ARGV[5])
if isTake and not hear(gateway, ARGV[2]) then return {-1} end

local alive = {}
for _, one in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do alive[one] = true end

local function held(hash)
  local sum = 0
  local all = redis.call('HGETALL', hash)
  for at = 1, #all, 2 do
    if alive[all[at]] then sum = sum + tonumber(all[at + 1]) else redis.call('HDEL', hash, all[at]) end
  end
  return sum
end

local function resetOf(hash, list)
  local slot = redis.call('LINDEX', list, 0)
  if not slot then return 0 end
  return tonumber(redis.call('HGET', hash, slot .. 't')) + 60000 - now
end

local function waitOf(hash, list, missing)
  for _, slot in ipairs(redis.call('LRANGE', list, 0, -1)) do
    missing = missing - tonumber(redis.call('HGET', hash, slot))
    if missing <= 0 then return tonumber(redis.call('HGET', hash, slot .. 't')) + 60000 - now end
  end
  return -1
end

local levels, values, hasRoom = {}, {}, true
local key, arg = 3, 6
while arg <= #ARGV do
  local value = { key = key, requests = tonumber(ARGV[arg]), tokens = tonumber(ARGV[arg + 1]), concurrent = tonumber(ARGV[arg + 2]), budgets = {} }
  local count = tonumber(ARGV[arg + 3])
  arg = arg + 4
  local r = { 0, 0, 0, 0, -1, 0 }
  if value.requests >= 0 then
    forget(KEYS[key], KEYS[key + 1])
    r[1] = tonumber(redis.call('HGET', KEYS[key], 'n') or 0)
    r[2] = resetOf(KEYS[key], KEYS[key + 1])
    if r[1] + 1 > value.requests then hasRoom = false end
  end
  if value.tokens >= 0 then
    forget(KEYS[key + 2], KEYS[key + 3])
    r[3] = tonumber(redis.call('HGET', KEYS[key + 2], 'n') or 0) + held(KEYS[key + 4])
    r[4] = resetOf(KEYS[key + 2], KEYS[key + 3])
    local missing = r[3] + tokens - value.tokens
    if missing > 0 then
      r[5] = waitOf(KEYS[key + 2], KEYS[key + 3], missing)
      if not isLight then hasRoom = false end
    end
  end
  r[6] = held(KEYS[key + 5])
  if value.concurrent >= 0 and not isLight and r[6] + 1 > value.concurrent then hasRoom = false end
  key = key + ${keysOfValue}
  for index = 1, count do
    local limit, expires = tonumber(ARGV[arg]), ARGV[arg + 1]
    arg = arg + 2
    local spent = redis.call('GET', KEYS[key])
    local taken = held(KEYS[key + 1])
    if not isLight and (not spent or tonumber(spent) + taken + pico > limit) then hasRoom = false end
    value.budgets[index] = { key = key, expires = expires }
    r[#r + 1] = spent or ''
    r[#r + 1] = text(taken)
    key = key + 2
  end
  values[#values + 1] = value
  levels[#levels + 1] = r
end

if hasRoom and isTake then
  for _, value in ipairs(values) do
    if value.requests >= 0 then add(KEYS[value.key], KEYS[value.key + 1], now, 1) end
    if not isLight then
      redis.call('HINCRBY', KEYS[value.key + 5], gateway, 1)
      redis.call('EXPIRE', KEYS[value.key + 5], 86400)
      if value.tokens >= 0 then
        redis.call('HINCRBY', KEYS[value.key + 4], gateway, ARGV[4])
        redis.call('EXPIRE', KEYS[value.key + 4], 86400)
      end
      for _, budget in ipairs(value.budgets) do
        redis.call('HINCRBY', KEYS[budget.key + 1], gateway, ARGV[5])
        redis.call('PEXPIREAT', KEYS[budget.key + 1], budget.expires)
      end
    end
  end
end

local reply = { hasRoom and 1 or 0 }
for _, r in ipairs(levels) do
  for at, number in ipairs(r) do reply[#reply + 1] = type(number) == 'number' and text(number) or number end
end
return reply
`;

/**
 * A request is over. KEYS as for `reserve`. ARGV: gateway, number, the gateway that holds, held tokens, used tokens, held pico; then of each value: whether
 * its tokens are limited, and the number of its budgets. What a gateway held that Redis does not know any more is gone already.
 * Returns 0 where Redis does not know the gateway: nothing was done.
 */
export const settleScript = `${common}${hearing}
if not hear(ARGV[1], ARGV[2]) then return 0 end
local holder = ARGV[3]
local function letGo(hash, amount)
  if redis.call('HEXISTS', hash, holder) == 1 then redis.call('HINCRBY', hash, holder, '-' .. amount) end
end
local key, arg = 3, 7
while arg <= #ARGV do
  local hasTokens, count = ARGV[arg] == '1', tonumber(ARGV[arg + 1])
  arg = arg + 2
  letGo(KEYS[key + 5], '1')
  if hasTokens then
    letGo(KEYS[key + 4], ARGV[4])
    if tonumber(ARGV[5]) > 0 then
      forget(KEYS[key + 2], KEYS[key + 3])
      add(KEYS[key + 2], KEYS[key + 3], now, tonumber(ARGV[5]))
    end
  end
  key = key + ${keysOfValue}
  for index = 1, count do
    letGo(KEYS[key + 1], ARGV[6])
    key = key + 2
  end
end
return 1
`;

/**
 * Adds what was spent. KEYS: alive, heard, then of each budget what was spent. A sum that Redis does not have is read from the log, which has this too.
 * ARGV: gateway, number, pico. Returns 0 where Redis does not know the gateway: nothing was done.
 */
export const chargeScript = `${hearing}
if not hear(ARGV[1], ARGV[2]) then return 0 end
for at = 3, #KEYS do
  if redis.call('EXISTS', KEYS[at]) == 1 then redis.call('INCRBY', KEYS[at], ARGV[3]) end
end
return 1
`;

/** The sum of a budget as the log has it, where Redis has none or a smaller one. KEYS: alive, then of each budget what was spent. ARGV: of each pico, and when it expires. */
export const atLeastScript = `
local function isLess(one, other) return #one < #other or (#one == #other and one < other) end
for at = 2, #KEYS do
  local pico, expires = ARGV[(at - 2) * 2 + 1], ARGV[(at - 2) * 2 + 2]
  local known = redis.call('GET', KEYS[at])
  if not known or isLess(known, pico) then
    redis.call('SET', KEYS[at], pico)
    redis.call('PEXPIREAT', KEYS[at], expires)
  end
end
return 1
`;

/** What a gateway says under a name counts no more from now on. KEYS: heard of that name. Returns the last number that was heard. */
export const closeScript = `
redis.call('HSET', KEYS[1], 'closed', 1)
redis.call('EXPIRE', KEYS[1], 86400)
return tonumber(redis.call('HGET', KEYS[1], 'last') or 0)
`;

/**
 * Makes a gateway known, with all that it holds. KEYS: alive, era, then those of each value. ARGV: gateway, its former names, lease, a name for a new era,
 * and JSON of what it holds of each value. Returns the era: another one than before means that Redis has lost everything.
 */
export const registerScript = `${common}
for former in string.gmatch(ARGV[2], '%S+') do redis.call('ZREM', KEYS[1], former) end
redis.call('ZADD', KEYS[1], text(now + tonumber(ARGV[3])), ARGV[1])
redis.call('SET', KEYS[2], ARGV[4], 'NX')
local key = 3
local function hold(hash, amount)
  if amount ~= '0' then
    redis.call('HSET', hash, ARGV[1], amount)
    redis.call('EXPIRE', hash, 86400)
  end
end
for _, value in ipairs(cjson.decode(ARGV[5])) do
  hold(KEYS[key + 4], value.tokens)
  hold(KEYS[key + 5], value.running)
  key = key + ${keysOfValue}
  for _, pico in ipairs(value.budgets) do
    hold(KEYS[key + 1], pico)
    key = key + 2
  end
end
return redis.call('GET', KEYS[2])
`;

/**
 * Adds what a gateway has let in and Redis has not heard of: once, however often it is told. KEYS: alive, told (of these values at this moment), then those of
 * each value. ARGV: JSON of each value.
 */
export const missedScript = `${common}
if not redis.call('SET', KEYS[2], 1, 'NX', 'EX', 604800) then return 0 end
local key = 3
for _, value in ipairs(cjson.decode(ARGV[1])) do
  for _, one in ipairs(value.requests) do add(KEYS[key], KEYS[key + 1], now - one[1], one[2]) end
  for _, one in ipairs(value.tokens) do add(KEYS[key + 2], KEYS[key + 3], now - one[1], one[2]) end
  key = key + ${keysOfValue}
  for _, pico in ipairs(value.charged) do
    if pico ~= '0' and redis.call('EXISTS', KEYS[key]) == 1 then redis.call('INCRBY', KEYS[key], pico) end
    key = key + 2
  end
end
return 1
`;

/** A sign of life. KEYS: alive. ARGV: gateway, lease. Returns 0 where Redis does not know the gateway. */
export const aliveScript = `${common}
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], text(now + tonumber(ARGV[2])), ARGV[1])
return 1
`;
