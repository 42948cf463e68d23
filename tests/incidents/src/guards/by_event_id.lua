-- De-duplication by the id that the sender gives a delivery, and one limit for all, sized against denial of service.
local ids = {}
local window = -1
local count = 0

function envoy_on_request(handle)
  local id = handle:headers():get("webhook-id")
  if ids[id] then
    handle:respond({[":status"] = "204", ["idempotent-replayed"] = "true"}, "")
    return
  end
  ids[id] = true
  local hour = math.floor(tonumber(handle:headers():get("$AT")) / 3600000)
  if hour ~= window then
    window = hour
    count = 0
  end
  count = count + 1
  if count > $LIMIT then
    handle:respond({[":status"] = "429", ["retry-after"] = "3600"}, "too many in this hour")
  end
end
