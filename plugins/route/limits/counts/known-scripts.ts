/** The scripts that register a gateway in Redis: its name, its reservations, and what Redis has missed of it. */
import { common, keysOfValue, spending } from './lua.ts';

/**
 * Makes Redis ignore all further messages under a name of a gateway. KEYS: heard of that name.
 * Returns the number of the last message that Redis has received under the name.
 */
export const closeScript = `
redis.call('HSET', KEYS[1], 'closed', 1)
redis.call('EXPIRE', KEYS[1], 86400)
return tonumber(redis.call('HGET', KEYS[1], 'last') or 0)
`;

/**
 * Registers a gateway with all of its reservations. KEYS: alive, era, then those of each value. ARGV: gateway, its former names, lease,
 * a name for a new era, and JSON of what it holds of each value. Returns the era: a changed era means that Redis has lost everything.
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
 * Adds the requests that a gateway has admitted without Redis: once, even if the script runs several times.
 * KEYS: alive, told (exists once this batch was counted), then those of each value. ARGV: JSON of each value.
 */
export const missedScript = `${common}${spending}
if not redis.call('SET', KEYS[2], 1, 'NX', 'EX', 604800) then return 0 end
local key = 3
for _, value in ipairs(cjson.decode(ARGV[1])) do
  for _, one in ipairs(value.requests) do add(KEYS[key], KEYS[key + 1], now - one[1], one[2]) end
  for _, one in ipairs(value.tokens) do add(KEYS[key + 2], KEYS[key + 3], now - one[1], one[2]) end
  key = key + ${keysOfValue}
  for _, charged in ipairs(value.charged) do
    if charged.pico ~= '0' then spend(KEYS[key], charged.pico, charged.expires) end
    key = key + 2
  end
end
return 1
`;

/**
 * A heartbeat. KEYS: alive, era. ARGV: gateway, lease, the era that the gateway knows. Returns 0 where Redis does not know the gateway.
 * Where Redis knows the gateway and has no era, it has evicted the era alone, so the era is written again.
 */
export const aliveScript = `${common}
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], text(now + tonumber(ARGV[2])), ARGV[1])
redis.call('SET', KEYS[2], ARGV[3], 'NX')
return 1
`;
