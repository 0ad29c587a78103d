/**
 * The arithmetic of limits in Lua, as Redis runs it: the same as in `memory.ts` and `window.ts`. Each script is one atomic step.
 * This file has the parts that the scripts share; the scripts are in `scripts.ts` and `known-scripts.ts`. All keys are declared and
 * have one hash tag, so they live on one node of a cluster. The time is that of Redis, so gateways need not agree about theirs.
 *
 * Keys of a value: requests (hash, list), tokens (hash, list), held tokens, running; and for each budget: spent, held.
 * The list of a window has its tenths of a second in order; the hash has the amount of each, its latest time, and the
 * sum. What is held is a hash by gateway: when a gateway sends nothing for the time of its lease, its holds end.
 *
 * A reply may be lost on its way. Therefore a gateway numbers its messages, and Redis keeps the number of the last message
 * that it has received: the gateway asks for that number afterwards, and repeats only messages that Redis has not received.
 */
/**
 * Redis deletes the sum of an unspent budget this many milliseconds after the last request of its value, because callers can invent
 * values without limit. The next request then reads the sum from the log again.
 */
export const unspentMs = 3_600_000;

/** How many keys a value has. The keys of its budgets are not counted; they follow these keys. */
export const keysOfValue = 6;

/** Checks and keeps the number of a gateway's message. */
export const hearing = `
-- False: Redis does not know the gateway, or has closed its name. KEYS: alive, heard.
local function knows(gateway, number)
  if not redis.call('ZSCORE', KEYS[1], gateway) then return false end
  local last = redis.call('HMGET', KEYS[2], 'last', 'closed')
  return not last[2] and tonumber(last[1] or 0) < tonumber(number)
end

local function heard(number)
  redis.call('HSET', KEYS[2], 'last', number)
  redis.call('EXPIRE', KEYS[2], 86400)
end
`;

/** Adds to the spending of a budget. Where Redis has no sum, the sum is read from the log, which includes this amount. */
export const spending = `
local function spend(key, pico, expires)
  if redis.call('EXISTS', key) == 0 then return end
  local reply = redis.pcall('INCRBY', key, pico)
  -- safety: the sum has more than 64 bits. The largest number that Redis counts is more than any budget
  if type(reply) == 'table' then redis.call('SET', key, '9223372036854775807') end
  redis.call('PEXPIREAT', key, expires)
end
`;

/**
 * The time, and windows of 60 s.
 * safety: each script with a numbered message begins with this part. Its first write needs no memory, so Redis runs the whole script
 * even with no memory left. If Redis refused one message alone, that message would count as received, because Redis takes the next
 * message, which has a higher number.
 */
export const common = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)

-- Redis takes no '-0', which is the text of a negative nothing
local function text(number) return string.format('%.0f', number + 0) end

local function add(hash, list, at, amount)
  -- safety: a provider may say any number, and Redis takes none of more than 64 bits
  amount = math.min(amount, 9007199254740991)
  local slot = text(math.floor(at / 100))
  if redis.call('HEXISTS', hash, slot) == 0 then
    local last = redis.call('LINDEX', list, -1)
    if not last or tonumber(last) < tonumber(slot) then
      redis.call('RPUSH', list, slot)
    else
      -- a gateway tells late what it has let in: the list stays in order
      for _, other in ipairs(redis.call('LRANGE', list, 0, -1)) do
        if tonumber(other) > tonumber(slot) then
          redis.call('LINSERT', list, 'BEFORE', other, slot)
          break
        end
      end
    end
  end
  redis.call('HINCRBY', hash, slot, text(amount))
  redis.call('HSET', hash, slot .. 't', text(math.max(at, tonumber(redis.call('HGET', hash, slot .. 't') or 0))))
  redis.call('HINCRBY', hash, 'n', text(amount))
  redis.call('PEXPIRE', hash, 120000)
  redis.call('PEXPIRE', list, 120000)
end

local function forget(hash, list)
  local newest = redis.call('LINDEX', list, -1)
  -- safety: Redis has evicted the list, and its sum would count for ever
  if not newest then redis.call('DEL', hash) return end
  if tonumber(redis.call('HGET', hash, newest .. 't') or 0) > now + 1000 then
    -- safety: the clock was set back, and all would count for too long. It counts as of now
    local sum = tonumber(redis.call('HGET', hash, 'n') or 0)
    redis.call('DEL', hash, list)
    add(hash, list, now, sum)
    return
  end
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
`;
