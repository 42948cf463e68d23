-- A token bucket for each account. A Lua state belongs to one worker and one configuration, so each worker counts for
-- itself, and nothing ever leaves the table.
local buckets = {}

function envoy_on_request(handle)
  local account = handle:headers():get("x-account")
  if account == nil then
    return
  end
  local now = tonumber(handle:timestamp())
  local bucket = buckets[account]
  if bucket == nil then
    bucket = { tokens = BURST, at = now }
    buckets[account] = bucket
  end
  bucket.tokens = math.min(BURST, bucket.tokens + (now - bucket.at) / INTERVAL)
  bucket.at = now
  if bucket.tokens < 1 then
    local wait = math.ceil((1 - bucket.tokens) * INTERVAL / 1000)
    handle:respond({ [":status"] = "429", ["retry-after"] = tostring(wait) }, "too many requests\n")
    return
  end
  bucket.tokens = bucket.tokens - 1
end
