/** The scripts of a request: it reserves what it needs, releases what it did not use, and is charged. */
import { common, hearing, keysOfValue, spending, unspentMs } from './lua.ts';

/**
 * Checks whether all limits have room for the request, and reserves that room. KEYS: alive, heard, then those
 * of each value. ARGV: gateway, number (0: only look), light, tokens, pico; then of each value: its limits
 * (-1: none) of requests, tokens, running requests, the number of its budgets, and the limit of each budget.
 * Returns -1 where Redis does not know the gateway; else whether there was room, and the levels of each value.
 */
export const reserveScript = `${common}${hearing}
local gateway, isTake, isLight, tokens = ARGV[1], ARGV[2] ~= '0', ARGV[3] == '1', tonumber(ARGV[4])
if isTake and not knows(gateway, ARGV[2]) then return {-1} end

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

-- Whether the sum of three whole numbers is more than a fourth. A number of Lua is exact up to 2^53 only, so the last six digits are added for themselves.
local function isMore(one, two, three, limit)
  local high, low = 0, 0
  for at, digits in ipairs({ one, two, three, limit }) do
    local sign = at == 4 and -1 or 1
    high = high + sign * (tonumber(string.sub(digits, 1, -7)) or 0)
    low = low + sign * tonumber(string.sub(digits, -6))
  end
  return high * 1000000 + low > 0
end

local function resetOf(hash, list)
  local slot = redis.call('LINDEX', list, 0)
  if not slot then return 0 end
  return tonumber(redis.call('HGET', hash, slot .. 't')) + 60000 - now
end

local function waitOf(hash, list, missing)
  for _, slot in ipairs(redis.call('LRANGE', list, 0, -1)) do
    -- safety: Redis may have evicted the amounts, and not their order
    missing = missing - tonumber(redis.call('HGET', hash, slot) or 0)
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
  local r = { 0, 0, 0, 0, -1, 0, -1 }
  if value.requests >= 0 then
    forget(KEYS[key], KEYS[key + 1])
    r[1] = tonumber(redis.call('HGET', KEYS[key], 'n') or 0)
    r[2] = resetOf(KEYS[key], KEYS[key + 1])
    local missing = r[1] + 1 - value.requests
    if missing > 0 then
      r[7] = waitOf(KEYS[key], KEYS[key + 1], missing)
      hasRoom = false
    end
  end
  if value.tokens >= 0 then
    forget(KEYS[key + 2], KEYS[key + 3])
    r[3] = tonumber(redis.call('HGET', KEYS[key + 2], 'n') or 0) + held(KEYS[key + 4])
    r[4] = resetOf(KEYS[key + 2], KEYS[key + 3])
    local missing = r[3] + tokens - value.tokens
    if missing > 0 then
      r[5] = waitOf(KEYS[key + 2], KEYS[key + 3], missing)
      if not isLight and tokens > 0 then hasRoom = false end
    end
  end
  r[6] = held(KEYS[key + 5])
  if value.concurrent >= 0 and not isLight and r[6] + 1 > value.concurrent then hasRoom = false end
  key = key + ${keysOfValue}
  for index = 1, count do
    local limit = ARGV[arg]
    arg = arg + 1
    local spent = redis.call('GET', KEYS[key])
    local taken = held(KEYS[key + 1])
    if not isLight and (not spent or (ARGV[5] ~= '0' and isMore(spent, text(taken), ARGV[5], limit))) then hasRoom = false end
    value.budgets[index] = { key = key, isUnspent = spent == '0' }
    r[#r + 1] = spent or ''
    r[#r + 1] = text(taken)
    key = key + 2
  end
  values[#values + 1] = value
  levels[#levels + 1] = r
end

if hasRoom and isTake then
  heard(ARGV[2])
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
        redis.call('EXPIRE', KEYS[budget.key + 1], 86400)
        if budget.isUnspent then redis.call('PEXPIRE', KEYS[budget.key], ${unspentMs}) end
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
 * A request is over. KEYS as for `reserve`. ARGV: gateway, number, the gateway of the hold, held tokens, used tokens,
 * held pico; then of each value: whether its tokens are limited, and the number of its budgets. A hold of a gateway
 * that Redis no longer knows was released before. Returns 0 where Redis does not know the gateway: nothing was done.
 */
export const settleScript = `${common}${hearing}
if not knows(ARGV[1], ARGV[2]) then return 0 end
local holder = ARGV[3]
local function lacks(hash, amount) return tonumber(redis.call('HGET', hash, holder) or 0) < tonumber(amount) end
-- a replica that was behind may have taken over without this request, or Redis has evicted what it holds: the gateway makes itself known again, with all that it holds
if holder == ARGV[1] then
  local key, arg = 3, 7
  while arg <= #ARGV do
    if lacks(KEYS[key + 5], 1) or (ARGV[arg] == '1' and lacks(KEYS[key + 4], ARGV[4])) then return 0 end
    key = key + ${keysOfValue}
    for index = 1, tonumber(ARGV[arg + 1]) do
      if lacks(KEYS[key + 1], ARGV[6]) then return 0 end
      key = key + 2
    end
    arg = arg + 2
  end
end
heard(ARGV[2])
local function letGo(hash, amount)
  -- a free model holds no dollars, and '-0' is no number for Redis
  if amount ~= '0' and redis.call('HEXISTS', hash, holder) == 1 then redis.call('HINCRBY', hash, holder, '-' .. amount) end
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
 * Adds spending. KEYS: alive, heard, then the sum of each budget. A sum that Redis does not have is read from the log, which includes
 * this amount. ARGV: gateway, number, pico, and when each sum expires. Returns 0 where Redis does not know the gateway: nothing was done.
 */
export const chargeScript = `${common}${hearing}${spending}
if not knows(ARGV[1], ARGV[2]) then return 0 end
heard(ARGV[2])
for at = 3, #KEYS do spend(KEYS[at], ARGV[3], ARGV[at + 1]) end
return 1
`;

/**
 * Sets the sum of a budget from the log, where Redis has none or a smaller one.
 * KEYS: alive, then the sum of each budget. ARGV: pico and expiry of each.
 */
export const atLeastScript = `
local function isLess(one, other) return #one < #other or (#one == #other and one < other) end
for at = 2, #KEYS do
  local pico, expires = ARGV[(at - 2) * 2 + 1], ARGV[(at - 2) * 2 + 2]
  local known = redis.call('GET', KEYS[at])
  if not known or isLess(known, pico) then
    redis.call('SET', KEYS[at], pico)
    if pico == '0' then redis.call('PEXPIRE', KEYS[at], ${unspentMs}) else redis.call('PEXPIREAT', KEYS[at], expires) end
  end
end
return 1
`;
