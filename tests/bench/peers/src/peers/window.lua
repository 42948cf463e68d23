-- A counter for each account that starts anew in each window of the clock.
local WINDOW = BURST * INTERVAL
local counters = {}

function envoy_on_request(handle)
  local account = handle:headers():get("x-account")
  if account == nil then
    return
  end
  local now = tonumber(handle:timestamp())
  local window = math.floor(now / WINDOW)
  local counter = counters[account]
  if counter == nil or counter.window ~= window then
    counter = { window = window, count = 0 }
    counters[account] = counter
  end
  counter.count = counter.count + 1
  if counter.count > BURST then
    local wait = math.ceil(((window + 1) * WINDOW - now) / 1000)
    handle:respond({ [":status"] = "429", ["retry-after"] = tostring(wait) }, "too many requests\n")
  end
end
