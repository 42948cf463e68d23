-- A counter per key that begins anew with each window of the clock.
local windows = {}

function envoy_on_request(handle)
  local key = $KEY
  local now = $NOW
  local window = math.floor(now / $WINDOW)
  local seen = windows[key]
  if seen == nil or seen.window ~= window then
    seen = {window = window, count = 0}
    windows[key] = seen
  end
  seen.count = seen.count + 1
  if seen.count > $LIMIT then
    local wait = math.ceil(((window + 1) * $WINDOW - now) / 1000)
    handle:respond({[":status"] = "429", ["retry-after"] = tostring(math.max(1, wait))}, "too many in this window")
  end
end
